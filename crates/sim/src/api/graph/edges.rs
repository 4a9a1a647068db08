//! Edges of a graph: cuGraphGetEdges, cuGraphNodeGetDependencies, cuGraphNodeGetDependentNodes.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUgraph_st, CUgraphEdgeData, CUgraphNode, CUgraphNode_st, CUresult};

use super::nodes::{fill, raw};
use super::{named, named_node};
use crate::ffi::Ptr;
use crate::ffi::handle::NodeHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::graph::{Edge, Graphs};

/// Refuses to leave out the data of edges that are not plain.
fn check_data(call: &Call<'_>, data: Ptr<CUgraphEdgeData>, mut edges: impl Iterator<Item = Edge>) -> Status {
    if data.is_null() && edges.any(|edge| !edge.is_plain()) {
        let reason = "an edge connects parts of nodes, and there is no array for the data of edges";
        return Err(call.refuse(CUresult::CUDA_ERROR_LOSSY_QUERY, reason));
    }
    Ok(())
}

fn write_data(array: Ptr<CUgraphEdgeData>, index: usize, edge: Option<&Edge>) -> Status {
    if array.is_null() { Ok(()) } else { array.write_at(index, edge.map_or(Edge::PLAIN, |edge| edge.data)) }
}

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
    let all = world.graphs().edges(graph);
    if !from.is_null() {
        check_data(call, data, all.iter().map(|(edge, _)| *edge))?;
    }
    fill(count, &all, !from.is_null(), |index, edge| {
        from.write_at(index, raw(edge.map(|(edge, _)| edge.node)))?;
        to.write_at(index, raw(edge.map(|(_, to)| *to)))?;
        write_data(data, index, edge.map(|(edge, _)| edge))
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

/// The edges of a node on one side, each with the node at its other end.
type Side = fn(&Graphs, NodeHandle) -> Vec<Edge>;

fn before(graphs: &Graphs, node: NodeHandle) -> Vec<Edge> {
    graphs.nodes.get(node).map(|node| node.dependencies.to_vec()).unwrap_or_default()
}

fn after(graphs: &Graphs, node: NodeHandle) -> Vec<Edge> {
    let dependents = graphs.nodes.get(node).into_iter().flat_map(|node| &node.dependents);
    let edge = |after: &NodeHandle| {
        let edges = &graphs.nodes.get(*after)?.dependencies;
        edges.iter().find(|edge| edge.node == node).map(|edge| Edge { node: *after, data: edge.data })
    };
    dependents.filter_map(edge).collect()
}

/// The neighbours of a node on one side.
fn neighbours(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    side: Side,
    (nodes, data): (Ptr<CUgraphNode>, Ptr<CUgraphEdgeData>),
    count: Ptr<usize>,
) -> Status {
    let world = call.world();
    let (node, _) = named_node(call, &world, node)?;
    let all = side(world.graphs(), node);
    if !nodes.is_null() {
        check_data(call, data, all.iter().copied())?;
    }
    fill(count, &all, !nodes.is_null(), |index, edge| {
        nodes.write_at(index, raw(edge.map(|edge| edge.node)))?;
        write_data(data, index, edge)
    })
}

pub(crate) fn cuGraphNodeGetDependencies(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, before, (nodes, Ptr::null()), count)
}

pub(crate) fn cuGraphNodeGetDependencies_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, before, (nodes, data), count)
}

pub(crate) fn cuGraphNodeGetDependentNodes(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, after, (nodes, Ptr::null()), count)
}

pub(crate) fn cuGraphNodeGetDependentNodes_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    nodes: Ptr<CUgraphNode>,
    data: Ptr<CUgraphEdgeData>,
    count: Ptr<usize>,
) -> Status {
    neighbours(call, node, after, (nodes, data), count)
}
