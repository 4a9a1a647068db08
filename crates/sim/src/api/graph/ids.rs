//! Types and ids of nodes and graphs: cuGraphNodeGetType, cuGraphNodeGetLocalId, cuGraphGetId.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_uint, c_ulonglong};

use warploom_sys::types::{CUgraph, CUgraph_st, CUgraphNode_st, CUgraphNodeType};

use super::{named, named_node};
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;

pub(crate) fn cuGraphNodeGetType(call: &Call<'_>, node: Ptr<CUgraphNode_st>, kind: Ptr<CUgraphNodeType>) -> Status {
    let world = call.world();
    let found = named_node(call, &world, node)?.1.work.kind();
    kind.write(found)
}

pub(crate) fn cuGraphNodeGetContainingGraph(call: &Call<'_>, node: Ptr<CUgraphNode_st>, graph: Ptr<CUgraph>) -> Status {
    let world = call.world();
    let found = named_node(call, &world, node)?.1.graph;
    graph.write(found.as_raw())
}

pub(crate) fn cuGraphNodeGetLocalId(call: &Call<'_>, node: Ptr<CUgraphNode_st>, id: Ptr<c_uint>) -> Status {
    let world = call.world();
    let found = named_node(call, &world, node)?.1.local_id;
    id.write(found)
}

/// The id of the graph, and behind it that of the node in the graph.
pub(crate) fn cuGraphNodeGetToolsId(call: &Call<'_>, node: Ptr<CUgraphNode_st>, id: Ptr<c_ulonglong>) -> Status {
    let world = call.world();
    let found = named_node(call, &world, node)?.1;
    let graph = world.graphs().graphs.get(found.graph).map_or(0, |graph| graph.id);
    id.write(u64::from(graph) << 32 | u64::from(found.local_id))
}

pub(crate) fn cuGraphGetId(call: &Call<'_>, graph: Ptr<CUgraph_st>, id: Ptr<c_uint>) -> Status {
    let world = call.world();
    let graph = named(call, &world, graph)?;
    id.write(world.graphs().graphs.get(graph).map_or(0, |graph| graph.id))
}
