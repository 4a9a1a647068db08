//! Instructions that the fast path does not do: lane by lane, with traps.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod bulk_copy;
pub(crate) mod call;
pub(crate) mod cluster;
pub(crate) mod collective;
pub(crate) mod lane_access;
pub(crate) mod load_store;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod pair;
pub(crate) mod printf;
pub(crate) mod shared_memory;
pub(crate) mod special_register;
pub(crate) mod stack;
pub(crate) mod thread_memory;
