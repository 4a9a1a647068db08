//! Graphs: work that is described now, and run later as often as wanted.
//!
//! ```text
//!   Graph ─▶ Node, Node, …     in the order they were added; each knows what it comes after
//!     │
//!     └─ instantiate ─▶ Executable: the nodes as they were then ─▶ launch: ops of a stream
//! ```
//!
//! A launch puts the nodes into the stream one after the other, in an order that keeps every edge. That is one of the
//! executions that the graph allows; nodes that nothing orders do not run beside each other.

mod destroy;
mod edges;
mod executable;
mod list;
mod memory;
mod node;

use std::collections::BTreeSet;

pub(crate) use destroy::{cuGraphCreate, cuGraphDestroy};
pub(crate) use edges::{
    PLAIN, cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
};
pub(crate) use executable::{
    Executable, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch, cuGraphUpload,
};
pub(crate) use list::{cuGraphGetNodes, cuGraphGetRootNodes, cuGraphNodeGetType};
pub(crate) use memory::{
    GraphMemory, cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute,
};
pub(crate) use node::NodeWork;

use warploom_sys::types::{CUgraph_st, CUgraphNode_st};

use crate::ffi::Ptr;
use crate::ffi::handle::{GraphHandle, Handle, NodeHandle, kind};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::objects::{Object, Objects};
use crate::machine::world::World;

/// Nodes, and what comes before what.
#[derive(Default)]
pub(crate) struct Graph {
    /// In the order they were added.
    nodes: Vec<NodeHandle>,
    /// It belongs to a capture that is not over, and not to the program.
    pub(crate) is_captured: bool,
}

impl Graph {
    /// An empty graph for a capture.
    pub(crate) fn captured() -> Self {
        Self { nodes: Vec::new(), is_captured: true }
    }
}

/// One piece of work of a graph.
pub(crate) struct Node {
    graph: GraphHandle,
    work: NodeWork,
    /// What it comes after.
    dependencies: Vec<NodeHandle>,
    /// What comes after it.
    dependents: Vec<NodeHandle>,
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
    nodes: Objects<Node>,
    executables: Objects<Executable>,
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

    /// Adds a node behind others of the same graph.
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

    /// Whether a node is one of a graph.
    pub(crate) fn is_in(&self, node: NodeHandle, graph: GraphHandle) -> bool {
        self.nodes.get(node).is_some_and(|node| node.graph == graph)
    }

    /// These nodes, and everything that they come after.
    pub(crate) fn ancestry(&self, nodes: &[NodeHandle]) -> BTreeSet<NodeHandle> {
        let (mut found, mut open) = (BTreeSet::new(), nodes.to_vec());
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(self.nodes.get(node).iter().flat_map(|node| &node.dependencies));
            }
        }
        found
    }

    /// The nodes of a graph, each with its handle, in the order they were added: none comes before what it waits for.
    fn nodes_of(&self, graph: GraphHandle) -> impl Iterator<Item = (NodeHandle, &Node)> {
        let nodes = self.graphs.get(graph).into_iter().flat_map(|graph| &graph.nodes);
        nodes.filter_map(|handle| Some((*handle, self.nodes.get(*handle)?)))
    }
}

/// A graph by the handle that a C caller passed. The driver has one code for every handle that is none.
pub(crate) fn named(call: &Call<'_>, world: &World, raw: Ptr<CUgraph_st>) -> Status<GraphHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs.graphs, handle, INVALID_VALUE)?;
    Ok(handle)
}

/// A node by the handle that a C caller passed.
fn named_node<'w>(call: &Call<'_>, world: &'w World, raw: Ptr<CUgraphNode_st>) -> Status<&'w Node> {
    call.object(&world.graphs.nodes, Handle::from_bits(raw.address()), INVALID_VALUE)
}
