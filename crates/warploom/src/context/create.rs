//! Creating contexts beside the primary one.
#![expect(unsafe_code, reason = "makes contexts")]

use std::ptr::null_mut;
use std::sync::Arc;

use super::generation::id_of;
use super::{Context, ContextOptions, Origin, Shared};
use crate::{Device, Result};

impl Device {
    /// A context of its own on this device, beside the primary one: with its own memory, limits and faults of
    /// use.
    ///
    /// Most programs want [`Device::context`], which other libraries in the process share. It is not made
    /// current, and it is destroyed, once its work is done, when nothing holds it any more.
    ///
    /// ```
    /// use warploom::{ContextOptions, Driver, Scheduling};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let device = driver.device(0)?;
    /// let context = device.create_context(ContextOptions::new().scheduling(Scheduling::Block))?;
    /// assert_ne!(context, device.context()?);
    /// context.stream()?.synchronize()?;
    /// context.close()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error; making a context takes some of the device's memory.
    #[doc(alias = "cuCtxCreate")]
    pub fn create_context(&self, options: ContextOptions) -> Result<Context> {
        let driver = self.driver();
        let mut raw = null_mut();
        // SAFETY: `raw` is writable. The oldest form is all that is needed, and every driver has it.
        unsafe { driver.cuCtxCreate_v2(&raw mut raw, options.to_raw(), self.as_raw()) }?;
        // SAFETY: it was created just now, on this device.
        let mut shared = unsafe { Shared::owned(raw, self, Origin::Created) };
        // The driver has made it current, on top of what was. If it cannot be taken away again, destroying it
        // does that. SAFETY: the popped context is written to a variable of ours.
        unsafe { driver.cuCtxPopCurrent_v2(&raw mut raw) }?;
        // SAFETY: `shared` keeps the context alive.
        shared.id = unsafe { id_of(driver, shared.raw.raw()) }?;
        let context = Context { shared: Arc::new(shared) };
        context.remember();
        Ok(context)
    }
}
