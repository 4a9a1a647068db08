//! Identifiers of ops and queues.

/// Identifies an op. The op is done once the engine no longer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Identifies a queue; stays unique when its place is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl QueueId {
    /// The place of the queue; another queue may have it later.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }

    pub(crate) fn number(self) -> u32 {
        self.index
    }
}

impl std::fmt::Display for OpId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "op {}", self.index)
    }
}
