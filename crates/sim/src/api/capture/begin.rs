//! Begin of stream captures: cuStreamBeginCapture and cuStreamBeginCaptureToGraph.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{CUgraph_st, CUgraphEdgeData, CUgraphNode, CUresult, CUstream_st, CUstreamCaptureMode};

use crate::api::graph::{named, read_edges};
use crate::ffi::handle::GraphHandle;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::capture::{Branch, Sequence, SequenceId};
use crate::machine::core::Guard;
use crate::machine::graph::Edges;
use crate::process::thread;

/// The queue of a stream, if it can be captured.
fn capturable(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    stream: Ptr<CUstream_st>,
    mode: CUstreamCaptureMode,
) -> Status<QueueId> {
    let queue = call.queue(world, stream)?;
    let context = world.queue(queue).owner.context;
    world.healthy(context)?;
    if mode.0 > CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED.0 {
        return Err(call.refuse(INVALID_VALUE, format!("there is no mode {}", mode.0)));
    }
    if world.is_legacy(queue) {
        return Err(call.refuse(CAPTURE_UNSUPPORTED, "the legacy default stream cannot be captured"));
    }
    if world.captures().hold(queue) {
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured already"));
    }
    Ok(queue)
}

fn begin(world: &mut Guard<'_>, queue: QueueId, (graph, tips): (GraphHandle, Edges), mode: CUstreamCaptureMode) {
    let captures = world.captures_mut();
    captures.last += 1;
    let id = SequenceId(captures.last);
    let sequence = Sequence { graph, loose: Vec::new(), origin: queue, thread: thread::key(), mode, is_invalid: false };
    captures.sequences.insert(id, sequence);
    let mut branch = Branch::new(id);
    branch.depend_on(tips);
    captures.branches.insert(queue, branch);
}

pub(crate) fn cuStreamBeginCapture_v2(call: &Call<'_>, stream: Ptr<CUstream_st>, mode: CUstreamCaptureMode) -> Status {
    let mut world = call.world();
    let queue = capturable(call, &mut world, stream, mode)?;
    let graph = world.graphs_mut().create(true, None);
    let graph = graph.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many graphs as handles"))?;
    begin(&mut world, queue, (graph, Edges::new()), mode);
    Ok(())
}

/// The form of CUDA 10.0, which knows no modes: unsafe calls are permitted.
pub(crate) fn cuStreamBeginCapture(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    cuStreamBeginCapture_v2(call, stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
}

pub(crate) fn cuStreamBeginCaptureToGraph(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
    mode: CUstreamCaptureMode,
) -> Status {
    let mut world = call.world();
    let queue = capturable(call, &mut world, stream, mode)?;
    let graph = named(call, &world, graph)?;
    if world.captures().are_into(graph) {
        return Err(
            call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, "a stream is being captured into the graph already")
        );
    }
    let tips = read_edges(call, &world, graph, |index| dependencies.read_at(index), data, count)?;
    begin(&mut world, queue, (graph, tips), mode);
    Ok(())
}
