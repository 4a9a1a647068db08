//! The process and its threads: detection of `fork`, and per-thread state of the driver.

pub(crate) mod home;
pub(crate) mod program_function;
pub(crate) mod sleep;
pub(crate) mod thread;
