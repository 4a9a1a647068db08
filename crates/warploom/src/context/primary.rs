//! Primary contexts: one per device, shared by the whole process.
#![expect(unsafe_code, reason = "retains and resets primary contexts")]

use std::ptr::null_mut;
use std::sync::Arc;

use super::generation::id_of;
use super::{Context, ContextOptions, Origin, Shared};
use crate::{Device, Result};

impl Context {
    /// `true` if it is the device's primary context, retained here.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        matches!(self.shared.origin, Origin::Primary { .. })
    }
}

impl Device {
    /// Its primary context, retained for as long as a clone of the value exists.
    ///
    /// # Errors
    ///
    /// The driver's error; making a context takes some of the device's memory.
    #[doc(alias = "cuDevicePrimaryCtxRetain")]
    pub fn context(&self) -> Result<Context> {
        // Locked until the generation of the context is known.
        let mut generations = self.primary_generations().lock();
        let was_active = generations.needs_activity() && self.has_active_context()?;
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        unsafe { self.driver().cuDevicePrimaryCtxRetain(&raw mut raw, self.as_raw()) }?;
        let origin = Origin::Primary { generation: generations.generation() };
        // SAFETY: a reference was taken just now, on this device.
        let mut shared = unsafe { Shared::owned(raw, self, origin) };
        // SAFETY: the context is active, since a reference was just taken.
        shared.id = unsafe { id_of(self.driver(), raw) }?;
        shared.origin = Origin::Primary { generation: generations.saw(shared.id, was_active) };
        Ok(Context { shared: Arc::new(shared) })
    }

    /// `true` if its primary context is active: held by any code in the process.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDevicePrimaryCtxGetState")]
    pub fn has_active_context(&self) -> Result<bool> {
        Ok(self.primary_state()?.1)
    }

    /// The options of its primary context.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDevicePrimaryCtxGetState")]
    pub fn primary_options(&self) -> Result<ContextOptions> {
        Ok(ContextOptions::from_raw(self.primary_state()?.0))
    }

    /// Sets how its primary context is made, and changes it if it is active. It holds until the last
    /// reference is gone.
    ///
    /// All code in the process shares the primary context; this is for the program, not for libraries.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDevicePrimaryCtxSetFlags")]
    pub fn set_primary_options(&self, options: ContextOptions) -> Result<()> {
        // SAFETY: passes numbers.
        Ok(unsafe { self.driver().cuDevicePrimaryCtxSetFlags_v2(self.as_raw(), options.to_raw()) }?)
    }

    fn primary_state(&self) -> Result<(u32, bool)> {
        let (mut flags, mut is_active) = (0, 0);
        // SAFETY: both are writable.
        unsafe { self.driver().cuDevicePrimaryCtxGetState(self.as_raw(), &raw mut flags, &raw mut is_active) }?;
        Ok((flags, is_active != 0))
    }

    /// Destroys its primary context, with all memory, streams and events in it, even if other code holds it.
    ///
    /// Values of [`Context`] that are left refuse to be used, with
    /// [`ContextError::Stale`](crate::ContextError::Stale); [`Device::context`] gives one of the next
    /// generation.
    ///
    /// # Safety
    ///
    /// Apart from contexts, nothing that was made in the primary context is used again, by this crate or any
    /// other code in the process, and nothing uses it meanwhile. To drop a stream, an event or memory is to
    /// use it.
    ///
    /// # Errors
    ///
    /// The driver's error. Then the context is as it was.
    #[doc(alias = "cuDevicePrimaryCtxReset")]
    pub unsafe fn reset_context(&self) -> Result<()> {
        let mut generations = self.primary_generations().lock();
        // SAFETY: the caller promises that nothing uses the context.
        unsafe { self.driver().cuDevicePrimaryCtxReset_v2(self.as_raw()) }?;
        generations.ended();
        Ok(())
    }
}
