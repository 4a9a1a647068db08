//! The state of a machine and how it lives: objects, locks, executors, threads.

pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod census;
pub(crate) mod clock;
pub(crate) mod core;
pub(crate) mod log;
pub(crate) mod objects;
pub(crate) mod planned_failures;
pub(crate) mod slots;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod work;
pub(crate) mod world;
