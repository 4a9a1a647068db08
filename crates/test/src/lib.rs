//! Tests of CUDA code without a GPU.
//!
//! A test runs on simulated machines: in several legal orders of work that can be repeated, and with threads, as
//! hardware works, each time on a fresh machine. Data races, use after free, reads of uninitialised memory, misused
//! handles and leaks fail the test, in the first run and in every order.
//!
//! ```
//! use warploom::{DevicePool, Driver};
//!
//! #[warploom_test::test(machine = "pcie-pair", seeds = 8)]
//! fn bytes_come_back(driver: &Driver) -> warploom::Result<()> {
//!     let context = driver.device(1)?.context()?;
//!     let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
//!     let sent = pool.upload(b"there and back", &stream)?;
//!     assert_eq!(sent.download(&stream)?, b"there and back");
//!     Ok(())
//! }
//! # // The same as a plain call, since `#[test]` functions do not run in examples.
//! # fn body(driver: &Driver) -> warploom::Result<()> {
//! #     let context = driver.device(1)?.context()?;
//! #     let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
//! #     assert_eq!(pool.upload(b"there and back", &stream)?.download(&stream)?, b"there and back");
//! #     Ok(())
//! # }
//! # fn main() { warploom_test::Case::new().machine("pcie-pair").seeds(8).run(body) }
//! ```
//!
//! - [`test`](macro@test) is the attribute; [`Case`] is the same without a macro.
//! - A failure shows the finding with both call sites, the machine's log, and the command that repeats it:
//!   `WARPLOOM_TEST_SEED=5 cargo test bytes_come_back`.
//! - [`sweep`] lets each driver call of a test fail in turn.
//! - `hardware = "ignore"` adds a twin of the test for a real GPU.
//! - The driver is of any type that is made from a [`driver::Driver`]: `warploom::Driver`, that type itself
//!   with all C functions, or one of your own. This crate does not depend on the safe library.
//!
//! # Environment
//!
//! | variable | effect |
//! |---|---|
//! | `WARPLOOM_TEST_SEED` | runs one order alone: a seed, `threads`, `eager` or `lazy` |
//! | `WARPLOOM_TEST_SEEDS` | the number of random orders, in place of `seeds` |
//! | `WARPLOOM_TEST_FAULT` | runs one run of a sweep alone: `3:once`, `3:from_here`, `3:after_effect` |

mod case;
mod environment;
mod failure;
mod future;
mod order;
mod returned;
mod run;
pub mod sweep;

pub use case::{Case, Faults, Level, Passed};
pub use environment::{FAULT_VARIABLE, SEED_VARIABLE, SEEDS_VARIABLE};
pub use failure::{Cause, Failure};
pub use future::block_on;
pub use order::{Orders, RunOrder, UnknownOrder};
pub use returned::TestReturn;
pub use warploom_test_macros::test;

pub use {warploom_driver as driver, warploom_sim as sim, warploom_sys as sys};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-your-code.md")]
struct TestingYourCode;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/faults.md")]
struct FaultsOnDemand;
