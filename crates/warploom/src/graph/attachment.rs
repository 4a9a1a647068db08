//! Attachments: bundles of owners that a graph keeps by user objects of the driver.
//!
//! Every version of a node's parameters has its own bundle, and one user object for it, which clones,
//! executables and launches of the graph refer to as well. The bundle is attached *before* the node is added
//! or changed, so that a failure leaves nothing to undo in the graph:
//!
//! ```text
//!   Prepared::new   cuUserObjectCreate      fails: the bundle is dropped
//!                   cuGraphRetainUserObject fails: the object is released
//!   the node call                           fails: the object is released from the graph
//!   publish         the index has the new attachment
//!   release         the attachment before, if there was one
//! ```
#![expect(unsafe_code, reason = "makes and releases user objects")]

use std::ptr::{NonNull, null_mut};

use warploom_driver::sys::types::{
    CUgraph, CUuserObject, CUuserObject_flags, CUuserObject_st, CUuserObjectRetain_flags,
};

use super::bundle::Bundle;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::reclaimer::{self, Item};
use crate::{Driver, Result};

/// A bundle that a graph keeps.
pub(crate) struct Attachment {
    object: Handle<CUuserObject_st>,
    item: NonNull<Item<Bundle>>,
}

// SAFETY: the item is only read, and its owners may be used on any thread; the object goes to the driver.
unsafe impl Send for Attachment {}
// SAFETY: as above.
unsafe impl Sync for Attachment {}

impl Attachment {
    /// The owners.
    ///
    /// # Safety
    ///
    /// A graph that the caller keeps from ending, or from releasing this, retains it.
    pub(super) unsafe fn bundle(&self) -> &Bundle {
        // SAFETY: the user object keeps the item, and the caller sees to it that it stays.
        unsafe { Item::value(self.item) }
    }

    /// Another handle to the same attachment, for a graph that the driver has copied it to.
    pub(super) fn duplicate(&self) -> Attachment {
        Attachment { object: Handle::new(self.object.raw()), item: self.item }
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

/// An attachment that a graph keeps, for a node that is still to be added or changed. Dropped, it is released
/// again.
#[must_use]
pub(crate) struct Prepared<'a> {
    driver: &'a Driver,
    graph: CUgraph,
    /// `None` if there are no owners, or it was published.
    attachment: Option<Attachment>,
}

impl<'a> Prepared<'a> {
    /// Has a graph keep a bundle. Without owners, the driver is not called.
    ///
    /// # Safety
    ///
    /// The graph is alive, and is while this exists.
    #[inline]
    pub(super) unsafe fn new(driver: &'a Driver, graph: CUgraph, bundle: Bundle) -> Result<Prepared<'a>> {
        if bundle.is_empty() {
            return Ok(Prepared { driver, graph, attachment: None });
        }
        // SAFETY: the caller keeps the graph.
        let attachment = unsafe { attach(driver, graph, bundle) }?;
        Ok(Prepared { driver, graph, attachment: Some(attachment) })
    }

    /// Releases it from the graph, when copies of the graph's references have been made.
    pub(super) fn release(mut self) -> Result<()> {
        match self.attachment.take() {
            // SAFETY: the graph is alive while this exists, and retains the object.
            Some(attachment) => unsafe { attachment.release(self.driver, self.graph) },
            None => Ok(()),
        }
    }

    /// The attachment, for the index. The graph keeps it.
    #[inline]
    pub(super) fn publish(mut self) -> Option<Attachment> {
        self.attachment.take()
    }
}

impl Drop for Prepared<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            // SAFETY: the graph is alive while this exists, and retains the object.
            let released = unsafe { attachment.release(self.driver, self.graph) };
            report(|| Subject::GraphOwners, released);
        }
    }
}

/// # Safety
///
/// The graph is alive.
unsafe fn attach(driver: &Driver, graph: CUgraph, bundle: Bundle) -> Result<Attachment> {
    let item = Item::leak(bundle);
    let object = create(driver, item)?;
    let flags = CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE.0;
    // SAFETY: the graph is alive, and takes over the only reference to the object.
    if let Err(error) = unsafe { driver.cuGraphRetainUserObject(graph, object.raw(), 1, flags) } {
        // SAFETY: the reference has not been taken over; it is given up.
        report(|| Subject::GraphOwners, unsafe { driver.cuUserObjectRelease(object.raw(), 1) });
        return Err(error.into());
    }
    Ok(Attachment { object, item })
}

/// A user object that keeps an item; the item is released if there can be none.
fn create(driver: &Driver, item: NonNull<Item<Bundle>>) -> Result<Handle<CUuserObject_st>> {
    let mut object: CUuserObject = null_mut();
    let flags = CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0;
    // SAFETY: `object` is writable, and the destructor takes the item, once.
    let created =
        unsafe { driver.cuUserObjectCreate(&raw mut object, item.as_ptr().cast(), Some(reclaimer::destroy), 1, flags) };
    match created {
        Ok(()) => Ok(Handle::new(object)),
        Err(error) => {
            // Not here: an owner's drop may come back to the graph, which is locked.
            //
            // SAFETY: there is no user object to keep the item.
            unsafe { reclaimer::destroy(item.as_ptr().cast()) };
            Err(error.into())
        }
    }
}
