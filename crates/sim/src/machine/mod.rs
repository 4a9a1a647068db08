//! The state of a machine and how it lives: objects, locks, executors, threads.

pub(crate) mod call;
pub(crate) mod census;
mod checks;
pub(crate) mod clock;
pub(crate) mod core;
mod in_flight;
mod leaks;
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
