//! One enqueued thing.

use smallvec::SmallVec;
use warploom_sys::types::CUresult;

use super::{QueueId, Work};

/// Names an op; done once the engine no longer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OpId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Predecessors are unfinished.
    Waiting,
    Ready,
    Running,
    /// Looks whether memory has changed.
    Looking,
    /// Ran, and can go on only when memory changes.
    Parked,
}

/// Work, what it waits for, and what waits for it.
pub(crate) struct Op {
    pub(crate) queue: QueueId,
    pub(crate) work: Work,
    pub(super) predecessors: SmallVec<[OpId; 2]>,
    pub(super) successors: SmallVec<[OpId; 2]>,
    /// Unfinished predecessors.
    pub(super) waiting: u32,
    pub(crate) state: State,
    /// It has had to wait for memory to change, so it did not end on its own account.
    pub(crate) has_parked: bool,
    /// The next slice only finds out whether memory has changed.
    pub(super) looks_again: bool,
    /// A host thread waits for it.
    pub(super) watched: bool,
    /// The number of the call that enqueued it, on a machine that numbers them.
    pub(crate) call: u64,
    /// What it fails with instead of running, where a fault plan wants that.
    pub(crate) fails: Option<CUresult>,
    /// Virtual time before which it cannot start.
    pub(crate) earliest: u64,
}

// A program may have a million of them waiting.
const _: () = assert!(size_of::<Op>() <= 160, "an op is small");

impl std::fmt::Display for OpId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "op {}", self.index)
    }
}
