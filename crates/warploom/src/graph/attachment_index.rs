//! Attachments of a graph, by node.
//!
//! Programs add many nodes and look few of them up. So the attachment of a new node goes to the end of a
//! list, and the list into a map when a node is looked up.

use super::attachment::Attachment;
use super::raw::{NodeMap, RawNode};

/// The attachments of a graph's nodes.
#[derive(Default)]
pub(super) struct AttachmentIndex {
    by_node: NodeMap<Attachment>,
    /// Attachments of nodes that were added since the last look-up. None of the nodes is in the map.
    added: Vec<(RawNode, Attachment)>,
}

impl AttachmentIndex {
    /// Makes room for one more, so that [`AttachmentIndex::add`] takes no memory.
    #[inline]
    pub(super) fn reserve(&mut self) {
        self.added.reserve(1);
    }

    /// Adds the attachment of a node that has none.
    #[inline]
    pub(super) fn add(&mut self, node: RawNode, attachment: Attachment) {
        self.added.push((node, attachment));
    }

    /// Puts an attachment in place of the one that the node has, which is returned.
    pub(super) fn replace(&mut self, node: RawNode, attachment: Attachment) -> Option<Attachment> {
        let replaced = self.remove(node);
        self.add(node, attachment);
        replaced
    }

    pub(super) fn remove(&mut self, node: RawNode) -> Option<Attachment> {
        self.by_node().remove(&node)
    }

    pub(super) fn get(&mut self, node: RawNode) -> Option<&Attachment> {
        self.by_node().get(&node)
    }

    /// All attachments, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RawNode, &Attachment)> {
        let added = self.added.iter().map(|(node, attachment)| (*node, attachment));
        self.by_node.iter().map(|(node, attachment)| (*node, attachment)).chain(added)
    }

    /// The map, with all attachments.
    fn by_node(&mut self) -> &mut NodeMap<Attachment> {
        self.by_node.extend(self.added.drain(..));
        &mut self.by_node
    }
}
