//! Stream captures in progress: sequences, and the branches that streams add to them.

use litemap::LiteMap;
use warploom_engine::QueueId;
use warploom_sys::types::{CUgraphEdgeData, CUstreamCaptureMode};

use crate::ffi::handle::{GraphHandle, NodeHandle};
use crate::machine::graph::Edge;
use crate::process::thread::ThreadKey;

/// Identifies a sequence; unique on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SequenceId(pub(crate) u64);

/// All captures in progress.
#[derive(Default)]
pub(crate) struct Captures {
    pub(crate) sequences: LiteMap<SequenceId, Sequence>,
    pub(crate) branches: LiteMap<QueueId, Branch>,
    pub(crate) last: u64,
}

/// A capture in progress.
pub(crate) struct Sequence {
    pub(crate) graph: GraphHandle,
    /// Last nodes of captured streams that have been destroyed.
    pub(crate) loose: Vec<NodeHandle>,
    /// The stream on which the capture began and must end.
    pub(crate) origin: QueueId,
    /// The thread that began the capture.
    pub(crate) thread: ThreadKey,
    pub(crate) mode: CUstreamCaptureMode,
    pub(crate) is_invalid: bool,
}

/// A stream's part in a sequence.
pub(crate) struct Branch {
    pub(crate) sequence: SequenceId,
    /// The dependencies of the stream's next node.
    pub(crate) tips: Vec<Edge>,
    /// The tips last returned to C, which may read them until the next call.
    pub(crate) shown: Vec<u64>,
    /// The data of their edges.
    pub(crate) edges: Vec<CUgraphEdgeData>,
}

impl Branch {
    pub(crate) fn new(sequence: SequenceId) -> Self {
        Self { sequence, tips: Vec::new(), shown: Vec::new(), edges: Vec::new() }
    }
}

impl Branch {
    /// Adds dependencies of the next node, each node once. One on a whole node replaces one on a part of it.
    pub(crate) fn depend_on(&mut self, edges: impl IntoIterator<Item = Edge>) {
        for edge in edges {
            match self.tips.iter_mut().find(|tip| tip.node == edge.node) {
                Some(tip) if edge.is_plain() => *tip = edge,
                Some(_) => {}
                None => self.tips.push(edge),
            }
        }
    }
}

impl Captures {
    /// `true` if a stream is captured.
    #[inline]
    pub(crate) fn hold(&self, queue: QueueId) -> bool {
        !self.branches.is_empty() && self.branches.contains_key(&queue)
    }

    /// `true` if no stream is captured.
    pub(crate) fn are_none(&self) -> bool {
        self.sequences.is_empty()
    }

    /// `true` if a stream is being captured into a graph.
    pub(crate) fn are_into(&self, graph: GraphHandle) -> bool {
        self.sequences.values().any(|sequence| sequence.graph == graph)
    }

    pub(crate) fn of(&self, queue: QueueId) -> Option<(SequenceId, &Sequence)> {
        let id = self.branches.get(&queue)?.sequence;
        Some((id, self.sequences.get(&id)?))
    }

    /// Invalidates the capture of a stream, if there is one, after a failed call.
    pub(crate) fn spoil(&mut self, queue: QueueId) {
        if let Some((id, _)) = self.of(queue) {
            self.invalidate(id);
        }
    }

    pub(crate) fn invalidate(&mut self, id: SequenceId) {
        if let Some(sequence) = self.sequences.get_mut(&id) {
            sequence.is_invalid = true;
        }
    }
}

/// The record of an event in a sequence: it stands for nodes, and is never reached on a device.
#[derive(Clone)]
pub(crate) struct CapturedRecord {
    pub(crate) sequence: SequenceId,
    pub(crate) nodes: Vec<Edge>,
}
