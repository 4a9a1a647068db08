//! Copies of graphs: cuGraphClone and cuGraphNodeFindInClone.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUgraph, CUgraph_st, CUgraphNode, CUgraphNode_st};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{GraphHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::NodeWork;

/// Refuses a graph that cannot be copied.
pub(super) fn check_copyable(call: &Call<'_>, world: &Guard<'_>, graph: GraphHandle) -> Status {
    let is_unique = |work: &NodeWork| matches!(work, NodeWork::Conditional(_));
    let graphs = world.graphs();
    // The conditions of a graph and of those inside it belong to the outermost.
    let outermost = graphs.graphs.get(graphs.root_of(graph));
    let has_conditions = outermost.is_some_and(|graph| !graph.conditions.is_empty());
    if has_conditions || graphs.is_body(graph) || graphs.is_of_memory(graph) || graphs.has_inside(graph, is_unique) {
        let reason = "a graph with memory nodes or conditions, or the body of a conditional node, cannot be copied";
        return Err(call.refuse(NOT_SUPPORTED, reason));
    }
    Ok(())
}

/// A copy of a graph, if it can be copied.
pub(super) fn copy(call: &Call<'_>, world: &mut Guard<'_>, graph: GraphHandle) -> Status<GraphHandle> {
    check_copyable(call, world, graph)?;
    let copy = world.graphs_mut().copy(graph);
    copy.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many graphs or nodes as handles"))
}

pub(crate) fn cuGraphClone(call: &Call<'_>, out: Ptr<CUgraph>, graph: Ptr<CUgraph_st>) -> Status {
    out.required()?;
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    world.graph_is_read(graph);
    let copy = copy(call, &mut world, graph)?;
    out.write(copy.as_raw())
}

/// Finds the copy of a node, also if the original has been destroyed since.
pub(crate) fn cuGraphNodeFindInClone(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    original: Ptr<CUgraphNode_st>,
    clone: Ptr<CUgraph_st>,
) -> Status {
    out.write(std::ptr::null_mut())?;
    let world = call.world();
    let graph = named(call, &world, clone)?;
    let copies = world.graphs().graphs.get(graph).map(|graph| &graph.copies);
    let copy = copies.and_then(|copies| copies.get(&Handle::from_bits(original.address())));
    match copy.filter(|copy| world.graphs().is_in(**copy, graph)) {
        Some(copy) => out.write(copy.as_raw()),
        None => Err(call.refuse(INVALID_VALUE, "the graph has no copy of the node")),
    }
}
