//! The order of a graph's roots and ends: of nodes without dependencies, and of nodes that nothing depends on.
//!
//! A driver keeps both in lists. A new node is the newest of them, and a node that loses its last edge is so again.
//! Roots are shown from the newest on, and updates of executables compare ends from the newest on.

use std::collections::HashMap;

use super::{Edge, Graphs, Node};
use crate::ffi::handle::{GraphHandle, NodeHandle};

/// A point in the life of a graph; later ones are greater.
type Turn = u64;

/// The nodes that became a root or an end again behind their addition.
#[derive(Default)]
pub(super) struct Returned {
    roots: HashMap<NodeHandle, Turn>,
    ends: HashMap<NodeHandle, Turn>,
    count: u32,
}

impl Returned {
    /// The present turn: behind the addition of all nodes there are, and before that of the next one.
    fn next(&mut self, next_local_id: u32) -> Turn {
        self.count += 1;
        Turn::from(next_local_id) << 32 | Turn::from(self.count - 1)
    }

    /// Forgets a node that is gone.
    pub(super) fn forget(&mut self, node: NodeHandle) {
        self.roots.remove(&node);
        self.ends.remove(&node);
    }
}

/// The turn of a node's addition: the last one before the next node's.
fn added(node: &Node) -> Turn {
    Turn::from(node.local_id) << 32 | Turn::from(u32::MAX)
}

/// The order in which a driver takes a list apart that it removes from the front, where each removal puts the last
/// element in the place of the removed one.
pub(super) fn taken_apart<T: Copy>(list: &[T]) -> impl Iterator<Item = T> {
    let (first, rest) = list.split_at(list.len().min(1));
    first.iter().chain(rest.iter().rev()).copied()
}

impl Graphs {
    /// The nodes without dependencies, from the newest on.
    pub(crate) fn roots(&self, graph: GraphHandle) -> Vec<NodeHandle> {
        let is_root = |node: &Node| node.dependencies.is_empty();
        let mut roots = self.in_turn(graph, is_root, |returned| &returned.roots);
        roots.reverse();
        roots
    }

    /// The nodes that no other depends on, up to the newest.
    pub(crate) fn ends(&self, graph: GraphHandle) -> Vec<NodeHandle> {
        self.in_turn(graph, |node| node.dependents.is_empty(), |returned| &returned.ends)
    }

    fn in_turn(
        &self,
        graph: GraphHandle,
        is_meant: impl Fn(&Node) -> bool,
        turns: impl Fn(&Returned) -> &HashMap<NodeHandle, Turn>,
    ) -> Vec<NodeHandle> {
        let Some(turns) = self.graphs.get(graph).map(|graph| turns(&graph.returned)) else { return Vec::new() };
        let found = self.nodes_of(graph).filter(|(_, node)| is_meant(node));
        if turns.is_empty() {
            return found.map(|(handle, _)| handle).collect();
        }
        let turn = |handle, node| turns.get(&handle).copied().unwrap_or_else(|| added(node));
        let mut found: Vec<_> = found.map(|(handle, node)| (turn(handle, node), handle)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, handle)| handle).collect()
    }

    /// Makes a node the newest root if it has no dependencies.
    pub(super) fn return_root(&mut self, handle: NodeHandle) {
        let Some(node) = self.nodes.get(handle).filter(|node| node.dependencies.is_empty()) else { return };
        if let Some(graph) = self.graphs.get_mut(node.graph) {
            let turn = graph.returned.next(graph.next_local_id);
            graph.returned.roots.insert(handle, turn);
        }
    }

    /// Makes a node the newest end if nothing depends on it.
    pub(crate) fn return_end(&mut self, handle: NodeHandle) {
        let Some(node) = self.nodes.get(handle).filter(|node| node.dependents.is_empty()) else { return };
        if let Some(graph) = self.graphs.get_mut(node.graph) {
            let turn = graph.returned.next(graph.next_local_id);
            graph.returned.ends.insert(handle, turn);
        }
    }

    /// A node that was to depend on others is not added to a graph after all: of these, ends are ends again. The node
    /// has had a number.
    pub(crate) fn give_up(&mut self, graph: GraphHandle, edges: &[Edge]) {
        taken_apart(edges).for_each(|edge| self.return_end(edge.node));
        if let Some(graph) = self.graphs.get_mut(graph) {
            graph.next_local_id += 1;
        }
    }
}
