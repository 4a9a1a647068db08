//! User objects: the driver's references to owners.
//!
//! A user object belongs to the graph that retains it. A copy of the graph, whoever makes it, refers to it as well,
//! and the driver destroys it with the last of them.
#![expect(unsafe_code, reason = "makes and releases user objects")]

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUgraph, CUuserObject, CUuserObject_flags, CUuserObject_st, CUuserObjectRetain_flags,
};

use super::bundle::Bundle;
use super::late_report::report_late;
use crate::diagnostics::Subject;
use crate::handle::Handle;
use crate::reclaimer::{self, Item};
use crate::{Driver, Result};

/// The user object by which a graph keeps a bundle.
pub(super) struct UserObject(Handle<CUuserObject_st>);

impl UserObject {
    /// Has a graph keep a bundle. If a call fails, the bundle is released.
    ///
    /// # Safety
    ///
    /// The graph is alive.
    pub(super) unsafe fn new(driver: &Driver, graph: CUgraph, bundle: Arc<Bundle>) -> Result<UserObject> {
        let object = create(driver, Item::leak(bundle))?;
        let flags = CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE.0;
        // SAFETY: the graph is alive, and takes over the only reference to the object.
        if let Err(error) = unsafe { driver.cuGraphRetainUserObject(graph, object.raw(), 1, flags) } {
            // SAFETY: the reference has not been taken over; it is given up.
            report_late(|| Subject::GraphOwners, unsafe { driver.cuUserObjectRelease(object.raw(), 1) });
            return Err(error.into());
        }
        Ok(UserObject(object))
    }

    /// Releases the graph's reference.
    ///
    /// # Safety
    ///
    /// The graph is alive and retains the object, which is given up.
    pub(super) unsafe fn release(self, driver: &Driver, graph: CUgraph) -> Result<()> {
        // SAFETY: as the caller vouches.
        Ok(unsafe { driver.cuGraphReleaseUserObject(graph, self.0.raw(), 1) }?)
    }
}

/// A user object that keeps an item; the item is released if there can be none.
fn create(driver: &Driver, item: NonNull<Item<Arc<Bundle>>>) -> Result<Handle<CUuserObject_st>> {
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
            // The driver created the object, then reported an error.
            //
            // SAFETY: the reference to the object, which keeps the item, is given up.
            report_late(|| Subject::GraphOwners, unsafe { driver.cuUserObjectRelease(object, 1) });
            Err(error.into())
        }
    }
}
