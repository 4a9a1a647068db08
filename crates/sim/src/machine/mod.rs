//! The state of a machine and how it lives: objects, locks, executors, threads.

pub(crate) mod call;
pub(crate) mod census;
pub(crate) mod clock;
pub(crate) mod core;
mod in_flight;
pub(crate) mod log;
mod managed_pages;
pub(crate) mod objects;
pub(crate) mod physical;
pub(crate) mod planned_failures;
pub(crate) mod slots;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod work;
pub(crate) mod world;
