//! Edges between the nodes of a graph.

use std::collections::{BTreeSet, HashMap};

use smallvec::SmallVec;
use warploom_sys::types::CUgraphEdgeData;

use super::Graphs;
use crate::ffi::handle::{GraphHandle, NodeHandle};

/// The parts of a kernel node that an edge can start from, other than its end.
pub(crate) mod port {
    /// `CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`: each block has triggered its dependents or ended.
    pub(crate) const PROGRAMMATIC: u8 = 1;
    /// `CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER`: each block has begun.
    pub(crate) const LAUNCH_ORDER: u8 = 2;
}

/// `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`.
const PROGRAMMATIC: u8 = 1;

/// A dependency of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The node that it depends on.
    pub(crate) node: NodeHandle,
    /// The parts of the two nodes that it connects.
    pub(crate) data: CUgraphEdgeData,
}

/// The dependencies of a node.
pub(crate) type Edges = SmallVec<[Edge; 1]>;

impl Edge {
    /// The data of an edge between whole nodes.
    pub(crate) const PLAIN: CUgraphEdgeData = CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };

    /// The data of a programmatic edge from the triggers of a kernel's blocks.
    pub(crate) const FROM_TRIGGER: CUgraphEdgeData =
        CUgraphEdgeData { from_port: port::PROGRAMMATIC, type_: PROGRAMMATIC, ..Self::PLAIN };

    /// The data of a programmatic edge from the start of a kernel's blocks.
    pub(crate) const FROM_BLOCK_START: CUgraphEdgeData =
        CUgraphEdgeData { from_port: port::LAUNCH_ORDER, type_: PROGRAMMATIC, ..Self::PLAIN };

    /// The data of an edge from the start of a kernel's blocks that is not programmatic.
    pub(crate) const FROM_LAUNCH: CUgraphEdgeData = CUgraphEdgeData { from_port: port::LAUNCH_ORDER, ..Self::PLAIN };

    /// An edge between whole nodes.
    pub(crate) fn plain(node: NodeHandle) -> Self {
        Self { node, data: Self::PLAIN }
    }

    /// `true` if it connects whole nodes.
    pub(crate) fn is_plain(&self) -> bool {
        self.data == Self::PLAIN
    }
}

impl Graphs {
    /// `true` if one node depends directly on another.
    pub(crate) fn has_edge(&self, from: NodeHandle, to: NodeHandle) -> bool {
        let (Some(before), Some(after)) = (self.nodes.get(from), self.nodes.get(to)) else { return false };
        if before.dependents.len() < after.dependencies.len() {
            before.dependents.contains(&to)
        } else {
            after.dependencies.iter().any(|edge| edge.node == from)
        }
    }

    /// The edges of a graph and where they lead, by the nodes that they come from.
    pub(crate) fn edges(&self, graph: GraphHandle) -> Vec<(Edge, NodeHandle)> {
        let incoming = self.nodes_of(graph).flat_map(|(to, node)| node.dependencies.iter().map(move |edge| (edge, to)));
        let special = incoming.filter(|(edge, _)| !edge.is_plain());
        let special: HashMap<_, _> = special.map(|(edge, to)| ((edge.node, to), edge.data)).collect();
        let data = |from, to| special.get(&(from, to)).copied().unwrap_or(Edge::PLAIN);
        let ends = self.nodes_of(graph).flat_map(|(from, node)| node.dependents.iter().map(move |to| (from, *to)));
        ends.map(|(from, to)| (Edge { node: from, data: data(from, to) }, to)).collect()
    }

    /// Adds an edge between two nodes of a graph that has none.
    pub(crate) fn connect(&mut self, edge: Edge, to: NodeHandle) {
        if let Some(before) = self.nodes.get_mut(edge.node) {
            before.dependents.push(to);
        }
        if let Some(after) = self.nodes.get_mut(to) {
            after.dependencies.push(edge);
        }
    }

    /// Removes an edge.
    pub(crate) fn disconnect(&mut self, from: NodeHandle, to: NodeHandle) {
        self.take_dependent(from, to);
        self.take_dependency(to, from);
    }

    /// Removes a node from the dependents of another, where the last one takes its place.
    pub(super) fn take_dependent(&mut self, node: NodeHandle, dependent: NodeHandle) {
        let Some(found) = self.nodes.get_mut(node) else { return };
        if let Some(place) = found.dependents.iter().position(|other| *other == dependent) {
            found.dependents.swap_remove(place);
            self.return_end(node);
        }
    }

    /// Removes a node from the dependencies of another, where the last one takes its place.
    pub(super) fn take_dependency(&mut self, node: NodeHandle, dependency: NodeHandle) {
        let Some(found) = self.nodes.get_mut(node) else { return };
        if let Some(place) = found.dependencies.iter().position(|edge| edge.node == dependency) {
            found.dependencies.swap_remove(place);
            self.return_root(node);
        }
    }

    /// These nodes and all their ancestors.
    pub(crate) fn ancestry(&self, nodes: Vec<NodeHandle>) -> BTreeSet<NodeHandle> {
        let (mut found, mut open) = (BTreeSet::new(), nodes);
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(self.nodes.get(node).iter().flat_map(|node| &node.dependencies).map(|edge| edge.node));
            }
        }
        found
    }
}
