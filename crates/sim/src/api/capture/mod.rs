//! Stream capture: work submitted to a stream becomes nodes of a graph instead of ops.
//!
//! ```text
//!   begin ─▶ Sequence (one graph) ─┬─ Branch of the stream it began on ─┬─▶ end: the graph
//!                                  └─ Branch of a stream that waited ───┘   every branch joined again
//!                                     for an event recorded in the sequence
//! ```
//!
//! A branch holds the dependencies of its stream's next node. A call that cannot be captured *invalidates*
//! the sequence: no more nodes are added, and its end gives no graph.

mod begin;
mod dependencies;
mod end;
mod events;
mod info;
mod kernels;
mod safety;

pub(crate) use begin::{cuStreamBeginCapture, cuStreamBeginCapture_v2, cuStreamBeginCaptureToGraph};
pub(crate) use dependencies::{cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2};
pub(crate) use end::cuStreamEndCapture;
pub(crate) use info::{
    cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v3, cuStreamIsCapturing,
};
pub(crate) use safety::cuThreadExchangeStreamCaptureMode;

use warploom_engine::{QueueId, Work as _};
use warploom_sys::types::CUresult;

use crate::ffi::handle::{ContextHandle, NodeHandle};
use crate::ffi::status::{CAPTURE_UNSUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::capture::SequenceId;
use crate::machine::core::Guard;
use crate::machine::graph::{Edge, NodeWork};
use crate::machine::world::{Queue, Work, World};

const INVALIDATED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
const IMPLICIT: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;

impl Call<'_> {
    /// Adds a node for work submitted to a captured stream.
    pub(crate) fn capture(&self, world: &mut Guard<'_>, queue: QueueId, work: Work) -> Status {
        let described = work.describe();
        let context = world.queue(queue).owner.context;
        match NodeWork::of(work, context) {
            Some(work) => self.capture_node(world, queue, work),
            None => Err(self.uncapturable(world, queue, &described)),
        }
    }

    /// Adds a node after the last nodes of a captured stream.
    pub(crate) fn capture_node(&self, world: &mut Guard<'_>, queue: QueueId, work: NodeWork) -> Status {
        self.capturing(world, queue)?;
        self.add_captured(world, queue, work).map(drop)
    }

    /// Adds a node after the last nodes of a stream whose capture is valid.
    fn add_captured(&self, world: &mut Guard<'_>, queue: QueueId, work: NodeWork) -> Status<NodeHandle> {
        world.add_node(queue, work).ok_or_else(|| self.refuse(OUT_OF_MEMORY, "there are as many nodes as handles"))
    }

    /// Refuses a stream whose capture was invalidated.
    pub(crate) fn capturing(&self, world: &World, queue: QueueId) -> Status {
        match world.captures().of(queue) {
            Some((_, sequence)) if sequence.is_invalid => {
                Err(self.refuse(INVALIDATED, "the capture was invalidated by an earlier call, and has to be ended"))
            }
            _ => Ok(()),
        }
    }

    /// Invalidates a stream's capture, because of work that cannot be captured.
    pub(crate) fn uncapturable(&self, world: &mut Guard<'_>, queue: QueueId, what: &str) -> CUresult {
        if let Err(code) = self.capturing(world, queue) {
            return code;
        }
        world.captures_mut().spoil(queue);
        self.refuse(CAPTURE_UNSUPPORTED, format!("{what} cannot be captured, so that the capture is invalid now"))
    }
}

impl Call<'_> {
    /// Refuses the legacy default stream while a stream that it would wait for is captured, and invalidates
    /// that capture.
    #[inline]
    pub(crate) fn check_legacy(&self, world: &mut Guard<'_>, queue: QueueId) -> Status {
        let shadowed = world.shadowed_by(queue);
        if shadowed.is_empty() {
            return Ok(());
        }
        for id in shadowed {
            world.captures_mut().invalidate(id);
        }
        Err(self
            .refuse(IMPLICIT, "the legacy default stream would wait for a stream that is captured, and now invalid"))
    }

    /// Refuses to synchronise with a context, or to make it wait, while one of its streams is captured, and
    /// invalidates that capture.
    pub(crate) fn check_context(&self, world: &mut Guard<'_>, context: ContextHandle) -> Status {
        let captured = world.captured_in(|queue| queue.owner.context == context);
        if captured.is_empty() {
            return Ok(());
        }
        for id in captured {
            world.captures_mut().invalidate(id);
        }
        Err(self
            .refuse(CAPTURE_UNSUPPORTED, "a stream of the context is being captured, and its capture is invalid now"))
    }
}

impl World {
    /// The sequences of the captured streams that match.
    fn captured_in(&self, is_meant: impl Fn(&Queue) -> bool) -> Vec<SequenceId> {
        let branches = self.captures().branches.iter();
        let meant = branches.filter(|(queue, _)| is_meant(self.queue(**queue)));
        meant.map(|(_, branch)| branch.sequence).collect()
    }

    /// `true` if the queue is the legacy default stream of its context.
    fn is_legacy(&self, queue: QueueId) -> bool {
        self.contexts().get(self.queue(queue).owner.context).is_some_and(|context| context.legacy == Some(queue))
    }

    /// The captures on streams that a legacy default stream waits for; empty for other queues.
    #[inline]
    fn shadowed_by(&self, queue: QueueId) -> Vec<SequenceId> {
        if self.captures().are_none() || !self.is_legacy(queue) {
            return Vec::new();
        }
        let context = self.queue(queue).owner.context;
        self.captured_in(|other| other.owner.context == context && !other.owner.traits.is_non_blocking())
    }

    fn add_node(&mut self, queue: QueueId, work: NodeWork) -> Option<NodeHandle> {
        let (captures, graphs) = self.captures_and_graphs();
        let (_, sequence) = captures.of(queue)?;
        let graph = sequence.graph;
        let branch = captures.branches.get_mut(&queue)?;
        let dependencies = branch.tips.drain(..).collect();
        let node = graphs.add(graph, dependencies, work)?;
        branch.tips.push(Edge::plain(node));
        Some(node)
    }
}
