//! One test body, every driver.
//!
//! [`driver_tests!`] turns a body into two tests: `…::sim`, which runs it on simulated machines in every
//! asynchronous mode, and `…::cuda`, which runs it on the real driver and is ignored where there is none. The
//! real driver is the oracle; what passes on one must pass on the other.
#![expect(
    clippy::macro_metavars_in_unsafe,
    reason = "`call!` is for tests: arguments become C pointers where they are passed, and that is the point of it"
)]

mod access;
mod alone;
mod budget;
mod calls;
mod drivers;
pub mod events;
mod gate;
mod macros;
mod physical;
mod pool;
mod primary;
pub mod process;
mod random;
mod stream;
mod waiting;

pub use access::{AccessSpy, AccessWrite};
pub use alone::alone;
pub use budget::budget;
pub use calls::{TestResult, code_of};
pub use drivers::{
    ASYNCHRONOUS, MACHINE, assert_sound, in_every_mode, mode_for, modes, on_cuda, on_sim_in, on_unchecked_sim_in, open,
    random_programs,
};
pub use gate::Gate;
pub use physical::physical_memory;
pub use pool::pool_properties;
pub use primary::Primary;
pub use random::Random;
pub use stream::Stream;
pub use waiting::while_waiting;
pub use warploom_test::sweep;

pub use {warploom_driver as driver, warploom_sim as sim, warploom_sys as sys};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/faults.md")]
struct Faults;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Testing;
