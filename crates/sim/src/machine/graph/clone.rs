//! Copies of graphs.

use std::collections::HashMap;

use super::{Edge, Edges, Graphs, Node, NodeWork};
use crate::ffi::handle::{GraphHandle, NodeHandle};

impl Graphs {
    /// `true` if a graph, or a graph inside it, has a node that matches.
    pub(crate) fn has_inside(&self, graph: GraphHandle, matches: impl Fn(&NodeWork) -> bool) -> bool {
        self.all_in(graph).into_iter().any(|graph| self.nodes_of(graph).any(|(_, node)| matches(&node.work)))
    }

    /// `true` if a graph is a body of a conditional node.
    pub(crate) fn is_body(&self, graph: GraphHandle) -> bool {
        self.owner_of(graph).is_some_and(|owner| matches!(owner.work, NodeWork::Conditional(_)))
    }

    /// `true` if a graph is that of a child graph node.
    pub(crate) fn is_child(&self, graph: GraphHandle) -> bool {
        self.owner_of(graph).is_some_and(|owner| matches!(owner.work, NodeWork::Child(_)))
    }

    /// `true` if a graph is the body of a conditional node, or that of a child graph node.
    pub(crate) fn is_inside_a_node(&self, graph: GraphHandle) -> bool {
        self.graphs.get(graph).is_some_and(|graph| graph.owner.is_some())
    }

    /// The node that a graph belongs to, if it belongs to one.
    fn owner_of(&self, graph: GraphHandle) -> Option<&Node> {
        self.nodes.get(self.graphs.get(graph)?.owner?)
    }

    /// `true` if a graph is another one, or inside it.
    pub(crate) fn is_within(&self, inner: GraphHandle, outer: GraphHandle) -> bool {
        let mut graph = inner;
        while graph != outer {
            let Some(owner) = self.owner_of(graph) else { return false };
            graph = owner.graph;
        }
        true
    }

    /// A copy of a graph and of the graphs in its child nodes, with their references to user objects. `None`
    /// if all handles are used; then there is no copy of a part either.
    pub(crate) fn copy(&mut self, graph: GraphHandle) -> Option<GraphHandle> {
        let copy = self.create(false, None)?;
        if self.copy_into(graph, copy).is_none() {
            let (_, references) = self.remove(copy);
            // The original refers to each of them, too, so that none ends.
            drop(self.release_references(&references));
            return None;
        }
        self.graphs.get_mut(copy)?.original = Some(graph);
        Some(copy)
    }

    fn copy_into(&mut self, graph: GraphHandle, copy: GraphHandle) -> Option<()> {
        let nodes: Vec<NodeHandle> = self.graphs.get(graph)?.nodes().collect();
        let mut copies: HashMap<NodeHandle, NodeHandle> = HashMap::with_capacity(nodes.len());
        for original in &nodes {
            let node = self.nodes.get(*original)?;
            let local_id = node.local_id;
            let work = match node.work.clone() {
                NodeWork::Child(inner) => NodeWork::Child(self.copy(inner)?),
                work => work,
            };
            copies.insert(*original, self.add_as(local_id, copy, Edges::new(), work)?);
        }
        self.graphs.get_mut(copy)?.next_local_id = self.graphs.get(graph)?.next_local_id;
        for original in &nodes {
            let node = self.nodes.get(*original)?;
            let edges = node.dependencies.iter();
            let edges: Edges =
                edges.filter_map(|edge| Some(Edge { node: *copies.get(&edge.node)?, data: edge.data })).collect();
            let copied = *copies.get(original)?;
            edges.into_iter().for_each(|edge| self.connect(edge, copied));
        }
        // The copy has its ends in the same order, and its roots in that of the nodes.
        let ends = self.ends(graph);
        if !ends.is_sorted_by_key(|end| self.nodes.get(*end).map(|node| node.local_id)) {
            ends.iter().filter_map(|end| copies.get(end)).for_each(|end| self.return_end(*end));
        }
        let references: Vec<_> =
            self.graphs.get(graph)?.user_objects.iter().map(|(object, count)| (*object, *count)).collect();
        self.retain_references(&references);
        let found = self.graphs.get_mut(copy)?;
        found.user_objects = references.into_iter().collect();
        found.copies = copies;
        Some(())
    }
}
