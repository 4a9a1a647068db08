//! Constraints on the structure of a graph, which are checked at its instantiation.

use std::collections::HashMap;

use warploom_sys::types::{CUgraphInstantiateResult, CUresult};

use crate::ffi::handle::{ContextHandle, ExecutableHandle, GraphHandle, NodeHandle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED};
use crate::machine::graph::{ConditionalNode, Executable, Graphs, Node, NodeWork};
use crate::machine::world::World;
use crate::memory::{MemoryOp, Side, SimAddress};

type Outcome = CUgraphInstantiateResult;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: u64 = 4;

/// The reason why a graph cannot be instantiated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flaw {
    pub(crate) code: CUresult,
    pub(crate) outcome: CUgraphInstantiateResult,
    /// The node that is the reason, if one is.
    pub(crate) node: Option<NodeHandle>,
    pub(crate) reason: &'static str,
}

impl Flaw {
    /// A flaw that no single node has.
    pub(crate) fn of_graph(code: CUresult, reason: &'static str) -> Self {
        Self { code, outcome: Outcome::CUDA_GRAPH_INSTANTIATE_ERROR, node: None, reason }
    }

    fn of_node(outcome: CUgraphInstantiateResult, node: NodeHandle, reason: &'static str) -> Self {
        Self { code: INVALID_VALUE, outcome, node: Some(node), reason }
    }

    fn operation(node: NodeHandle, reason: &'static str) -> Self {
        Self::of_node(Outcome::CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node, reason)
    }

    fn contexts(node: NodeHandle, reason: &'static str) -> Self {
        Self::of_node(Outcome::CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, node, reason)
    }
}

impl World {
    /// Refuses a graph that cannot be instantiated with these flags.
    pub(crate) fn check_structure(&self, graph: GraphHandle, flags: u64) -> Result<(), Flaw> {
        let graphs = &self.graphs;
        if graphs.is_inside_a_node(graph) {
            return Err(Flaw::of_graph(NOT_SUPPORTED, "the graph belongs to a node, and is launched with it"));
        }
        let all = graphs.all_in(graph);
        let conditions = all.iter().filter_map(|graph| graphs.graphs.get(*graph)).flat_map(|graph| &graph.conditions);
        if conditions.filter_map(|condition| graphs.conditions.get(*condition)).any(|found| found.node.is_none()) {
            let outcome = Outcome::CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
            let reason = "no conditional node depends on a condition of the graph";
            return Err(Flaw { outcome, ..Flaw::of_graph(INVALID_VALUE, reason) });
        }
        for graph in &all {
            for (_, node) in graphs.nodes_of(*graph) {
                if let NodeWork::Conditional(conditional) = &node.work {
                    self.check_bodies(conditional)?;
                }
            }
        }
        let has_conditions =
            all.iter().filter_map(|graph| graphs.graphs.get(*graph)).any(|found| !found.conditions.is_empty());
        if has_conditions && graphs.graphs.iter().any(|(_, copy)| copy.original == Some(graph)) {
            let reason = "a graph with conditions has no executable while there is a copy of it";
            return Err(Flaw::of_graph(NOT_SUPPORTED, reason));
        }
        let (mut others, with_memory) = (graphs.executables.iter(), graphs.with_memory_nodes(graph));
        let is_unique = !with_memory.is_empty() || has_conditions;
        let is_the_same = |other: &Executable| has_conditions && other.graph == graph;
        if is_unique && others.any(|(_, other)| is_the_same(other) || other.has_memory_of(&with_memory)) {
            let reason = "a graph with memory nodes or conditions has one executable at a time";
            return Err(Flaw::of_graph(NOT_SUPPORTED, reason));
        }
        for graph in &all {
            if let Some(node) = graphs.in_cycle(*graph) {
                let invalid = Outcome::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
                return Err(Flaw::of_node(invalid, node, "a node depends on itself, through others"));
            }
        }
        self.check_fills(&all)?;
        if flags & DEVICE_LAUNCH != 0 { self.check_device_launch(graph, &all) } else { Ok(()) }
    }

    /// Refuses fills of graph memory that no graph has any more.
    fn check_fills(&self, all: &[GraphHandle]) -> Result<(), Flaw> {
        for (handle, node) in all.iter().flat_map(|graph| self.graphs.nodes_of(*graph)) {
            if let NodeWork::Memory(memory) = &node.work
                && let [Some(to), None] = memory.op.addresses()
                && self.graphs.memory.is_abandoned(to)
            {
                let error = Outcome::CUDA_GRAPH_INSTANTIATE_ERROR;
                return Err(Flaw::of_node(error, handle, "no graph has the memory any more that the node fills"));
            }
        }
        Ok(())
    }

    /// Refuses nodes that the bodies of a conditional node cannot have. Inner conditional nodes are not
    /// entered.
    fn check_bodies(&self, conditional: &ConditionalNode) -> Result<(), Flaw> {
        let graphs = &self.graphs;
        let mut open = conditional.bodies.to_vec();
        while let Some(body) = open.pop() {
            for (handle, node) in graphs.nodes_of(body) {
                match &node.work {
                    NodeWork::Empty | NodeWork::Conditional(_) => {}
                    NodeWork::Child(inner) => open.push(*inner),
                    NodeWork::Kernel(kernel) if kernel.call.context == conditional.context => {}
                    NodeWork::Kernel(_) => {
                        return Err(Flaw::contexts(
                            handle,
                            "the kernel is of another context than its conditional node",
                        ));
                    }
                    NodeWork::Memory(memory) if self.is_reachable_by_device(&memory.op) => {}
                    NodeWork::Memory(_) => {
                        return Err(Flaw::contexts(handle, "the body of a conditional node copies pageable memory"));
                    }
                    NodeWork::Host(_)
                    | NodeWork::RecordEvent(_)
                    | NodeWork::WaitEvent(_)
                    | NodeWork::Values(_)
                    | NodeWork::Alloc(_)
                    | NodeWork::Free(_) => {
                        let reason = "the body of a conditional node has kernels, copies, fills and graphs only";
                        return Err(Flaw::operation(handle, reason));
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses graphs that a device could not launch.
    fn check_device_launch(&self, graph: GraphHandle, all: &[GraphHandle]) -> Result<(), Flaw> {
        let graphs = &self.graphs;
        if graphs.nodes_of(graph).next().is_none() {
            return Err(Flaw::of_graph(INVALID_VALUE, "a device launches graphs with at least one node"));
        }
        let mut context: Option<ContextHandle> = None;
        for (handle, node) in all.iter().flat_map(|graph| graphs.nodes_of(*graph)) {
            let own = match &node.work {
                NodeWork::Kernel(kernel) => kernel.call.context,
                NodeWork::Memory(memory) => memory.context,
                NodeWork::Child(_) => continue,
                _ => {
                    let reason = "a graph that a device launches has kernels, copies, fills and graphs only";
                    return Err(Flaw::operation(handle, reason));
                }
            };
            if *context.get_or_insert(own) != own {
                return Err(Flaw::contexts(handle, "a graph that a device launches is of one context"));
            }
        }
        Ok(())
    }

    /// `true` if an operation touches no pageable memory.
    fn is_reachable_by_device(&self, op: &MemoryOp) -> bool {
        let known =
            |place: &SimAddress| place.side() != Side::Host || self.memory.containing(place.address()).is_some();
        match op {
            MemoryOp::Copy { to, from, .. } => known(to) && known(from),
            MemoryOp::CopyBlock(block) => known(&block.to) && known(&block.from),
            _ => true,
        }
    }
}

impl Graphs {
    /// `true` if a graph has memory nodes, or a child graph in it has.
    pub(crate) fn is_of_memory(&self, graph: GraphHandle) -> bool {
        self.graphs.get(graph).is_some_and(|graph| graph.is_of_memory)
    }

    /// The graphs with memory nodes of their own, of a graph and those inside it.
    pub(crate) fn with_memory_nodes(&self, graph: GraphHandle) -> Vec<GraphHandle> {
        let all = if self.is_of_memory(graph) { self.all_in(graph) } else { Vec::new() };
        let has_nodes = |graph: &GraphHandle| self.nodes_of(*graph).any(|(_, node)| node.work.is_of_memory());
        all.into_iter().filter(has_nodes).collect()
    }

    /// `true` if an executable has memory nodes of a graph itself.
    pub(crate) fn has_executable(&self, graph: GraphHandle) -> bool {
        self.is_of_memory(graph) && self.executables.iter().any(|(_, other)| other.has_memory_of(&[graph]))
    }

    /// `true` if an executable, other than a known one, has memory nodes of a graph; those of graphs inside it count
    /// if it has none itself.
    pub(crate) fn has_other_executable(&self, graph: GraphHandle, known: ExecutableHandle) -> bool {
        let all = self.with_memory_nodes(graph);
        let counted = if all.contains(&graph) { vec![graph] } else { all };
        let mut others = self.executables.iter().filter(|(other, _)| *other != known);
        !counted.is_empty() && others.any(|(_, other)| other.has_memory_of(&counted))
    }

    /// A node of a graph that depends on itself, directly or through others.
    fn in_cycle(&self, graph: GraphHandle) -> Option<NodeHandle> {
        let id = |node: NodeHandle| self.nodes.get(node).map_or(0, |before| before.local_id);
        let is_sorted = |node: &Node| node.dependencies.iter().all(|edge| id(edge.node) < node.local_id);
        // Edges that follow the order of addition form no cycle.
        if self.nodes_of(graph).all(|(_, node)| is_sorted(node)) {
            return None;
        }
        let mut waiting: HashMap<NodeHandle, usize> = HashMap::new();
        let mut open = Vec::new();
        for (handle, node) in self.nodes_of(graph) {
            match node.dependencies.len() {
                0 => open.push(handle),
                count => drop(waiting.insert(handle, count)),
            }
        }
        while let Some(handle) = open.pop() {
            for after in self.nodes.get(handle).into_iter().flat_map(|node| &node.dependents) {
                if let Some(count) = waiting.get_mut(after) {
                    *count -= 1;
                    if *count == 0 {
                        waiting.remove(after);
                        open.push(*after);
                    }
                }
            }
        }
        // A node that waits depends on one that waits; going back long enough ends in a cycle.
        let mut node = waiting.keys().min().copied()?;
        for _ in 0..waiting.len() {
            let before = self.nodes.get(node)?.dependencies.iter().map(|edge| edge.node);
            node = before.into_iter().find(|before| waiting.contains_key(before))?;
        }
        Some(node)
    }
}
