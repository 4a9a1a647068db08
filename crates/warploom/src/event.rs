//! Events: points in a stream, and the time between them.
#![expect(unsafe_code, reason = "owns a raw event")]

use std::fmt;
use std::ptr::null_mut;

use warploom_driver::sys::types::{CUevent, CUevent_flags, CUevent_st};
use warploom_driver::{Driver, ResultExt as _};

use crate::device::same_driver;
use crate::error::report;
use crate::handle::Handle;
use crate::{Context, Result, Stream};

/// A point in a stream, marked by [`Stream::record`]; done when everything before it is done.
///
/// ```
/// use warploom::{Devices, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let stream = driver.device(0)?.context()?.stream()?;
/// let start = stream.record()?;
/// let end = stream.record()?;
/// end.synchronize()?;
/// assert!(start.is_complete()? && end.elapsed_ms(&start)? >= 0.0);
/// # Ok(())
/// # }
/// ```
pub struct Event {
    raw: Handle<CUevent_st>,
    context: Context,
}

impl Event {
    pub(crate) fn record(stream: &Stream) -> Result<Event> {
        let event = Event::new(stream.context())?;
        // SAFETY: both are alive and belong to the same context.
        unsafe { stream.driver().cuEventRecord(event.as_raw(), stream.as_raw()) }?;
        Ok(event)
    }

    /// Private, so that every event there is has been recorded.
    fn new(context: &Context) -> Result<Event> {
        let _current = context.current()?;
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuEventCreate(&raw mut raw, CUevent_flags::CU_EVENT_DEFAULT.0) }?;
        Ok(Event { raw: Handle::new(raw), context: context.clone() })
    }

    /// The context of the stream it was recorded on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The driver's own handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUevent {
        self.raw.raw()
    }

    pub(crate) fn driver(&self) -> &Driver {
        self.context.driver()
    }

    /// Waits until it is done.
    ///
    /// # Errors
    ///
    /// What the driver answers, which may be a failure of the work before it.
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: `self` keeps the event alive.
        Ok(unsafe { self.driver().cuEventSynchronize(self.as_raw()) }?)
    }

    /// Whether it is done.
    ///
    /// # Errors
    ///
    /// What the driver answers, which may be a failure of the work before it.
    #[doc(alias = "cuEventQuery")]
    pub fn is_complete(&self) -> Result<bool> {
        // SAFETY: `self` keeps the event alive.
        Ok(unsafe { self.driver().cuEventQuery(self.as_raw()) }.ready()?)
    }

    /// Milliseconds from `start` to this event, on the device's clock. Resolution is about half a microsecond.
    ///
    /// # Errors
    ///
    /// [`Error::DriverMismatch`](crate::Error::DriverMismatch) if `start` belongs to another driver, and what the driver
    /// answers: `CUDA_ERROR_NOT_READY` unless both are done.
    #[doc(alias = "cuEventElapsedTime")]
    pub fn elapsed_ms(&self, start: &Event) -> Result<f32> {
        same_driver(self.driver(), start.driver())?;
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is writable, and both events are alive.
        unsafe { self.driver().cuEventElapsedTime(&raw mut milliseconds, start.as_raw(), self.as_raw()) }?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: `raw` came from `cuEventCreate` in `context`, which is still alive, and nothing else owns it. A stream that
        // still waits for it is not disturbed.
        report(unsafe { self.context.driver().cuEventDestroy_v2(self.raw.raw()) });
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Event").field("raw", &self.as_raw()).field("device", self.context.device()).finish()
    }
}
