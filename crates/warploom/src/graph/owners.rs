//! Owners of a graph's nodes.
//!
//! A graph owns what its nodes refer to, a [`Bundle`] for each node, and releases it as any value in Rust does. Copies
//! that this crate makes (clones, children, executables) share the bundles, which are never changed.
//!
//! Other code can make copies that this crate does not see, as soon as it has a raw handle. From then on the graph
//! is *exposed*: the driver, too, keeps each bundle, by a user object, and copies take its references along.
//!
//! ```text
//!   prepare   room in the index
//!             exposed: cuUserObjectCreate          fails: nothing has changed
//!                      cuGraphRetainUserObject     fails: the object is released
//!   the node call                                  fails: withdraw, the object is released
//!   publish   the node has the bundle; the one before, with its object, is released
//! ```
//!
//! Each launch of an executable that refers to user objects takes a third longer, and a child would have references
//! that this crate does not know. So the objects of a graph are released before a call that copies it, and made again
//! after it: [`Locked::without_user_objects`].
#![expect(unsafe_code, reason = "attaches user objects to raw graphs")]

use std::mem::take;
use std::sync::Arc;

use super::bundle::Bundle;
use super::hierarchy::{GraphId, Locked};
use super::late_report::report_late;
use super::raw::{NodeMap, RawNode};
use super::user_object::UserObject;
use crate::diagnostics::Subject;
use crate::{Result, reclaimer};

/// The owners of one graph's nodes.
#[derive(Default)]
pub(super) struct Owners {
    of_nodes: NodeMap<Kept>,
    /// Those of no node, or of one that is not known.
    of_graph: Vec<Kept>,
}

/// A bundle that a graph keeps.
struct Kept {
    bundle: Arc<Bundle>,
    /// The user object that keeps it as well, if the graph is exposed.
    object: Option<UserObject>,
}

/// A bundle that is still to be published, if there is one.
#[must_use]
#[derive(Default)]
pub(super) struct Prepared(Option<Kept>);

impl Owners {
    pub(super) fn is_empty(&self) -> bool {
        self.of_nodes.is_empty() && self.of_graph.is_empty()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.of_nodes.values_mut().chain(&mut self.of_graph)
    }

    /// Calls with each bundle, and with the node that it belongs to.
    fn each(&self, mut see: impl FnMut(Option<RawNode>, &Arc<Bundle>)) {
        self.of_nodes.iter().for_each(|(node, kept)| see(Some(*node), &kept.bundle));
        self.of_graph.iter().for_each(|kept| see(None, &kept.bundle));
    }

    /// The same for a copy of the graph, whose nodes `find` names.
    fn try_copy(&self, mut find: impl FnMut(RawNode) -> Result<RawNode>) -> Result<Owners> {
        let copy = |kept: &Kept| Kept { bundle: Arc::clone(&kept.bundle), object: None };
        let of_nodes = self.of_nodes.iter().map(|(node, kept)| Ok((find(*node)?, copy(kept))));
        Ok(Owners { of_nodes: of_nodes.collect::<Result<_>>()?, of_graph: self.of_graph.iter().map(copy).collect() })
    }
}

impl Locked<'_> {
    /// Has the driver keep a bundle for a node that is still to be added or changed, if the graph is exposed. It is
    /// then published, or withdrawn.
    #[inline]
    pub(super) fn prepare(&mut self, id: GraphId, bundle: &mut Bundle) -> Result<Prepared> {
        if bundle.is_empty() {
            return Ok(Prepared(None));
        }
        self.entry_mut(id).owners.of_nodes.reserve(1);
        let bundle = Arc::new(take(bundle));
        let attached = if self.is_exposed() { self.attach_object(id, &bundle).map(Some) } else { Ok(None) };
        match attached {
            Ok(object) => Ok(Prepared(Some(Kept { bundle, object }))),
            Err(error) => {
                // Not dropped here: an owner's drop may come back to the graph, which is locked.
                reclaimer::defer(bundle);
                Err(error)
            }
        }
    }

    #[cold]
    fn attach_object(&self, id: GraphId, bundle: &Arc<Bundle>) -> Result<UserObject> {
        // SAFETY: a graph that has a handle is alive.
        unsafe { UserObject::new(self.driver(), self.graph(id)?, Arc::clone(bundle)) }
    }

    /// Gives a new node its owners.
    #[inline]
    pub(super) fn publish_new(&mut self, id: GraphId, node: RawNode, Prepared(kept): Prepared) {
        if let Some(kept) = kept {
            self.entry_mut(id).owners.of_nodes.insert(node, kept);
        }
    }

    /// Gives a node other owners, or none, and releases those before. The change has been made, so
    /// that a failure to release them is reported.
    pub(super) fn publish(&mut self, id: GraphId, node: RawNode, Prepared(kept): Prepared) {
        let nodes = &mut self.entry_mut(id).owners.of_nodes;
        let before = match kept {
            Some(kept) => nodes.insert(node, kept),
            None => nodes.remove(&node),
        };
        if let Some(before) = before {
            self.release(id, before);
        }
    }

    /// Releases owners that a node does not get.
    #[cold]
    pub(super) fn withdraw(&self, id: GraphId, Prepared(kept): Prepared) {
        if let Some(kept) = kept {
            self.release(id, kept);
        }
    }

    /// Keeps a bundle for as long as the graph, under no node.
    pub(super) fn publish_unknown(&mut self, id: GraphId, Prepared(kept): Prepared) {
        self.entry_mut(id).owners.of_graph.extend(kept);
    }

    fn release(&self, id: GraphId, Kept { bundle, object }: Kept) {
        // Not dropped here: an owner's drop may come back to the graph, which is locked.
        Arc::into_inner(bundle).into_iter().for_each(reclaimer::defer);
        if let Some(object) = object {
            report_late(|| Subject::GraphOwners, self.release_object(id, object));
        }
    }

    fn release_object(&self, id: GraphId, object: UserObject) -> Result<()> {
        // SAFETY: a graph that has a handle is alive, and retains the objects of its owners.
        self.graph(id).and_then(|graph| unsafe { object.release(self.driver(), graph) })
    }

    /// Has the driver keep all owners from now on, since other code gets a handle of the hierarchy and may copy its
    /// graphs.
    ///
    /// # Errors
    ///
    /// The driver's error; then other code must not get the handle.
    pub(super) fn expose(&mut self) -> Result<()> {
        self.attach_objects(GraphId::ROOT)?;
        self.set_exposed();
        Ok(())
    }

    /// Makes the user objects that a graph and all below lack.
    fn attach_objects(&mut self, id: GraphId) -> Result<()> {
        let driver = self.driver();
        for id in self.from(id) {
            let graph = self.graph(id)?;
            for kept in self.entry_mut(id).owners.all_mut().filter(|kept| kept.object.is_none()) {
                // SAFETY: a graph that has a handle is alive.
                kept.object = Some(unsafe { UserObject::new(driver, graph, Arc::clone(&kept.bundle)) }?);
            }
        }
        Ok(())
    }

    /// Makes a call that copies a graph, while it and all below have no user objects, so that the copy gets none.
    ///
    /// A failure to release them, or to make them again, is reported: the call does not depend on it. Those that could
    /// not be made are tried again with the next call, or with the next handle that is given out.
    pub(super) fn without_user_objects<R>(&mut self, id: GraphId, call: impl FnOnce() -> R) -> R {
        if !self.is_exposed() {
            return call();
        }
        for id in self.from(id) {
            let objects: Vec<_> = self.entry_mut(id).owners.all_mut().filter_map(|kept| kept.object.take()).collect();
            for object in objects {
                report_late(|| Subject::GraphOwners, self.release_object(id, object));
            }
        }
        let result = call();
        report_late(|| Subject::GraphOwners, self.attach_objects(id));
        result
    }

    /// Gives a graph, which the driver has copied from another, that one's owners, for the nodes that `find` names.
    pub(super) fn adopt(
        &mut self,
        copy: GraphId,
        (from, source): (&Locked<'_>, GraphId),
        find: impl FnMut(RawNode) -> Result<RawNode>,
    ) -> Result<()> {
        let owners = from.entry(source).owners.try_copy(find)?;
        let has_padded_copies = from.entry(source).has_padded_copies;
        let entry = self.entry_mut(copy);
        (entry.owners, entry.has_padded_copies) = (owners, has_padded_copies);
        if self.is_exposed() { self.attach_objects(copy) } else { Ok(()) }
    }

    /// The owners of a node's parameters.
    #[inline]
    pub(super) fn bundle(&self, id: GraphId, node: RawNode) -> Option<&Bundle> {
        self.entry(id).owners.of_nodes.get(&node).map(|kept| &*kept.bundle)
    }

    /// Calls with the bundles of a graph and of all graphs below, and with the node that each belongs to.
    pub(super) fn each_bundle(&self, id: GraphId, see: &mut impl FnMut(GraphId, Option<RawNode>, &Arc<Bundle>)) {
        self.entry(id).owners.each(|node, bundle| see(id, node, bundle));
        for inside in self.entry(id).inside.values().flatten() {
            self.each_bundle(*inside, see);
        }
    }
}
