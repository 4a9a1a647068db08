//! Managed memory: one address for host and devices, and pages that move between them.
//!
//! ```text
//!   cuMemAdvise ──▶ policy of pages ──┐
//!   cuMemPrefetch… ──▶ op ────────────┼──▶ residency of pages ──▶ Machine::residency
//!   copies, fills, host accesses ─────┘
//! ```
//!
//! The state of a page is kept by its address ([`Pages`](crate::memory::Pages)), because small allocations
//! share pages and advice is taken for whole ones: it starts blank with the first allocation in the page.
//! Advice holds from the call on. So does the last prefetch location, which is the requested one; the pages
//! themselves move in stream order.
//!
//! | access to a page | the page goes |
//! |---|---|
//! | a prefetch | to its destination; of a page that is mostly read, a copy |
//! | a read of a page that is mostly read | stays; the reader gets a copy |
//! | by an advised accessor, or at its preferred location, if the accessor can reach it there | stays |
//! | any other | to the accessor |
//! | a discard | out of every memory |
//!
//! Copies, fills and kernels touch memory as the device of their stream. Devices that share managed memory
//! with the host at any time are not charged for it, because pages that do not fit move out again; the others
//! keep a copy of all of it. Accesses of the host are seen where the program announces them
//! ([`Machine::host_access`](crate::Machine::host_access)).

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
