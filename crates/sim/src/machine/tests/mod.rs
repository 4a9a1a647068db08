//! The engine below the entry points: tasks, failures, deadlocks, queues that come and go, and random programs.

mod failures;
mod programs;
mod queues;
pub(crate) mod rig;
mod tasks;
