//! Dependencies of a captured stream's next node: cuStreamUpdateCaptureDependencies.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUgraphEdgeData, CUgraphNode, CUresult, CUstream_st};

use crate::api::graph::read_edges;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`.
const SET: u32 = 1;

fn update(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    nodes: Ptr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
    flags: u32,
) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let Some((_, sequence)) = world.captures().of(queue) else {
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured"));
    };
    let graph = sequence.graph;
    call.capturing(&world, queue)?;
    if flags > SET {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known")));
    }
    let edges = read_edges(call, &world, graph, |index| nodes.read_at(index), data, count)?;
    if let Some(branch) = world.captures_mut().branches.get_mut(&queue) {
        if flags == SET {
            branch.tips.clear();
        }
        branch.depend_on(edges);
    }
    Ok(())
}

pub(crate) fn cuStreamUpdateCaptureDependencies(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    nodes: Ptr<CUgraphNode>,
    count: usize,
    flags: c_uint,
) -> Status {
    update(call, stream, nodes, ConstPtr::null(), count, flags)
}

pub(crate) fn cuStreamUpdateCaptureDependencies_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    nodes: Ptr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
    flags: c_uint,
) -> Status {
    update(call, stream, nodes, data, count, flags)
}
