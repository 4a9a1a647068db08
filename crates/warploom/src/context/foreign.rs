//! Contexts that other code created.
#![expect(unsafe_code, reason = "takes over raw contexts")]

use std::sync::Arc;

use warploom_driver::sys::types::CUcontext;

use super::cached::Cached;
use super::current::{Current, device_of_current};
use super::generation::id_of;
use super::{Context, Origin, Shared};
use crate::device::initialize;
use crate::handle::Handle;
use crate::leaks::Mark;
use crate::{ContextError, Driver, Result};

impl Context {
    /// A context that other code made, and that `owner` keeps alive. It is never destroyed by this crate; the
    /// owner is dropped when nothing holds the context any more.
    ///
    /// A primary context is better had from [`Device::context`](crate::Device::context), which notices when
    /// it is reset.
    ///
    /// # Safety
    ///
    /// `raw` is null or a context of `driver`, and stays one until `owner` is dropped.
    ///
    /// # Errors
    ///
    /// [`ContextError::Null`] for a null handle, and the driver's error. Then the owner has been dropped.
    pub unsafe fn from_raw(driver: &Driver, raw: CUcontext, owner: impl Send + Sync + 'static) -> Result<Context> {
        if raw.is_null() {
            return Err(ContextError::Null.into());
        }
        initialize(driver)?;
        // SAFETY: the caller vouches for the context.
        let (current, id) = unsafe { (Current::enter(driver, raw)?, id_of(driver, raw)?) };
        let device = device_of_current(driver)?;
        drop(current);
        let origin = Origin::Foreign { _owner: Box::new(owner) };
        let (raw, cached, mark) = (Handle::new(raw), Cached::default(), Mark::default());
        let context = Context { shared: Arc::new(Shared { raw, device, origin, id, cached, _mark: mark }) };
        context.remember();
        Ok(context)
    }

    /// A context that other code made, and that outlives everything made from this value.
    ///
    /// # Safety
    ///
    /// `raw` is null or a context of `driver`, and stays one for as long as the value, a clone of it, or
    /// anything made from them exists.
    ///
    /// # Errors
    ///
    /// As [`Context::from_raw`].
    pub unsafe fn borrow_raw(driver: &Driver, raw: CUcontext) -> Result<Context> {
        // SAFETY: the caller keeps the context alive for longer than any owner would live.
        unsafe { Context::from_raw(driver, raw, ()) }
    }
}
