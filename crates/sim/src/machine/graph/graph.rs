//! A graph: its list of nodes, and its place among the others.

use litemap::LiteMap;
use std::collections::HashMap;
use std::sync::Arc;

use warploom_engine::Epoch;

use super::order::{Returned, taken_apart};
use super::{Edges, Graphs, Node, NodeWork};
use crate::ffi::handle::{ConditionHandle, GraphHandle, NodeHandle, UserObjectHandle, kind};
use crate::machine::objects::Object;
use crate::memory::shadow::{NodeSite, Site, current_site};

/// The nodes of a graph and their edges.
pub(crate) struct Graph {
    /// Its id on the machine.
    pub(crate) id: u32,
    /// In the order they were added; the places of destroyed nodes stay empty for a while.
    nodes: Vec<Option<NodeHandle>>,
    /// The number of empty places.
    empty: usize,
    pub(super) next_local_id: u32,
    pub(super) returned: Returned,
    /// It belongs to a capture in progress, and not to the program.
    pub(crate) is_captured: bool,
    /// The child or conditional node that the graph belongs to, if it belongs to one.
    pub(crate) owner: Option<NodeHandle>,
    /// References to user objects, with their number.
    pub(crate) user_objects: LiteMap<UserObjectHandle, u32>,
    /// The conditions that were created for it.
    pub(crate) conditions: Vec<ConditionHandle>,
    /// The nodes of the graph that it is a copy of, each with its copy here.
    pub(crate) copies: HashMap<NodeHandle, NodeHandle>,
    /// The graph that it is a copy of, which may be gone.
    pub(crate) original: Option<GraphHandle>,
    /// `true` from the first allocation or free node on, also if that could not be added, and from the first child
    /// graph on for which it was `true`.
    pub(crate) is_of_memory: bool,
    /// The newest call that changed it, and its step of a host thread's timeline, while the machine checks.
    pub(crate) changed: Option<Box<(Epoch, Site)>>,
}

impl Object for Graph {
    type Kind = kind::Graph;
}

impl Graph {
    /// The nodes, in the order they were added.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeHandle> {
        self.nodes.iter().copied().flatten()
    }

    /// `true` if the program has to destroy it.
    pub(crate) fn is_the_programs(&self) -> bool {
        !self.is_captured && self.owner.is_none()
    }
}

impl Graphs {
    /// A new graph without nodes; `None` if all handles are used.
    pub(crate) fn create(&mut self, is_captured: bool, owner: Option<NodeHandle>) -> Option<GraphHandle> {
        let graph = Graph {
            id: self.next_id(),
            nodes: Vec::new(),
            empty: 0,
            next_local_id: 0,
            returned: Returned::default(),
            is_captured,
            owner,
            user_objects: LiteMap::new(),
            conditions: Vec::new(),
            copies: HashMap::new(),
            original: None,
            is_of_memory: false,
            changed: None,
        };
        self.graphs.insert(graph)
    }

    /// Adds a node that depends on others of the same graph. The dependencies are different nodes.
    pub(crate) fn add(&mut self, graph: GraphHandle, dependencies: Edges, work: NodeWork) -> Option<NodeHandle> {
        let local_id = self.graphs.get(graph)?.next_local_id;
        self.add_as(local_id, graph, dependencies, work)
    }

    /// As [`Graphs::add`], with a number that no node of the graph has had.
    pub(super) fn add_as(
        &mut self,
        local_id: u32,
        graph: GraphHandle,
        dependencies: Edges,
        work: NodeWork,
    ) -> Option<NodeHandle> {
        let found = self.graphs.get(graph)?;
        let place = u32::try_from(found.nodes.len()).ok()?;
        let is_memory = work.is_of_memory() || self.has_memory_inside(&work);
        let (before, inner) = (dependencies.clone(), work.graphs().to_vec());
        let condition = match &work {
            NodeWork::Conditional(node) => Some(node.condition),
            _ => None,
        };
        let freed = match &work {
            NodeWork::Free(address) => Some(*address),
            _ => None,
        };
        let (id, kind) = (found.id, work.kind_name());
        let mut node = Node::new(graph, work, dependencies, local_id, place);
        node.site = current_site().map(|added| Arc::new(NodeSite { graph: id, node: local_id, kind, added }));
        let node = self.nodes.insert(node)?;
        for edge in before {
            if let Some(before) = self.nodes.get_mut(edge.node) {
                before.dependents.push(node);
            }
        }
        for inner in inner {
            self.graphs.get_mut(inner)?.owner = Some(node);
        }
        if let Some(condition) = condition.and_then(|condition| self.conditions.get_mut(condition)) {
            condition.node = Some(node);
        }
        if let Some(address) = freed {
            self.memory.note_free(address, graph, node);
        }
        let found = self.graphs.get_mut(graph)?;
        found.nodes.push(Some(node));
        found.next_local_id = local_id + 1;
        found.is_of_memory |= is_memory;
        Some(node)
    }

    /// `true` if a graph inside a node has memory nodes.
    fn has_memory_inside(&self, work: &NodeWork) -> bool {
        work.graphs().iter().any(|inner| self.graphs.get(*inner).is_some_and(|inner| inner.is_of_memory))
    }

    /// Gives a node other work of the same kind. Returns its work before.
    pub(crate) fn replace_work(&mut self, handle: NodeHandle, work: NodeWork) -> Option<NodeWork> {
        for inner in work.graphs() {
            self.graphs.get_mut(*inner)?.owner = Some(handle);
        }
        self.nodes.get_mut(handle).map(|node| std::mem::replace(&mut node.work, work))
    }

    /// Removes a node with its edges. Graphs inside it and addresses of its memory stay.
    pub(crate) fn remove_node(&mut self, handle: NodeHandle) -> Option<Node> {
        let node = self.nodes.remove(handle)?;
        for edge in taken_apart(&node.dependencies) {
            self.take_dependent(edge.node, handle);
        }
        for after in taken_apart(&node.dependents) {
            self.take_dependency(after, handle);
        }
        self.free_condition(&node.work);
        let graph = self.graphs.get_mut(node.graph)?;
        graph.returned.forget(handle);
        graph.nodes[node.place as usize] = None;
        graph.empty += 1;
        if graph.empty > graph.nodes.len() / 2 {
            graph.nodes.retain(Option::is_some);
            graph.empty = 0;
            for (place, moved) in graph.nodes.iter().flatten().enumerate() {
                if let Some(moved) = self.nodes.get_mut(*moved) {
                    moved.place = place as u32;
                }
            }
        }
        Some(node)
    }

    /// Lets another node depend on the condition of a node that is gone, if the condition is still there.
    fn free_condition(&mut self, work: &NodeWork) {
        if let NodeWork::Conditional(work) = work
            && let Some(condition) = self.conditions.get_mut(work.condition)
        {
            condition.node = None;
        }
    }

    /// `true` if a node belongs to a graph.
    pub(crate) fn is_in(&self, node: NodeHandle, graph: GraphHandle) -> bool {
        self.nodes.get(node).is_some_and(|node| node.graph == graph)
    }

    /// The nodes of a graph with their handles, in the order they were added.
    pub(crate) fn nodes_of(&self, graph: GraphHandle) -> impl Iterator<Item = (NodeHandle, &Node)> {
        let nodes = self.graphs.get(graph).into_iter().flat_map(Graph::nodes);
        nodes.filter_map(|handle| Some((handle, self.nodes.get(handle)?)))
    }

    /// The outermost graph that a graph is inside of; itself if it is in none, or gone.
    pub(crate) fn root_of(&self, mut graph: GraphHandle) -> GraphHandle {
        let outer = |graph| self.nodes.get(self.graphs.get(graph)?.owner?).map(|node| node.graph);
        while let Some(found) = outer(graph) {
            graph = found;
        }
        graph
    }

    /// A graph and all graphs inside it, each before those inside it.
    pub(crate) fn all_in(&self, graph: GraphHandle) -> Vec<GraphHandle> {
        let mut all = vec![graph];
        let mut next = 0;
        while let Some(outer) = all.get(next).copied() {
            let inner: Vec<_> = self.nodes_of(outer).flat_map(|(_, node)| node.work.graphs().to_vec()).collect();
            all.extend(inner);
            next += 1;
        }
        all
    }

    /// Removes a graph, the graphs inside it, and all their nodes and conditions. Returns the nodes' work,
    /// and the references to user objects.
    pub(crate) fn remove(&mut self, graph: GraphHandle) -> (Vec<NodeWork>, Vec<(UserObjectHandle, u32)>) {
        let (mut works, mut references) = (Vec::new(), Vec::new());
        for graph in self.all_in(graph) {
            let Some(found) = self.graphs.remove(graph) else { continue };
            references.extend(found.user_objects);
            for condition in found.conditions {
                self.conditions.remove(condition);
            }
            for node in found.nodes.into_iter().flatten() {
                if let Some(node) = self.nodes.remove(node) {
                    self.free_condition(&node.work);
                    works.push(node.work);
                }
            }
        }
        (works, references)
    }
}
