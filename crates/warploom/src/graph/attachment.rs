//! Attachments: lists of bundles that a graph keeps by user objects of the driver.
//!
//! Clones, executables and launches of the graph refer to the same user objects: the driver copies its
//! references when it copies the graph. An attachment that no copy refers to is the graph's alone, and its
//! list can be changed. One that was copied is shared, and never changes again.
#![expect(unsafe_code, reason = "makes and releases user objects")]

use std::ptr::{NonNull, null_mut};

use warploom_driver::sys::types::{
    CUgraph, CUuserObject, CUuserObject_flags, CUuserObject_st, CUuserObjectRetain_flags,
};

use super::bundle::Bundle;
use super::late_report::report_late;
use crate::diagnostics::Subject;
use crate::handle::Handle;
use crate::reclaimer::{self, Item};
use crate::{Driver, Result};

/// Bundles that a graph keeps by one user object. It is released explicitly, or by the driver with its graph.
pub(crate) struct Attachment {
    object: Handle<CUuserObject_st>,
    item: NonNull<Item<Vec<Bundle>>>,
    /// `true` if copies of the graph refer to the object as well.
    is_shared: bool,
}

// SAFETY: the list is read or, by the only graph that has it, changed under that graph's lock, and its owners
// may be used on any thread; the object goes to the driver.
unsafe impl Send for Attachment {}
// SAFETY: as above.
unsafe impl Sync for Attachment {}

impl Attachment {
    /// Has a graph keep bundles. If a call fails, they are released.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    pub(super) unsafe fn new(driver: &Driver, graph: CUgraph, bundles: Vec<Bundle>) -> Result<Attachment> {
        let item = Item::leak(bundles);
        let object = create(driver, item)?;
        let flags = CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE.0;
        // SAFETY: the graph is alive, and takes over the only reference to the object.
        if let Err(error) = unsafe { driver.cuGraphRetainUserObject(graph, object.raw(), 1, flags) } {
            // SAFETY: the reference has not been taken over; it is given up.
            report_late(|| Subject::GraphOwners, unsafe { driver.cuUserObjectRelease(object.raw(), 1) });
            return Err(error.into());
        }
        Ok(Attachment { object, item, is_shared: false })
    }

    /// The bundles.
    ///
    /// # Safety
    ///
    /// A graph that the caller keeps from ending, or from releasing this, retains it.
    #[inline]
    pub(super) unsafe fn bundles(&self) -> &Vec<Bundle> {
        // SAFETY: the user object keeps the item, and the caller sees to it that it stays.
        unsafe { Item::value(self.item) }
    }

    /// The bundles, to be changed; `None` if the attachment is shared.
    ///
    /// # Safety
    ///
    /// As for [`Attachment::bundles`].
    #[inline]
    pub(super) unsafe fn bundles_mut(&mut self) -> Option<&mut Vec<Bundle>> {
        // SAFETY: as there; no copy of the graph has the attachment, and this graph's is borrowed mutably.
        (!self.is_shared).then(|| unsafe { Item::value_mut(self.item) })
    }

    /// Records that copies of the graph refer to it.
    pub(super) fn share(&mut self) {
        self.is_shared = true;
    }

    /// Another handle to the same attachment, for a graph that the driver has copied it to. Both are shared.
    pub(super) fn duplicate(&self) -> Attachment {
        Attachment { object: Handle::new(self.object.raw()), item: self.item, is_shared: true }
    }

    /// Releases the graph's reference.
    ///
    /// # Safety
    ///
    /// The graph is alive and retains the object for this attachment, which is given up.
    pub(super) unsafe fn release(self, driver: &Driver, graph: CUgraph) -> Result<()> {
        // SAFETY: the caller's promise.
        Ok(unsafe { driver.cuGraphReleaseUserObject(graph, self.object.raw(), 1) }?)
    }
}

/// A bundle that a graph keeps while copies of the graph's references are made. Dropped, it is released.
#[must_use]
pub(crate) struct Passing<'a> {
    driver: &'a Driver,
    graph: CUgraph,
    /// `None` once it is released.
    attachment: Option<Attachment>,
}

impl<'a> Passing<'a> {
    /// # Safety
    ///
    /// The graph is alive, and is while this exists.
    pub(super) unsafe fn new(driver: &'a Driver, graph: CUgraph, bundle: Bundle) -> Result<Passing<'a>> {
        // SAFETY: the caller keeps the graph.
        let attachment = unsafe { Attachment::new(driver, graph, vec![bundle]) }?;
        Ok(Passing { driver, graph, attachment: Some(attachment) })
    }

    /// Releases it from the graph; the copies have it.
    pub(super) fn release(mut self) -> Result<()> {
        match self.attachment.take() {
            // SAFETY: the graph is alive while this exists, and retains the object.
            Some(attachment) => unsafe { attachment.release(self.driver, self.graph) },
            None => Ok(()),
        }
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            // SAFETY: the graph is alive while this exists, and retains the object.
            let released = unsafe { attachment.release(self.driver, self.graph) };
            report_late(|| Subject::GraphOwners, released);
        }
    }
}

/// A user object that keeps an item; the item is released if there can be none.
fn create(driver: &Driver, item: NonNull<Item<Vec<Bundle>>>) -> Result<Handle<CUuserObject_st>> {
    let mut object: CUuserObject = null_mut();
    let flags = CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0;
    // SAFETY: `object` is writable, and the destructor takes the item, once.
    let created =
        unsafe { driver.cuUserObjectCreate(&raw mut object, item.as_ptr().cast(), Some(reclaimer::destroy), 1, flags) };
    match created {
        Ok(()) => Ok(Handle::new(object)),
        Err(error) if object.is_null() => {
            // Not here: an owner's drop may come back to the graph, which is locked.
            //
            // SAFETY: there is no user object to keep the item.
            unsafe { reclaimer::destroy(item.as_ptr().cast()) };
            Err(error.into())
        }
        Err(error) => {
            // The call failed when it was done.
            //
            // SAFETY: the reference to the object, which keeps the item, is given up.
            report_late(|| Subject::GraphOwners, unsafe { driver.cuUserObjectRelease(object, 1) });
            Err(error.into())
        }
    }
}
