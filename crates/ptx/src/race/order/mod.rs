//! Happens-before: the accesses that each thread is ordered after.

pub(crate) mod barrier;
pub(crate) mod cluster;
pub(crate) mod memory_order;
pub(crate) mod sync_variable;
pub(crate) mod threads;
pub(crate) mod vector_clock;
