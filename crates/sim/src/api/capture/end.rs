//! End of stream captures: cuStreamEndCapture.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{CUgraph, CUresult, CUstream_st, CUstreamCaptureMode};

use super::INVALIDATED;
use crate::ffi::Ptr;
use crate::ffi::handle::GraphHandle;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::capture::{Captures, SequenceId};
use crate::machine::world::World;
use crate::process::thread;

/// The error at the end of a sequence that gives no graph.
fn obstacle(world: &World, id: SequenceId) -> Option<(CUresult, &'static str)> {
    let sequence = world.captures().sequences.get(&id)?;
    if sequence.mode != CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED && sequence.thread != thread::key() {
        let reason = "another thread began the capture, which is not a relaxed one";
        return Some((CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, reason));
    }
    if sequence.is_invalid {
        return Some((INVALIDATED, "an earlier call invalidated the capture"));
    }
    let reason = "a stream took part in the capture, and its work was not joined to the first stream again";
    world.has_unjoined(id).then_some((CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED, reason))
}

/// Ends the capture, even if the call fails. Only a call on a stream other than the capture's origin leaves
/// it open.
pub(crate) fn cuStreamEndCapture(call: &Call<'_>, stream: Ptr<CUstream_st>, out: Ptr<CUgraph>) -> Status {
    out.write_if_wanted(std::ptr::null_mut())?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let Some((id, sequence)) = world.captures().of(queue) else {
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured"));
    };
    if sequence.origin != queue {
        world.captures_mut().invalidate(id);
        let code = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
        return Err(call.refuse(code, "the capture began on another stream, and is invalid now"));
    }
    if let Some((code, reason)) = obstacle(&world, id) {
        world.finish_capture(id, false);
        call.run_destructors(&mut world);
        return Err(call.refuse(code, reason));
    }
    // As on an H200, the last nodes become the ends of the graph in their order.
    let last = world.captures().branches.get(&queue).into_iter().flat_map(|branch| &branch.tips);
    let last: Vec<_> = last.map(|tip| tip.node).collect();
    last.into_iter().for_each(|node| world.graphs_mut().return_end(node));
    // Without an out pointer the graph is destroyed.
    match world.finish_capture(id, !out.is_null()) {
        Some(graph) => out.write(graph.as_raw()),
        None => {
            call.run_destructors(&mut world);
            Ok(())
        }
    }
}

impl World {
    /// `true` if a node of one of the sequence's other streams is not an ancestor of the origin stream's last
    /// nodes.
    fn has_unjoined(&self, id: SequenceId) -> bool {
        let Some(sequence) = self.captures().sequences.get(&id) else { return false };
        let branches = &self.captures().branches;
        let last = branches.get(&sequence.origin).into_iter().flat_map(|first| &first.tips);
        let joined = self.graphs().ancestry(last.map(|tip| tip.node).collect());
        let others = branches.values().filter(|branch| branch.sequence == id).flat_map(|branch| &branch.tips);
        others.map(|tip| &tip.node).chain(&sequence.loose).any(|tip| !joined.contains(tip))
    }

    /// Ends a sequence. Returns its graph, if it is kept.
    fn finish_capture(&mut self, id: SequenceId, is_kept: bool) -> Option<GraphHandle> {
        let sequence = self.captures_mut().sequences.remove(&id)?;
        self.captures_mut().branches.retain(|_, branch| branch.sequence != id);
        if is_kept {
            self.graphs_mut().graphs.get_mut(sequence.graph)?.is_captured = false;
            return Some(sequence.graph);
        }
        // The body of a conditional node stays with its node.
        if self.graphs().graphs.get(sequence.graph).is_some_and(|graph| graph.owner.is_none()) {
            self.destroy_graph(sequence.graph);
        }
        None
    }

    /// Removes streams from captures. A capture that began on one of them ends; the last nodes of the others
    /// stay.
    pub(crate) fn leave_captures(&mut self, is_going: impl Fn(&World, QueueId) -> bool) {
        let Captures { sequences, branches, .. } = self.captures();
        let gone: Vec<QueueId> = branches.keys().copied().filter(|queue| is_going(self, *queue)).collect();
        let over = sequences.iter().filter(|(_, sequence)| gone.contains(&sequence.origin));
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.finish_capture(id, false);
        }
        for queue in gone {
            let Captures { sequences, branches, .. } = self.captures_mut();
            if let Some(branch) = branches.remove(&queue)
                && let Some(sequence) = sequences.get_mut(&branch.sequence)
            {
                sequence.loose.extend(branch.tips.iter().map(|tip| tip.node));
            }
        }
    }
}
