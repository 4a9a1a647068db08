//! Engine tests below the entry points: tasks, failures, deadlocks, queues, random programs.

mod failures;
mod programs;
mod queues;
pub(crate) mod rig;
mod tasks;
