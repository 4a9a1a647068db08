//! Edges of a graph: cuGraphGetEdges, cuGraphNodeGetDependencies, cuGraphNodeGetDependentNodes.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUgraph_st, CUgraphEdgeData, CUgraphNode, CUgraphNode_st};

use super::nodes::{fill, raw};
use super::{named, named_node};
use crate::ffi::Ptr;
use crate::ffi::handle::NodeHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::graph::Node;

/// A plain edge, between whole nodes; edges from captures are always plain.
pub(crate) const PLAIN: CUgraphEdgeData = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

fn edges(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    (from, to): (Ptr<CUgraphNode>, Ptr<CUgraphNode>),
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    let world = call.world();
    let graph = named(call, &world, graph)?;
    if from.is_null() != to.is_null() || from.is_null() && !data.is_null() {
        return Err(call.refuse(INVALID_VALUE, "some of the arrays are null, and others are not"));
    }
    let of_node =
        |(to, node): (NodeHandle, &Node)| node.dependencies.iter().map(|from| (*from, to)).collect::<Vec<_>>();
    let all: Vec<_> = world.graphs().nodes_of(graph).flat_map(of_node).collect();
    fill(count, &all, !from.is_null(), |index, edge| {
        from.write_at(index, raw(edge.map(|(from, _)| *from)))?;
        to.write_at(index, raw(edge.map(|(_, to)| *to)))?;
        if data.is_null() { Ok(()) } else { data.write_at(index, PLAIN) }
    })
}

pub(crate) fn cuGraphGetEdges(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: Ptr<CUgraphNode>,
    to: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    edges(call, graph, (from, to), Ptr::null(), count)
}

pub(crate) fn cuGraphGetEdges_v2(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: Ptr<CUgraphNode>,
    to: Ptr<CUgraphNode>,
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    edges(call, graph, (from, to), data, count)
}

/// The neighbours of a node on one side.
fn neighbours(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    side: fn(&Node) -> &[NodeHandle],
    (nodes, data): (Ptr<CUgraphNode>, Ptr<CUgraphEdgeData>),
    count: Ptr<usize>,
) -> Status {
    let world = call.world();
    let all = side(named_node(call, &world, node)?);
    fill(count, all, !nodes.is_null(), |index, other| {
        nodes.write_at(index, raw(other.copied()))?;
        if data.is_null() { Ok(()) } else { data.write_at(index, PLAIN) }
    })
}

pub(crate) fn cuGraphNodeGetDependencies(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, |node| &node.dependencies, (nodes, Ptr::null()), count)
}

pub(crate) fn cuGraphNodeGetDependencies_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, |node| &node.dependencies, (nodes, data), count)
}

pub(crate) fn cuGraphNodeGetDependentNodes(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, |node| &node.dependents, (nodes, Ptr::null()), count)
}

pub(crate) fn cuGraphNodeGetDependentNodes_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, |node| &node.dependents, (nodes, data), count)
}
