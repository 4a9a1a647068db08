//! Changes of edges: cuGraphAddDependencies and cuGraphRemoveDependencies.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::collections::HashSet;

use warploom_sys::types::{CUgraph_st, CUgraphDependencyType, CUgraphEdgeData, CUgraphNode, CUgraphNodeType};

use super::named;
use crate::ffi::handle::{GraphHandle, Handle, NodeHandle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::graph::{Edge, Edges, port};
use crate::machine::world::World;

/// A node of a graph that a C caller names.
fn node_of(call: &Call<'_>, world: &World, graph: GraphHandle, raw: CUgraphNode) -> Status<NodeHandle> {
    let node = Handle::from_bits(raw.addr() as u64);
    if !world.graphs().is_in(node, graph) {
        return Err(call.refuse(INVALID_VALUE, format!("{node:?} is not a node of the graph")));
    }
    Ok(node)
}

/// Edges from nodes of a graph that a C caller names. Without an array of data, the edges are plain.
pub(crate) fn read_edges(
    call: &Call<'_>,
    world: &World,
    graph: GraphHandle,
    read: impl Fn(usize) -> Status<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
) -> Status<Edges> {
    let mut edges = Edges::new();
    for index in 0..count {
        let node = node_of(call, world, graph, read(index)?)?;
        let data = if data.is_null() { Edge::PLAIN } else { data.read_at(index)? };
        check_data(call, world, node, data)?;
        edges.push(Edge { node, data });
    }
    Ok(edges)
}

/// Refuses data that an edge from a node cannot have.
fn check_data(call: &Call<'_>, world: &World, from: NodeHandle, data: CUgraphEdgeData) -> Status {
    if data == Edge::PLAIN {
        return Ok(());
    }
    let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
    let CUgraphEdgeData { from_port, to_port, type_, reserved } = data;
    if reserved != [0; 5] || to_port != 0 {
        return refuse(format!("an edge to port {to_port}, with reserved bytes {reserved:?}; all of them must be 0"));
    }
    let is_programmatic = match CUgraphDependencyType(type_.into()) {
        CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_DEFAULT => false,
        CUgraphDependencyType::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC => true,
        _ => return refuse(format!("there is no type {type_} of edges")),
    };
    let fits = match from_port {
        0 => !is_programmatic,
        port::PROGRAMMATIC => is_programmatic,
        port::LAUNCH_ORDER => true,
        _ => false,
    };
    if !fits {
        return refuse(format!("an edge of type {type_} cannot start at port {from_port}"));
    }
    let kind = world.graphs().nodes.get(from).map(|node| node.work.kind());
    if kind != Some(CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL) {
        return refuse(format!("only kernel nodes have a port {from_port}"));
    }
    Ok(())
}

/// Refuses an edge from a part of a kernel to a node that is no kernel.
pub(super) fn check_target(call: &Call<'_>, edges: &[Edge], kind: CUgraphNodeType) -> Status {
    let is_kernel = kind == CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
    if !is_kernel && edges.iter().any(|edge| !edge.is_plain()) {
        return Err(call.refuse(INVALID_VALUE, "an edge from a part of a kernel goes to a kernel"));
    }
    Ok(())
}

/// The edges before the first that comes from the same node as an earlier one, if there is such an edge.
pub(super) fn before_repetition(edges: &[Edge]) -> Option<&[Edge]> {
    if edges.len() < 2 {
        return None;
    }
    let mut seen = HashSet::with_capacity(edges.len());
    let repeated = edges.iter().position(|edge| !seen.insert(edge.node))?;
    Some(&edges[..repeated])
}

/// The ends of edges that a C caller names: those that they come from, and those that they go to.
type Ends = (ConstPtr<CUgraphNode>, ConstPtr<CUgraphNode>);

fn read_pairs(
    call: &Call<'_>,
    world: &World,
    graph: GraphHandle,
    (from, to): Ends,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
) -> Status<Vec<(Edge, NodeHandle)>> {
    let edges = read_edges(call, world, graph, |index| from.read_at(index), data, count)?;
    let mut pairs = Vec::with_capacity(count);
    for (index, edge) in edges.into_iter().enumerate() {
        let to = node_of(call, world, graph, to.read_at(index)?)?;
        let kind =
            world.graphs().nodes.get(to).map_or(CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY, |node| node.work.kind());
        check_target(call, &[edge], kind)?;
        pairs.push((edge, to));
    }
    Ok(pairs)
}

/// Adds edges up to the first that exists already. Nothing is added if another one is invalid. Cycles are
/// found at instantiation.
fn add(call: &Call<'_>, graph: Ptr<CUgraph_st>, ends: Ends, data: ConstPtr<CUgraphEdgeData>, count: usize) -> Status {
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    world.graph_changes(graph);
    let pairs = read_pairs(call, &world, graph, ends, data, count)?;
    if let Some((_, to)) = pairs.iter().find(|(edge, to)| edge.node == *to) {
        return Err(call.refuse(INVALID_VALUE, format!("{to:?} cannot depend on itself")));
    }
    for (edge, to) in pairs {
        if world.graphs().has_edge(edge.node, to) {
            return Err(call.refuse(INVALID_VALUE, format!("{to:?} depends on {:?} already", edge.node)));
        }
        world.graphs_mut().connect(edge, to);
    }
    Ok(())
}

/// Removes edges up to the first that does not exist. Like the driver, it does not compare the data of edges.
fn remove(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    ends: Ends,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
) -> Status {
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    world.graph_changes(graph);
    if world.graphs().graphs.get(graph).is_some_and(|graph| graph.is_of_memory) {
        return Err(call.refuse(NOT_SUPPORTED, "edges of a graph that allocates or frees memory stay in it"));
    }
    let pairs = read_pairs(call, &world, graph, ends, data, count)?;
    for (edge, to) in pairs {
        if !world.graphs().has_edge(edge.node, to) {
            return Err(call.refuse(INVALID_VALUE, format!("there is no edge from {:?} to {to:?}", edge.node)));
        }
        world.graphs_mut().disconnect(edge.node, to);
    }
    Ok(())
}

pub(crate) fn cuGraphAddDependencies(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: ConstPtr<CUgraphNode>,
    to: ConstPtr<CUgraphNode>,
    count: usize,
) -> Status {
    add(call, graph, (from, to), ConstPtr::null(), count)
}

pub(crate) fn cuGraphAddDependencies_v2(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: ConstPtr<CUgraphNode>,
    to: ConstPtr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
) -> Status {
    add(call, graph, (from, to), data, count)
}

pub(crate) fn cuGraphRemoveDependencies(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: ConstPtr<CUgraphNode>,
    to: ConstPtr<CUgraphNode>,
    count: usize,
) -> Status {
    remove(call, graph, (from, to), ConstPtr::null(), count)
}

pub(crate) fn cuGraphRemoveDependencies_v2(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    from: ConstPtr<CUgraphNode>,
    to: ConstPtr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
) -> Status {
    remove(call, graph, (from, to), data, count)
}
