//! Ops: enqueued work with its predecessors and successors.

use smallvec::SmallVec;

use crate::id::{OpId, QueueId};
use crate::work::Work;

/// Progress of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Predecessors are unfinished.
    Waiting,
    /// All predecessors are done.
    Ready,
    /// An executor or a waiting thread runs it.
    Running,
    /// Looks at memory for a change.
    Looking,
    /// Ran, and can go on only when memory changes.
    Parked,
}

/// The ops that wait for an op.
pub(crate) type Successors = SmallVec<[OpId; 2]>;

/// Work, what it waits for, and what waits for it.
pub struct Op<W: Work> {
    /// The queue that it stands in.
    pub queue: QueueId,
    /// The work; a stand-in while it runs.
    pub work: W,
    /// The user's data.
    pub note: W::Note,
    pub(crate) predecessors: SmallVec<[OpId; 2]>,
    pub(crate) successors: Successors,
    /// Unfinished predecessors.
    pub(crate) waiting: u32,
    /// Its progress.
    pub state: State,
    /// It had to wait for memory to change, so it did not end on its own account.
    pub has_parked: bool,
    /// The next slice only looks at memory for a change.
    pub(crate) looks_again: bool,
    /// A host thread waits for it.
    pub(crate) watched: bool,
    /// It stands beside its queue's chain, and is not part of it.
    pub(crate) beside: bool,
    /// The last walk that came by, if it stands beside a chain.
    pub(crate) walked: u32,
    /// Virtual time before which it cannot start.
    pub earliest: u64,
}

impl<W: Work> Op<W> {
    /// Number of unfinished ops that it was enqueued behind.
    #[must_use]
    pub fn predecessors(&self) -> usize {
        self.predecessors.len()
    }
}

impl<W: Work> std::fmt::Debug for Op<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (work, state) = (self.work.describe(), self.state);
        formatter.debug_struct("Op").field("work", &work).field("state", &state).finish_non_exhaustive()
    }
}
