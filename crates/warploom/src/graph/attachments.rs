//! The attachments of a graph, and the slots of its nodes in them.
//!
//! Bundles of nodes that are added one after another share an attachment, so that most additions make no user
//! object. A bundle is attached *before* its node is added or changed, so that a failure leaves nothing to
//! undo in the graph:
//!
//! ```text
//!   prepare   room in an attachment that is the graph's alone    no driver call
//!             otherwise cuUserObjectCreate                       fails: the bundle is released
//!                       cuGraphRetainUserObject                  fails: the object is released
//!   the node call                                                fails: discard, the bundle is released
//!   publish   the index has the node's slot; the bundle before, if there was one, is released
//! ```
//!
//! A copy of the graph (a clone, an embedded copy, an executable) shares the attachments that there are. These
//! never change again: nodes that are added later have another one, and a node whose bundle is in one gets a
//! new attachment for it and for the bundles beside it. So copies keep what they refer to, and this graph
//! lets go of the rest.
#![expect(unsafe_code, reason = "changes lists that user objects keep")]

use warploom_driver::sys::types::CUgraph;

use super::attachment::Attachment;
use super::bundle::Bundle;
use super::late_report::report_late;
use super::raw::RawNode;
use super::slot_index::{Slot, SlotIndex};
use crate::diagnostics::Subject;
use crate::{Driver, Result, reclaimer};

/// The bundles of the first attachment; each further one has room for twice as many, up to [`MOST`].
const FIRST: usize = 4;
/// The most bundles of an attachment. As many are copied, at most, when a shared one changes.
const MOST: usize = 64;

/// The attachments of one graph.
#[derive(Default)]
pub(super) struct Attachments {
    /// `None` for one that was released. Each of the others has a bundle that is not empty.
    list: Vec<Option<Attachment>>,
    /// The indices of those that were released.
    released: Vec<u32>,
    /// The attachment that was made last.
    last: u32,
    /// Slots that were vacated. They may be in use again, or gone.
    vacated: Vec<Slot>,
    slots: SlotIndex,
    /// `true` if other code may copy the graph at any time: then every attachment is shared from the start.
    is_exposed: bool,
}

/// A graph that is alive, with its driver.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) driver: &'a Driver,
    pub(super) graph: CUgraph,
}

/// A bundle that a graph keeps for a node that is still to be added; none if it is empty.
///
/// Its slot is one word: an `Option` would be stored in parts and loaded whole, which waits until all that the
/// driver has stored before is in the cache.
#[must_use]
pub(super) struct Prepared(u64);

impl Prepared {
    /// No bundle. No attachment has the index.
    pub(super) const NONE: Prepared = Prepared(u64::MAX);

    #[inline]
    fn over(slot: Slot) -> Prepared {
        Prepared(u64::from(slot.attachment) << 32 | u64::from(slot.index))
    }

    #[inline]
    fn slot(&self) -> Option<Slot> {
        let slot = Slot { attachment: (self.0 >> 32) as u32, index: self.0 as u32 };
        (self.0 != Prepared::NONE.0).then_some(slot)
    }
}

/// The bundle of a node whose parameters are still to be changed, or that is still to be destroyed.
#[must_use]
pub(super) struct Change {
    node: RawNode,
    kind: ChangeKind,
}

enum ChangeKind {
    /// The node has no bundle, and gets none.
    Nothing,
    /// The node has no bundle, and gets one that is attached already.
    Added(Slot),
    /// The node has a bundle that this graph alone keeps, and gets another, which may be empty.
    InPlace(Slot, Bundle),
    /// The node has a bundle in a shared attachment, for which there is another, unless that would keep
    /// nothing.
    Copied(Slot, Option<Attachment>),
}

impl Attachments {
    /// Attaches the bundle of a node that is still to be added.
    ///
    /// # Safety
    ///
    /// The target is the graph of these attachments, in all calls.
    #[inline]
    pub(super) unsafe fn prepare(&mut self, target: Target<'_>, bundle: Bundle) -> Result<Prepared> {
        if bundle.is_empty() {
            return Ok(Prepared::NONE);
        }
        // SAFETY: the caller's promise.
        unsafe { self.attach(target, bundle) }.map(Prepared::over)
    }

    #[inline]
    unsafe fn attach(&mut self, target: Target<'_>, bundle: Bundle) -> Result<Slot> {
        self.slots.reserve();
        if !self.vacated.is_empty()
            // SAFETY: the graph is alive.
            && let Some(slot) = unsafe { self.take_vacated() }
            // SAFETY: as above.
            && let Some(place) = unsafe { self.place(slot) }
        {
            *place = bundle;
            return Ok(slot);
        }
        if let Some(Some(last)) = self.list.get_mut(self.last as usize)
            // SAFETY: the graph retains what is in its list.
            && let Some(bundles) = unsafe { last.bundles_mut() }
            && bundles.len() < bundles.capacity()
        {
            bundles.push(bundle);
            return Ok(Slot { attachment: self.last, index: bundles.len() as u32 - 1 });
        }
        // SAFETY: the caller's promise.
        unsafe { self.attach_anew(target, bundle) }
    }

    /// A slot that was vacated, and is still there and empty.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    #[cold]
    unsafe fn take_vacated(&mut self) -> Option<Slot> {
        while let Some(slot) = self.vacated.pop() {
            // SAFETY: the graph is alive.
            if unsafe { self.place(slot) }.is_some_and(|place| place.is_empty()) {
                return Some(slot);
            }
        }
        None
    }

    /// Attaches a bundle in a new attachment, with room for more.
    #[cold]
    unsafe fn attach_anew(&mut self, target: Target<'_>, bundle: Bundle) -> Result<Slot> {
        let room = if self.is_exposed { 1 } else { (FIRST << self.list.len().min(MOST.ilog2() as usize)).min(MOST) };
        let mut bundles = Vec::with_capacity(room);
        bundles.push(bundle);
        self.list.reserve(1);
        // SAFETY: the target is alive.
        let mut attachment = unsafe { Attachment::new(target.driver, target.graph, bundles) }?;
        if self.is_exposed {
            attachment.share();
        }
        self.last = match self.released.pop() {
            Some(index) => {
                self.list[index as usize] = Some(attachment);
                index
            }
            None => {
                self.list.push(Some(attachment));
                // No process has as many.
                self.list.len() as u32 - 1
            }
        };
        Ok(Slot { attachment: self.last, index: 0 })
    }

    /// The bundle in a slot of an attachment that is not shared.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    unsafe fn place(&mut self, slot: Slot) -> Option<&mut Bundle> {
        let attachment = self.list.get_mut(slot.attachment as usize)?.as_mut()?;
        // SAFETY: the graph retains what is in its list.
        unsafe { attachment.bundles_mut() }?.get_mut(slot.index as usize)
    }

    /// Records the node that was added.
    #[inline]
    pub(super) fn publish_new(&mut self, node: RawNode, prepared: Prepared) {
        if let Some(slot) = prepared.slot() {
            self.slots.add(node, slot);
        }
    }

    /// Releases the bundle of a node that could not be added.
    ///
    /// # Safety
    ///
    /// As for [`Attachments::prepare`].
    #[cold]
    pub(super) unsafe fn discard(&mut self, target: Target<'_>, prepared: Prepared) {
        if let Some(slot) = prepared.slot() {
            // SAFETY: the caller's promise.
            report_late(|| Subject::GraphOwners, unsafe { self.vacate(target, slot) });
        }
    }

    /// Attaches the bundle of a node that is still to be changed; an empty one for a node that is still to be
    /// destroyed.
    ///
    /// # Safety
    ///
    /// As for [`Attachments::prepare`].
    pub(super) unsafe fn prepare_change(
        &mut self,
        target: Target<'_>,
        node: RawNode,
        bundle: Bundle,
    ) -> Result<Change> {
        let Some(slot) = self.slots.get(node) else {
            // SAFETY: the caller's promise.
            let prepared = unsafe { self.prepare(target, bundle) }?;
            let kind = prepared.slot().map_or(ChangeKind::Nothing, ChangeKind::Added);
            return Ok(Change { node, kind });
        };
        // SAFETY: the graph is alive.
        if unsafe { self.place(slot) }.is_some() {
            return Ok(Change { node, kind: ChangeKind::InPlace(slot, bundle) });
        }
        let mut bundles = match &self.list[slot.attachment as usize] {
            // SAFETY: the graph retains what is in its list.
            Some(attachment) => unsafe { attachment.bundles() }.clone(),
            None => Vec::new(),
        };
        if let Some(place) = bundles.get_mut(slot.index as usize) {
            *place = bundle;
        }
        if bundles.iter().all(Bundle::is_empty) {
            return Ok(Change { node, kind: ChangeKind::Copied(slot, None) });
        }
        // SAFETY: the target is alive.
        let mut attachment = unsafe { Attachment::new(target.driver, target.graph, bundles) }?;
        if self.is_exposed {
            attachment.share();
        }
        Ok(Change { node, kind: ChangeKind::Copied(slot, Some(attachment)) })
    }

    /// Records that the node was changed or destroyed, and releases the bundle that it had.
    ///
    /// # Safety
    ///
    /// As for [`Attachments::prepare`].
    pub(super) unsafe fn publish(&mut self, target: Target<'_>, change: Change) -> Result<()> {
        match change.kind {
            ChangeKind::Nothing => Ok(()),
            ChangeKind::Added(slot) => {
                self.slots.add(change.node, slot);
                Ok(())
            }
            ChangeKind::InPlace(slot, bundle) if bundle.is_empty() => {
                self.slots.remove(change.node);
                // SAFETY: the caller's promise.
                unsafe { self.vacate(target, slot) }
            }
            ChangeKind::InPlace(slot, bundle) => {
                // SAFETY: the graph is alive.
                if let Some(place) = unsafe { self.place(slot) } {
                    // Not dropped here: an owner's drop may come back to the graph, which is locked.
                    reclaimer::defer(std::mem::replace(place, bundle));
                }
                Ok(())
            }
            ChangeKind::Copied(slot, copy) => {
                // SAFETY: the caller's promise.
                unsafe { self.replace(target, change.node, slot, copy) }
            }
        }
    }

    /// Puts an attachment in place of a shared one, which is released.
    unsafe fn replace(
        &mut self,
        target: Target<'_>,
        node: RawNode,
        slot: Slot,
        copy: Option<Attachment>,
    ) -> Result<()> {
        let empty = |bundles: &Vec<Bundle>| {
            let is_empty = |(index, bundle): (usize, &Bundle)| bundle.is_empty().then_some(index as u32);
            bundles.iter().enumerate().filter_map(is_empty).collect::<Vec<_>>()
        };
        // SAFETY: the graph retains the copy.
        let empty = copy.as_ref().map(|copy| empty(unsafe { copy.bundles() }));
        if empty.as_ref().is_none_or(|empty| empty.contains(&slot.index)) {
            self.slots.remove(node);
        }
        match empty {
            Some(empty) => self.vacated.extend(empty.into_iter().map(|index| Slot { index, ..slot })),
            None => self.released.push(slot.attachment),
        }
        match std::mem::replace(&mut self.list[slot.attachment as usize], copy) {
            // SAFETY: the graph is alive and retained it, and it is not in the list any more.
            Some(shared) => unsafe { shared.release(target.driver, target.graph) },
            None => Ok(()),
        }
    }

    /// Releases the bundle of a node that could not be changed or destroyed.
    ///
    /// # Safety
    ///
    /// As for [`Attachments::prepare`].
    #[cold]
    pub(super) unsafe fn discard_change(&mut self, target: Target<'_>, change: Change) {
        match change.kind {
            ChangeKind::Nothing | ChangeKind::Copied(_, None) => {}
            // SAFETY: the caller's promise.
            ChangeKind::Added(slot) => unsafe { self.discard(target, Prepared::over(slot)) },
            ChangeKind::InPlace(_, bundle) => reclaimer::defer(bundle),
            ChangeKind::Copied(_, Some(copy)) => {
                // SAFETY: the graph is alive and retains the copy, which is given up.
                report_late(|| Subject::GraphOwners, unsafe { copy.release(target.driver, target.graph) });
            }
        }
    }

    /// Releases the bundle of a slot, and the attachment if it was the last one there.
    ///
    /// The attachment is not shared, unless the graph is exposed and the bundle is its only one.
    unsafe fn vacate(&mut self, target: Target<'_>, slot: Slot) -> Result<()> {
        // SAFETY: the graph is alive.
        if let Some(place) = unsafe { self.place(slot) } {
            // Not dropped here: an owner's drop may come back to the graph, which is locked.
            reclaimer::defer(std::mem::take(place));
        }
        let is_unused = |attachment: &mut Attachment| {
            // SAFETY: the graph retains what is in its list.
            unsafe { attachment.bundles_mut() }.is_none_or(|bundles| bundles.iter().all(Bundle::is_empty))
        };
        match self.list[slot.attachment as usize].take_if(is_unused) {
            Some(unused) => {
                self.released.push(slot.attachment);
                // SAFETY: the graph is alive and retained it, and it is not in the list any more.
                unsafe { unused.release(target.driver, target.graph) }
            }
            None => {
                self.vacated.push(slot);
                Ok(())
            }
        }
    }

    /// Records that a copy of the graph is made, which shares the attachments.
    pub(super) fn share(&mut self) {
        self.list.iter_mut().flatten().for_each(Attachment::share);
        self.vacated.clear();
    }

    /// Records that other code may copy the graph from now on.
    pub(super) fn expose(&mut self) {
        self.is_exposed = true;
        self.share();
    }

    /// The bundle of a node.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    pub(super) unsafe fn bundle(&mut self, node: RawNode) -> Option<&Bundle> {
        let slot = self.slots.get(node)?;
        let attachment = self.list.get(slot.attachment as usize)?.as_ref()?;
        // SAFETY: the graph retains what is in its list.
        unsafe { attachment.bundles() }.get(slot.index as usize)
    }

    /// Calls with each bundle.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    pub(super) unsafe fn each_bundle(&self, see: &mut impl FnMut(&Bundle)) {
        for attachment in self.list.iter().flatten() {
            // SAFETY: the graph retains what is in its list.
            unsafe { attachment.bundles() }.iter().for_each(&mut *see);
        }
    }

    /// The attachments of a copy that the driver has made of the graph, with its nodes as `find` names them.
    pub(super) fn try_copy(&self, mut find: impl FnMut(RawNode) -> Result<RawNode>) -> Result<Attachments> {
        let mut copy = Attachments::default();
        for (node, slot) in self.slots.iter() {
            copy.slots.reserve();
            copy.slots.add(find(node)?, slot);
        }
        copy.list = self.list.iter().map(|attachment| attachment.as_ref().map(Attachment::duplicate)).collect();
        copy.released = self.released.clone();
        copy.last = self.last;
        Ok(copy)
    }
}
