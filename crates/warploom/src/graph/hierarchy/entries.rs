//! The graphs of a hierarchy, each with what is known of it.

use std::cell::OnceCell;

use warploom_driver::sys::types::{CUgraph, CUgraph_st};

use super::conditionals::{Conditional, ReadConditions};
use crate::Context;
use crate::graph::owners::Owners;
use crate::graph::raw::{NodeMap, RawNode};
use crate::handle::Handle;

/// A graph of a hierarchy. The root is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GraphId {
    place: u32,
    /// The number of graphs that have had the place before.
    generation: u32,
}

impl GraphId {
    pub(in crate::graph) const ROOT: GraphId = GraphId { place: 0, generation: 0 };
}

/// All graphs of a hierarchy.
pub(super) struct Entries {
    list: Vec<Entry>,
    /// Places whose graphs are gone.
    free: Vec<u32>,
    /// The entry that stands for all graphs that are gone.
    gone: OnceCell<Box<Entry>>,
    /// An entry for changes of graphs that are gone.
    lost: Option<Box<Entry>>,
}

impl Entries {
    /// One graph, the root.
    pub(super) fn new(root: CUgraph) -> Entries {
        Entries { list: vec![Entry::new(root)], free: Vec::new(), gone: OnceCell::new(), lost: None }
    }

    /// A graph; if it is gone, an entry that says so.
    #[inline]
    pub(super) fn get(&self, id: GraphId) -> &Entry {
        let entry = &self.list[id.place as usize];
        if entry.generation == id.generation { entry } else { self.gone() }
    }

    /// A graph, to be changed. Changes of one that is gone are lost.
    #[inline]
    pub(super) fn get_mut(&mut self, id: GraphId) -> &mut Entry {
        if self.list[id.place as usize].generation == id.generation {
            return &mut self.list[id.place as usize];
        }
        self.lost()
    }

    #[cold]
    fn gone(&self) -> &Entry {
        self.gone.get_or_init(|| Box::new(Entry::gone(0)))
    }

    #[cold]
    fn lost(&mut self) -> &mut Entry {
        self.lost.insert(Box::new(Entry::gone(0)))
    }

    /// The number of places, also those whose graphs are gone.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    /// Adds a graph.
    pub(super) fn add(&mut self, entry: Entry) -> GraphId {
        if let Some(place) = self.free.pop() {
            let generation = self.list[place as usize].generation;
            self.list[place as usize] = Entry { generation, ..entry };
            return GraphId { place, generation };
        }
        // No process has as many graphs.
        let place = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(entry);
        GraphId { place, generation: 0 }
    }

    /// Forgets a graph. Its place is given to the next one, unless it is the root.
    pub(super) fn remove(&mut self, id: GraphId) {
        let entry = &mut self.list[id.place as usize];
        if entry.generation != id.generation {
            return;
        }
        let next = if id == GraphId::ROOT { Some(0) } else { id.generation.checked_add(1) };
        *entry = Entry::gone(next.unwrap_or(id.generation));
        if id != GraphId::ROOT && next.is_some() {
            self.free.push(id.place);
        }
    }
}

/// One graph.
pub(in crate::graph) struct Entry {
    /// `None` for a graph that is destroyed.
    pub(in crate::graph) raw: Option<Handle<CUgraph_st>>,
    pub(super) destroyed: NodeMap<u64>,
    /// Of the ids that name it.
    generation: u32,
    pub(in crate::graph) owners: Owners,
    /// The graphs inside of a node, in their order.
    pub(in crate::graph) inside: NodeMap<Vec<GraphId>>,
    /// `true` while a stream is captured into it: then the driver destroys no node, and what the nodes use is
    /// not attached yet.
    pub(super) is_captured: bool,
    /// Nodes that are destroyed when the capture ends.
    pub(super) unwanted: Vec<RawNode>,
    /// The memory and conditional nodes that were added here, which a copy of the graph cannot have.
    pub(super) uncopyable: NodeMap<&'static str>,
    /// `true` if captured nodes that are not known copy values with padding.
    pub(in crate::graph) has_padded_copies: bool,
    /// `true` if it has a condition, or is the body of a conditional node: then it cannot be copied, either.
    pub(super) is_conditional: bool,
    /// The contexts of nodes that were captured on a stream of another context, or copied from a graph of one, where
    /// their owners do not tell.
    pub(super) contexts: NodeMap<Context>,
    /// The conditional nodes that were added here.
    pub(super) conditionals: NodeMap<Conditional>,
    /// The conditions of this graph that conditional nodes read, here or below.
    pub(super) read: ReadConditions,
    /// Child nodes whose graphs have owners that are not known here, since the driver did not name their nodes.
    pub(super) unknown_children: NodeMap<()>,
}

impl Entry {
    pub(super) fn new(raw: CUgraph) -> Entry {
        Entry { raw: Some(Handle::new(raw)), ..Entry::gone(0) }
    }

    /// The entry of a graph that is destroyed.
    fn gone(generation: u32) -> Entry {
        Entry {
            raw: None,
            generation,
            owners: Owners::default(),
            inside: NodeMap::default(),
            destroyed: NodeMap::default(),
            is_captured: false,
            unwanted: Vec::new(),
            uncopyable: NodeMap::default(),
            has_padded_copies: false,
            is_conditional: false,
            contexts: NodeMap::default(),
            conditionals: NodeMap::default(),
            read: ReadConditions::default(),
            unknown_children: NodeMap::default(),
        }
    }

    #[inline]
    pub(super) fn incarnation(&self, node: RawNode) -> u64 {
        if self.destroyed.is_empty() { 0 } else { self.incarnation_after(node) }
    }

    /// As [`Entry::incarnation`], once nodes were destroyed.
    #[cold]
    fn incarnation_after(&self, node: RawNode) -> u64 {
        self.destroyed.get(&node).copied().unwrap_or(0)
    }
}
