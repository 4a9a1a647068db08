//! Owners of a hierarchy's nodes: attached, indexed and released under its lock.
#![expect(unsafe_code, reason = "changes attachments of raw graphs")]

use super::attachment::Passing;
use super::attachments::{Change, Prepared, Target};
use super::bundle::Bundle;
use super::hierarchy::{GraphId, Locked};
use super::raw::RawNode;
use crate::Result;

impl<'h> Locked<'h> {
    #[inline]
    fn target(&self, id: GraphId) -> Result<Target<'h>> {
        Ok(Target { driver: self.driver(), graph: self.graph(id)? })
    }

    /// Attaches the owners of a node that is still to be added, which are taken. It is then published, or
    /// discarded.
    ///
    /// Bundles are large, and most of the time of a node without owners would be spent on passing an empty one
    /// by value.
    #[inline]
    pub(super) fn prepare(&mut self, id: GraphId, bundle: &mut Bundle) -> Result<Prepared> {
        if bundle.is_empty() {
            return Ok(Prepared::NONE);
        }
        let target = self.target(id)?;
        // SAFETY: the graph is alive, and the attachments are its own.
        unsafe { self.entry_mut(id).attachments.prepare(target, std::mem::take(bundle)) }
    }

    /// Indexes the owners of a new node.
    #[inline]
    pub(super) fn publish_new(&mut self, id: GraphId, node: RawNode, prepared: Prepared) {
        self.entry_mut(id).attachments.publish_new(node, prepared);
    }

    /// Releases the owners of a node that could not be added.
    pub(super) fn discard(&mut self, id: GraphId, prepared: Prepared) {
        if let Ok(target) = self.target(id) {
            // SAFETY: as for `prepare`.
            unsafe { self.entry_mut(id).attachments.discard(target, prepared) };
        }
    }

    /// Attaches the owners of a node that is still to be changed or, with none, to be destroyed. They are
    /// then published, or discarded.
    pub(super) fn prepare_change(&mut self, id: GraphId, node: RawNode, bundle: Bundle) -> Result<Change> {
        let target = self.target(id)?;
        // SAFETY: as for `prepare`.
        unsafe { self.entry_mut(id).attachments.prepare_change(target, node, bundle) }
    }

    /// Indexes the owners of a node that was changed or destroyed, and releases those before.
    pub(super) fn publish(&mut self, id: GraphId, change: Change) -> Result<()> {
        let target = self.target(id)?;
        // SAFETY: as for `prepare`.
        unsafe { self.entry_mut(id).attachments.publish(target, change) }
    }

    /// Releases the owners of a node that could not be changed.
    pub(super) fn discard_change(&mut self, id: GraphId, change: Change) {
        if let Ok(target) = self.target(id) {
            // SAFETY: as for `prepare`.
            unsafe { self.entry_mut(id).attachments.discard_change(target, change) };
        }
    }

    /// Attaches owners to a graph for as long as the result exists, for copies of the graph to have.
    pub(super) fn pass(&mut self, id: GraphId, bundle: Bundle) -> Result<Passing<'h>> {
        let Target { driver, graph } = self.target(id)?;
        // SAFETY: the graph is alive, and stays so while the lock is held, which outlives the value.
        unsafe { Passing::new(driver, graph, bundle) }
    }

    /// Records that a graph and all below are about to be copied: the copies share their attachments.
    pub(super) fn share(&mut self, id: GraphId) {
        for id in self.from(id) {
            self.entry_mut(id).attachments.share();
        }
    }

    /// Takes the attachments of a graph, of which this one is a copy that the driver has made, with the nodes
    /// that `find` names.
    pub(super) fn adopt(
        &mut self,
        copy: GraphId,
        (from, source): (&Locked<'_>, GraphId),
        find: impl FnMut(RawNode) -> Result<RawNode>,
    ) -> Result<()> {
        let is_exposed = self.is_exposed();
        let mut attachments = from.entry(source).attachments.try_copy(find)?;
        if is_exposed {
            attachments.expose();
        }
        let has_padded_copies = from.entry(source).has_padded_copies;
        let entry = self.entry_mut(copy);
        (entry.attachments, entry.has_padded_copies) = (attachments, has_padded_copies);
        Ok(())
    }

    /// The owners of a node's parameters.
    pub(super) fn bundle(&mut self, id: GraphId, node: RawNode) -> Option<&Bundle> {
        let entry = self.entry_mut(id);
        entry.raw.as_ref()?;
        // SAFETY: the graph is alive.
        unsafe { entry.attachments.bundle(node) }
    }

    /// Calls with the bundles of a graph and of all graphs below.
    pub(super) fn each_bundle(&self, id: GraphId, see: &mut impl FnMut(&Bundle)) {
        let entry = self.entry(id);
        if entry.raw.is_some() {
            // SAFETY: the graph is alive.
            unsafe { entry.attachments.each_bundle(see) };
        }
        for inside in entry.inside.values().flatten() {
            self.each_bundle(*inside, see);
        }
    }
}
