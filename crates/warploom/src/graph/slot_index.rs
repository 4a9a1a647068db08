//! Slots of a graph's nodes.
//!
//! Programs add many nodes and look few of them up. So the slot of a new node goes to the end of a list, and
//! the list into a map when a node is looked up.

use super::raw::{NodeMap, RawNode};

/// The place of a node's bundle: an attachment of the graph, and an index in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) attachment: u32,
    pub(super) index: u32,
}

/// The slots of a graph's nodes.
#[derive(Default)]
pub(super) struct SlotIndex {
    by_node: NodeMap<Slot>,
    /// Slots of nodes that were added since the last look-up. None of the nodes is in the map.
    added: Vec<(RawNode, Slot)>,
}

impl SlotIndex {
    /// Makes room for one more, so that [`SlotIndex::add`] takes no memory.
    #[inline]
    pub(super) fn reserve(&mut self) {
        self.added.reserve(1);
    }

    /// Adds the slot of a node that has none.
    #[inline]
    pub(super) fn add(&mut self, node: RawNode, slot: Slot) {
        self.added.push((node, slot));
    }

    pub(super) fn remove(&mut self, node: RawNode) {
        self.by_node().remove(&node);
    }

    pub(super) fn get(&mut self, node: RawNode) -> Option<Slot> {
        self.by_node().get(&node).copied()
    }

    /// All slots, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RawNode, Slot)> {
        let indexed = self.by_node.iter().map(|(node, slot)| (*node, *slot));
        indexed.chain(self.added.iter().copied())
    }

    /// The map, with all slots.
    fn by_node(&mut self) -> &mut NodeMap<Slot> {
        self.by_node.extend(self.added.drain(..));
        &mut self.by_node
    }
}
