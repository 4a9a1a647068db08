//! Memory accesses of a whole warp at once: the fast path.
//!
//! ```text
//!   dispatch ─▶ single_element   one element for each lane of global memory, uniform or contiguous
//!            ─▶ shared_words     one word for each lane of shared memory
//!            ─▶ coalesced        every other load and store
//!            ─▶ atomic           atomic operations
//!                   └─▶ pattern  how the addresses lie to each other: uniform, contiguous, scattered
//! ```
//!
//! An access is done for all lanes or for none: one that would fail for any lane returns `false` and changes
//! nothing. The [slow path](crate::exec::instruction) then goes lane by lane, and knows the lane to charge a
//! trap to.

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
pub(crate) mod traffic;
pub(crate) mod transfer;
