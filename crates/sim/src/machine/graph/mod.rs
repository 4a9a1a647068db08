//! Graphs: nodes with their edges, and executable copies of them.
//!
//! ```text
//!   Graph ──▶ Node, Node, …              in the order they were added
//!     ▲        │
//!     │        ├─ dependencies, dependents    nodes of the same graph
//!     │        └─ NodeWork
//!     └─ owner: Child, Conditional ──▶ Graph  a graph inside the graph
//! ```

mod clone;
mod conditional;
mod dot;
mod edges;
mod executable;
mod granules;
#[expect(clippy::module_inception, reason = "one graph of the graphs")]
mod graph;
mod index;
mod kernel;
mod memory;
mod node;
mod order;
mod outline;
mod plan;
mod update;
mod user_object;
mod work;

pub(crate) use conditional::{Condition, ConditionalKind, ConditionalNode};
pub(crate) use edges::{Edge, Edges, port};
pub(crate) use executable::{AUTO_FREE, Executable, References};
pub(crate) use granules::GRANULE;
pub(crate) use graph::Graph;
pub(crate) use kernel::{KernelAttributes, KernelNode, ShownArguments};
pub(crate) use memory::{Change, GraphMemory};
pub(crate) use node::Node;
pub(crate) use outline::{Difference, Outline, Pairs};
pub(crate) use plan::Plan;
pub(crate) use user_object::UserObject;
pub(crate) use work::{AllocNode, Given, HostNode, MemoryNode, NodeWork, ValuesNode};

use crate::machine::destructor::Destructor;
use crate::machine::objects::Objects;

/// The graphs of a machine.
pub(crate) struct Graphs {
    pub(crate) graphs: Objects<Graph>,
    pub(crate) nodes: Objects<Node>,
    pub(crate) executables: Objects<Executable>,
    pub(crate) conditions: Objects<Condition>,
    pub(crate) user_objects: Objects<UserObject>,
    pub(crate) memory: GraphMemory,
    /// The destructors of user objects that nothing refers to any more, to be run without the machine's lock.
    pub(crate) ended: Vec<Destructor>,
    /// The id of the newest graph or executable graph.
    last_id: u32,
}

impl Graphs {
    /// None yet; `machine` goes into every handle.
    pub(crate) fn new(machine: u64, devices: usize) -> Self {
        Self {
            graphs: Objects::new(machine),
            nodes: Objects::new(machine),
            executables: Objects::new(machine),
            conditions: Objects::new(machine),
            user_objects: Objects::new(machine),
            memory: GraphMemory::new(devices),
            ended: Vec::new(),
            last_id: 0,
        }
    }

    /// The id of a new graph or executable graph: a number that no other one of the machine has.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// Graphs, and executable ones, that the program has to destroy.
    pub(crate) fn outstanding(&self) -> (u64, u64) {
        let graphs = self.graphs.iter().filter(|(_, graph)| graph.is_the_programs());
        (graphs.count() as u64, self.executables.iter().count() as u64)
    }
}
