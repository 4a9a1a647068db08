//! Memory accesses of a whole warp at once: the fast path.

pub(crate) mod atomic;
pub(crate) mod coalesced;
pub(crate) mod pattern;
pub(crate) mod processor;
pub(crate) mod range_cache;
pub(crate) mod shared_words;
pub(crate) mod single_element;
pub(crate) mod survey;
