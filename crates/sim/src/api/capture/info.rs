//! Capture state of a stream: cuStreamGetCaptureInfo and cuStreamIsCapturing.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_engine::QueueId;
use warploom_sys::types::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUresult, CUstream_st, CUstreamCaptureStatus, cuuint64_t,
};

use super::IMPLICIT;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// The queue of a stream whose capture status may be queried, and the status.
fn asked(call: &Call<'_>, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status<(QueueId, CUstreamCaptureStatus)> {
    let queue = call.queue(world, stream)?;
    if !world.shadowed_by(queue).is_empty() {
        return Err(call.refuse(IMPLICIT, "the legacy default stream waits for a stream that is being captured"));
    }
    let status = match world.captures().of(queue) {
        None => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        Some((_, sequence)) if sequence.is_invalid => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED,
        Some(_) => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
    };
    Ok((queue, status))
}

pub(crate) fn cuStreamIsCapturing(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
) -> Status {
    status.required()?;
    let mut world = call.world();
    let (_, found) = asked(call, &mut world, stream)?;
    status.write(found)
}

/// Output pointers of a query; all but the status are optional.
struct Wanted {
    status: Ptr<CUstreamCaptureStatus>,
    id: Ptr<cuuint64_t>,
    graph: Ptr<CUgraph>,
    nodes: Ptr<*const CUgraphNode>,
    data: Ptr<*const CUgraphEdgeData>,
    count: Ptr<usize>,
}

fn info(call: &Call<'_>, stream: Ptr<CUstream_st>, wanted: &Wanted) -> Status {
    wanted.status.required()?;
    if !wanted.data.is_null() && wanted.nodes.is_null() {
        return Err(call.refuse(INVALID_VALUE, "edges are asked for, and not the nodes that they come from"));
    }
    let mut world = call.world();
    let (queue, status) = asked(call, &mut world, stream)?;
    wanted.status.write(status)?;
    if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE {
        return Ok(());
    }
    let captures = world.captures_mut();
    let Some((id, graph)) = captures.of(queue).map(|(id, sequence)| (id, sequence.graph)) else { return Ok(()) };
    let Some(branch) = captures.branches.get_mut(&queue) else { return Ok(()) };
    if !wanted.nodes.is_null() && wanted.data.is_null() && branch.tips.iter().any(|tip| !tip.is_plain()) {
        let reason = "an edge starts at a part of a node, and the data of edges is not asked for";
        return Err(call.refuse(CUresult::CUDA_ERROR_LOSSY_QUERY, reason));
    }
    branch.shown = branch.tips.iter().map(|tip| tip.node.bits()).collect();
    wanted.id.write_if_wanted(id.0)?;
    wanted.graph.write_if_wanted(graph.as_raw())?;
    branch.edges = branch.tips.iter().map(|tip| tip.data).collect();
    wanted.nodes.write_if_wanted(branch.shown.as_ptr().cast())?;
    wanted.data.write_if_wanted(branch.edges.as_ptr())?;
    wanted.count.write_if_wanted(branch.shown.len())
}

pub(crate) fn cuStreamGetCaptureInfo(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
    id: Ptr<cuuint64_t>,
) -> Status {
    let (graph, nodes, data, count) = (Ptr::null(), Ptr::null(), Ptr::null(), Ptr::null());
    info(call, stream, &Wanted { status, id, graph, nodes, data, count })
}

pub(crate) fn cuStreamGetCaptureInfo_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
    id: Ptr<cuuint64_t>,
    graph: Ptr<CUgraph>,
    nodes: Ptr<*const CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    info(call, stream, &Wanted { status, id, graph, nodes, data: Ptr::null(), count })
}

#[expect(clippy::too_many_arguments, reason = "those of the C function")]
pub(crate) fn cuStreamGetCaptureInfo_v3(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
    id: Ptr<cuuint64_t>,
    graph: Ptr<CUgraph>,
    nodes: Ptr<*const CUgraphNode>,
    data: Ptr<*const CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    info(call, stream, &Wanted { status, id, graph, nodes, data, count })
}
