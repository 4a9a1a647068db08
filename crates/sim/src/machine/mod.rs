//! State and operation of a machine: objects, locks, executors, threads.

pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod capture;
pub(crate) mod census;
mod checks;
pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod conditions;
pub(crate) mod context;
pub(crate) mod core;
pub(crate) mod destructor;
pub(crate) mod device;
pub(crate) mod event;
mod event_order;
mod gates;
pub(crate) mod graph;
pub(crate) mod graph_launch;
mod in_flight;
pub(crate) mod launch;
mod leaks;
pub(crate) mod limits;
pub(crate) mod log;
mod managed_pages;
pub(crate) mod objects;
pub(crate) mod physical;
mod physical_release;
pub(crate) mod planned_failures;
pub(crate) mod pool;
mod pool_release;
pub(crate) mod resource;
pub(crate) mod slots;
pub(crate) mod stream;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod work;
pub(crate) mod world;
