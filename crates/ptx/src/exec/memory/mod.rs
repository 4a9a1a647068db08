//! Memory accesses of a whole warp at once: the fast path.

pub(crate) mod atomic;
pub(crate) mod coalesced;
pub(crate) mod dispatch;
mod gather;
pub(crate) mod pattern;
pub(crate) mod processor;
pub(crate) mod range_cache;
pub(crate) mod rows;
pub(crate) mod shared_words;
pub(crate) mod single_element;
pub(crate) mod transfer;
