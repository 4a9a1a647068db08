//! Fault plans: calls that fail, work that fails later, memory that runs out, devices that are lost.
//!
//! A [`Plan`] has [`Rule`]s. Each selects calls (a function, a glob, a [`Class`], every call; on a thread, a
//! device or a context; the third match, every tenth) and says what happens to them:
//!
//! | [`Action`] | what the program sees |
//! |---|---|
//! | `Fail` | the code; nothing has happened |
//! | `FailAfter` | the code; yet the call has done its work |
//! | `FailWork` | success; a later wait reports the code, and the context is poisoned |
//! | `Poison` | the code, from this and every later call on the context |
//! | `Delay` | a slow call |
//! | `LoseDevice` | the code, from every later call on the device; other devices go on |
//! | `Note` | nothing; [`FaultScope::fired`] lists the call |
//!
//! A plan may also hold [`Budget`]s, hide symbols and lower the driver's version; the last two are settled
//! when a machine starts. A machine can be started with a plan
//! ([`MachineBuilder::faults`](crate::MachineBuilder::faults)), or get one for a while
//! ([`Machine::inject`](crate::Machine::inject)):
//!
//! ```
//! use warploom_driver::Driver;
//! use warploom_sim::Machine;
//! use warploom_sim::fault::{Class, Plan, Rule};
//! use warploom_sys::types::CUresult;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let machine = Machine::preset("h200")?;
//! let driver = Driver::open(&machine)?;
//! let first = Rule::on(Class::Init).nth(1).fail(CUresult::CUDA_ERROR_NO_DEVICE);
//! let scope = machine.inject(Plan::new().rule(first))?;
//! assert!(driver.initialize().is_err());
//! let fired = scope.fired()[0].to_string();
//! assert_eq!(fired, "call 1, cuInit, rule 0: answer CUDA_ERROR_NO_DEVICE (100) without any effect");
//! drop(scope);
//! driver.initialize()?;
//! # Ok(())
//! # }
//! ```
//!
//! Every fault is in the machine's log, as [`LogKind::Injected`](crate::LogKind::Injected), and is a
//! `tracing` event of level `INFO` with the target `warploom::sim`. Without a plan a call pays one relaxed
//! load.

mod budget;
mod calls;
mod class;
mod error;
mod file;
mod glob;
mod plan;
mod rule;
mod scope;
mod state;

pub use self::budget::Budget;
pub use self::calls::Calls;
pub use self::error::{FaultError, MAX_DELAY};
pub use self::plan::Plan;
pub use self::rule::{Action, DEVICE_LOST, Rule};
pub use self::state::{FaultScope, Fired};
pub use crate::rules::Class;

pub(crate) use self::scope::CallScope;
pub(crate) use self::state::Faults;
