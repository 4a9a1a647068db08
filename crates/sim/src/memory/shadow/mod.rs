//! Shadow memory: the accesses to each byte of an allocation, and the bytes that were written, while a
//! machine checks.
//!
//! Each access carries the step of its timeline and the call that made it, so that a later access can be
//! compared with it and both can be reported.

mod access;
mod blocks;
mod bytes;
mod discards;
mod freed;
mod journal;
mod operation;
mod published_clock;
mod ranges;
mod site;
mod touched;
mod tracked;

pub(crate) use access::{Access, Conflict};
pub(crate) use blocks::{Block, Owner};
pub(crate) use bytes::Shadow;
pub(crate) use discards::{DISCARD_FILL, DISCARD_LIMIT};
pub(crate) use freed::FreedAllocations;
pub(crate) use journal::{Journal, JournalEntry, Ticket};
pub use operation::{AccessKind, AllocationInfo, Frame, GraphNode, Operation, StreamInfo, StreamKind};
pub(crate) use published_clock::{PublishedClock, SharedStep};
pub(crate) use ranges::Ranges;
pub(crate) use site::{InCall, NodeSite, Site, Trace, current as current_site, enter_node};
pub(crate) use touched::Touched;
pub(crate) use tracked::Tracked;
