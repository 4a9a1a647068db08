//! Nodes of a graph: cuGraphGetNodes, cuGraphGetRootNodes, cuGraphDestroyNode.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUgraph_st, CUgraphNode, CUgraphNode_st, CUresult};

use super::{named, named_node};
use crate::ffi::Ptr;
use crate::ffi::handle::{Handle, NodeHandle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;

/// Fills a caller's arrays and writes the number of elements. Elements beyond the arrays' length are left
/// out, and unused places are set to null. Without arrays, only the number is written.
pub(super) fn fill<T>(
    count: Ptr<usize>,
    items: &[T],
    is_wanted: bool,
    mut write: impl FnMut(usize, Option<&T>) -> Status,
) -> Status {
    let room = count.read()?;
    if !is_wanted {
        return count.write(items.len());
    }
    if room == 0 {
        return Err(INVALID_VALUE);
    }
    for index in 0..room {
        write(index, items.get(index))?;
    }
    count.write(room.min(items.len()))
}

/// A handle for C, or null.
pub(super) fn raw(node: Option<NodeHandle>) -> CUgraphNode {
    node.map_or(std::ptr::null_mut(), Handle::as_raw)
}

/// Fills an array with handles.
fn handles(array: Ptr<CUgraphNode>, count: Ptr<usize>, nodes: &[NodeHandle]) -> Status {
    fill(count, nodes, !array.is_null(), |index, node| array.write_at(index, raw(node.copied())))
}

pub(crate) fn cuGraphGetNodes(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    let world = call.world();
    let graph = named(call, &world, graph)?;
    let all: Vec<_> = world.graphs().nodes_of(graph).map(|(handle, _)| handle).collect();
    handles(nodes, count, &all)
}

pub(crate) fn cuGraphGetRootNodes(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    let world = call.world();
    let graph = named(call, &world, graph)?;
    handles(nodes, count, &world.graphs().roots(graph))
}

/// Also removes the edges of the node.
pub(crate) fn cuGraphDestroyNode(call: &Call<'_>, node: Ptr<CUgraphNode_st>) -> Status {
    let mut world = call.world();
    let (handle, found) = named_node(call, &world, node)?;
    let graph = world.graphs().graphs.get(found.graph);
    if world.captures().are_into(found.graph) {
        let reason = "the graph is being captured, so that its nodes stay";
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    if graph.is_some_and(|graph| graph.is_of_memory) {
        return Err(call.refuse(NOT_SUPPORTED, "nodes of a graph that allocates or frees memory stay in it"));
    }
    let changed = found.graph;
    world.graph_changes(changed);
    if let Some(node) = world.graphs_mut().remove_node(handle) {
        world.forget_work(&node.work);
    }
    call.run_destructors(&mut world);
    Ok(())
}
