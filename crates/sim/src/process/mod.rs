//! The process that the simulator runs in: its threads, and `fork`.

pub(crate) mod fork;
pub(crate) mod thread;
