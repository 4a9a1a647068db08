//! Contexts: a device in use, and making it current where the driver needs that.
#![expect(unsafe_code, reason = "owns a reference to a primary context, and changes the thread's current one")]

mod priority;

use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

pub use self::priority::PriorityRange;

use warploom_driver::Driver;
use warploom_driver::sys::types::{CUcontext, CUctx_st};

use crate::device::same_driver;
use crate::error::report;
use crate::handle::Handle;
use crate::{Device, Error, Result, Stream};

/// A device in use: its primary context, which everything in the process shares.
///
/// It stays retained for as long as a clone, or anything made from one, exists. No call here changes the thread's current
/// context for good.
///
/// ```
/// use warploom::{Devices, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// drop(context); // the stream holds it
/// stream.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
}

struct Shared {
    raw: Handle<CUctx_st>,
    device: Device,
}

impl Context {
    pub(crate) fn primary(device: &Device) -> Result<Context> {
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        unsafe { device.driver().cuDevicePrimaryCtxRetain(&raw mut raw, device.as_raw()) }?;
        Ok(Context { shared: Arc::new(Shared { raw: Handle::new(raw), device: device.clone() }) })
    }

    /// The driver it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        self.shared.device.driver()
    }

    /// The device that is in use.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// The driver's own handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUcontext {
        self.shared.raw.raw()
    }

    /// A new stream, which does not wait for the legacy default stream.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    #[doc(alias = "cuStreamCreate")]
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// Waits until everything enqueued in this context is done.
    ///
    /// # Errors
    ///
    /// What the driver answers, which may be a failure of that work.
    #[doc(alias = "cuCtxSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: a context is current, and `_current` keeps it so.
        Ok(unsafe { self.driver().cuCtxSynchronize() }?)
    }

    /// Refuses a stream that does not work in this context.
    pub(crate) fn serves(&self, stream: &Stream) -> Result<()> {
        let other = stream.context();
        same_driver(self.driver(), other.driver())?;
        if self == other {
            return Ok(());
        }
        let (stream, memory) = (other.device().ordinal(), self.device().ordinal());
        Err(Error::ContextMismatch { stream, memory })
    }

    /// Makes the context current on this thread until the guard is dropped.
    pub(crate) fn current(&self) -> Result<Current<'_>> {
        let driver = self.driver();
        let mut previous = null_mut();
        // SAFETY: `previous` is writable.
        unsafe { driver.cuCtxGetCurrent(&raw mut previous) }?;
        if previous == self.as_raw() {
            return Ok(Current { driver, previous: None });
        }
        // SAFETY: `self` keeps the context alive.
        unsafe { driver.cuCtxSetCurrent(self.as_raw()) }?;
        Ok(Current { driver, previous: Some(previous) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: gives back the one reference that `Context::primary` took; nothing made from the context is left, since
        // whatever is made from it holds it.
        report(unsafe { self.device.driver().cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) });
    }
}

impl PartialEq for Context {
    /// Whether the two are the same context of the same driver.
    fn eq(&self, other: &Self) -> bool {
        self.as_raw() == other.as_raw() && self.driver().ptr_eq(other.driver())
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Context").field("device", self.device()).finish_non_exhaustive()
    }
}

/// A context that is current on this thread; what was current before comes back when this is dropped.
///
/// The raw pointer keeps it on its thread.
pub(crate) struct Current<'a> {
    driver: &'a Driver,
    /// What to put back, which may be nothing at all; `None` if the context was current already.
    previous: Option<CUcontext>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: it was current on this thread a moment ago, or it is null, which leaves none current.
            report(unsafe { self.driver.cuCtxSetCurrent(previous) });
        }
    }
}
