//! One enqueued thing.

use smallvec::SmallVec;

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
    /// Virtual time before which it cannot start.
    pub(crate) earliest: u64,
}

impl std::fmt::Display for OpId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "op {}", self.index)
    }
}
