//! Dependencies of a captured stream's next node: cuStreamUpdateCaptureDependencies.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUgraphEdgeData, CUgraphNode, CUresult, CUstream_st};

use crate::ffi::handle::{GraphHandle, Handle, NodeHandle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::graph::Edge;
use crate::machine::world::World;

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`.
const SET: u32 = 1;

/// Nodes of a graph that a C caller names, each of them once.
pub(super) fn read_nodes(
    call: &Call<'_>,
    world: &World,
    graph: GraphHandle,
    count: usize,
    read: impl Fn(usize) -> Status<CUgraphNode>,
) -> Status<Vec<NodeHandle>> {
    let mut nodes = Vec::new();
    for index in 0..count {
        let node = Handle::from_bits(read(index)?.addr() as u64);
        if !world.graphs().is_in(node, graph) {
            return Err(call.refuse(INVALID_VALUE, format!("{node:?} is not a node of the graph")));
        }
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Edges between parts of nodes are not simulated.
pub(super) fn check_plain(call: &Call<'_>, data: ConstPtr<CUgraphEdgeData>, count: usize) -> Status {
    for index in 0..if data.is_null() { 0 } else { count } {
        if data.read_at(index)? != Edge::PLAIN {
            return Err(call.refuse(NOT_SUPPORTED, "edges between parts of nodes are not simulated"));
        }
    }
    Ok(())
}

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
    check_plain(call, data, count)?;
    let named = read_nodes(call, &world, graph, count, |index| nodes.read_at(index))?;
    if let Some(branch) = world.captures_mut().branches.get_mut(&queue) {
        if flags == SET {
            branch.tips.clear();
        }
        for node in named {
            if !branch.tips.contains(&node) {
                branch.tips.push(node);
            }
        }
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
