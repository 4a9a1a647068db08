//! Managed memory: one address for host and devices, and pages that move between them.
//!
//! ```text
//!   cuMemAdvise ──▶ policy of pages ──┐
//!   cuMemPrefetch… ──▶ op ────────────┼──▶ where pages are ──▶ Machine::residency
//!   copies, fills, host accesses ─────┘
//! ```
//!
//! What is known of a page is kept by its address ([`Pages`](crate::memory::Pages)), because small allocations share pages and advice is taken
//! for whole ones: it starts blank with the first allocation in the page. Advice holds from the call on. So does the last
//! prefetch location, which is what was asked for and not what was done; the pages themselves move in stream order.
//!
//! | who touches a page | it goes |
//! |---|---|
//! | a prefetch | to its destination; of a page that is mostly read, a copy |
//! | whoever reads a page that is mostly read | nowhere: the reader gets a copy |
//! | who has advised that it accesses it, or finds it where it prefers to be, and can reach it there | nowhere |
//! | anyone else | to them |
//! | a discard | out of every memory |
//!
//! Copies, fills and kernels touch memory as the device of their stream. Devices that share managed memory with the host at any
//! time are not charged for it, because what does not fit moves out again; the others keep a copy of all of it. What the
//! host does is seen where the program says so ([`Machine::host_access`](crate::Machine::host_access)).

mod advise;
mod allocate;
mod attributes;
mod batch;
mod prefetch;
mod range;
mod requested_location;

pub(crate) use advise::{cuMemAdvise, cuMemAdvise_v2};
pub(crate) use allocate::cuMemAllocManaged;
pub(crate) use attributes::{cuMemRangeGetAttribute, cuMemRangeGetAttributes};
pub(crate) use batch::{cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardBatchAsync, cuMemPrefetchBatchAsync};
pub(crate) use prefetch::{cuMemPrefetchAsync, cuMemPrefetchAsync_v2};
