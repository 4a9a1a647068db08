//! Finds a CUDA driver, fills the table of its functions, and turns status codes into `Result`.
//!
//! Load the driver and call it:
//!
//! ```
//! use warploom_driver::{Driver, Result};
//!
//! fn device_count(driver: &Driver) -> Result<i32> {
//!     driver.initialize()?;
//!     let mut count = 0;
//!     // Sound, since `count` is writable.
//!     unsafe { driver.cuDeviceGetCount(&mut count)? };
//!     Ok(count)
//! }
//!
//! match Driver::load() {
//!     Ok(driver) => match device_count(&driver) {
//!         Ok(count) => println!("CUDA {} with {count} devices", driver.version()),
//!         Err(error) => println!("{error}"),
//!     },
//!     // No panic without a driver: the message says what was tried and what to do.
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! A [`Driver`] is a table of C functions, and the library or machine that keeps them callable. It comes from
//! the system's library ([`Driver::load`]), from a file of your choice ([`Driver::load_from`]), or from
//! anything else that hands out driver functions ([`Driver::open`]), such as a simulated machine. Several may
//! live in one process; none is global.
//!
//! ```text
//! Driver::load ── libcuda.so.1 ──┐
//!                                ├── cuGetProcAddress_v2 ──▶ one slot per function ──▶ driver.cuMemAlloc_v2(…)?
//! Driver::open ── a Source ──────┘   asked for each ABI at the version that introduced it, never at a newer one
//! ```
//!
//! - **Calls** are methods with the names of the C functions. A function that the driver is too old for is
//!   [`Error::Unsupported`], found without calling anything; a failing status is [`Error::Driver`]. Nothing
//!   else is checked here: the caller keeps the rules of `cuda.h`, so the calls are `unsafe`.
//! - **Loading does not initialize.** No driver state exists until [`Driver::initialize`] (or `cuInit`) is
//!   called, so a program may look for a driver, and at its version, before it decides to use it or to fork.
//! - **Observation**: [`Driver::count_calls`] and [`Driver::record_calls`] watch one driver on one thread,
//!   [`Driver::set_tracing`] reports every call as a [`tracing`] event. Unobserved, a call costs one load and
//!   one branch more than the C function.
//!
//! | | |
//! |---|---|
//! | [`Driver`] | one method per C function; loading, version, observation |
//! | [`Error`], [`DriverError`] | failures: no driver, function missing, status code |
//! | [`Function`], [`DriverVersion`] | names and versions |
//! | [`CallCounter`], [`CallRecorder`] | the calls that a thread makes |
//! | [`user_code`] | subscribers and hooks, and mutexes that may be held over driver calls |
//! | [`sys`] | the C types |

mod annotations;
mod call;
mod driver;
pub mod dynamic_library;
mod error;
mod explain;
mod load;
mod observe;
mod process;
mod resolve;
pub mod user_code;
mod version;

pub use annotations::MemoryAnnotations;
pub use driver::{Driver, DriverId};
pub use dynamic_library::Attempt;
pub use error::{DriverError, DriverNotFound, Error, NotADriver, Result, ResultExt};
pub use explain::explanation;
pub use load::LIBRARY_VARIABLE;
pub use observe::{CallCounter, CallRecorder};
pub use version::DriverVersion;
pub use warploom_sys as sys;
pub use warploom_sys::{Function, Source};
