//! Graphs: nodes with their edges, and executable copies of them.

mod conditions;
mod memory;
mod node;

use std::collections::BTreeSet;

pub(crate) use conditions::Conditions;
pub(crate) use memory::GraphMemory;
pub(crate) use node::NodeWork;

use crate::ffi::handle::{GraphHandle, NodeHandle, kind};
use crate::machine::objects::{Object, Objects};

/// The nodes of a graph and their edges.
#[derive(Default)]
pub(crate) struct Graph {
    /// In the order they were added.
    pub(crate) nodes: Vec<NodeHandle>,
    /// It belongs to a capture in progress, and not to the program.
    pub(crate) is_captured: bool,
}

impl Graph {
    /// An empty graph for a capture.
    pub(crate) fn captured() -> Self {
        Self { nodes: Vec::new(), is_captured: true }
    }
}

/// A node of a graph.
pub(crate) struct Node {
    pub(crate) graph: GraphHandle,
    pub(crate) work: NodeWork,
    /// The nodes that it depends on.
    pub(crate) dependencies: Vec<NodeHandle>,
    /// The nodes that depend on it.
    pub(crate) dependents: Vec<NodeHandle>,
}

impl Object for Graph {
    type Kind = kind::Graph;
}

impl Object for Node {
    type Kind = kind::Node;
}

/// The graphs of a machine.
pub(crate) struct Graphs {
    pub(crate) graphs: Objects<Graph>,
    pub(crate) nodes: Objects<Node>,
    pub(crate) executables: Objects<Executable>,
    pub(crate) memory: GraphMemory,
}

impl Graphs {
    /// None yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64, devices: usize) -> Self {
        Self {
            graphs: Objects::new(machine),
            nodes: Objects::new(machine),
            executables: Objects::new(machine),
            memory: GraphMemory::new(devices),
        }
    }

    /// Graphs, and executable ones, that the program has to destroy.
    pub(crate) fn outstanding(&self) -> (u64, u64) {
        let graphs = self.graphs.iter().filter(|(_, graph)| !graph.is_captured);
        (graphs.count() as u64, self.executables.iter().count() as u64)
    }

    /// Adds a node that depends on others of the same graph.
    pub(crate) fn add(
        &mut self,
        graph: GraphHandle,
        dependencies: Vec<NodeHandle>,
        work: NodeWork,
    ) -> Option<NodeHandle> {
        let behind = dependencies.clone();
        let node = self.nodes.insert(Node { graph, work, dependencies, dependents: Vec::new() })?;
        for before in behind {
            self.nodes.get_mut(before)?.dependents.push(node);
        }
        self.graphs.get_mut(graph)?.nodes.push(node);
        Some(node)
    }

    /// True if a node belongs to a graph.
    pub(crate) fn is_in(&self, node: NodeHandle, graph: GraphHandle) -> bool {
        self.nodes.get(node).is_some_and(|node| node.graph == graph)
    }

    /// These nodes and all their ancestors.
    pub(crate) fn ancestry(&self, nodes: &[NodeHandle]) -> BTreeSet<NodeHandle> {
        let (mut found, mut open) = (BTreeSet::new(), nodes.to_vec());
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(self.nodes.get(node).iter().flat_map(|node| &node.dependencies));
            }
        }
        found
    }

    /// The nodes of a graph with their handles, in the order they were added: dependencies come first.
    pub(crate) fn nodes_of(&self, graph: GraphHandle) -> impl Iterator<Item = (NodeHandle, &Node)> {
        let nodes = self.graphs.get(graph).into_iter().flat_map(|graph| &graph.nodes);
        nodes.filter_map(|handle| Some((*handle, self.nodes.get(*handle)?)))
    }
}

/// The nodes of a graph at its instantiation, in topological order.
pub(crate) struct Executable {
    pub(crate) nodes: Vec<NodeWork>,
}

impl Object for Executable {
    type Kind = kind::Executable;
}
