//! Streams: ordered queues of work.
#![expect(unsafe_code, reason = "owns a raw stream")]

use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use warploom_driver::sys::types::{CUstream, CUstream_flags, CUstream_st};
use warploom_driver::{Driver, ResultExt as _};

use crate::device::same_driver;
use crate::error::report;
use crate::handle::Handle;
use crate::{Context, Error, Event, Result};

/// A queue of work on a device: what is enqueued on it runs in order, and in no order with other streams until an
/// [`Event`] makes one.
///
/// A clone is another handle to the same stream.
///
/// ```
/// use warploom::{Devices, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (first, second) = (context.stream()?, context.stream()?);
/// second.wait(&first.record()?)?; // whatever comes next on `second` runs after what is on `first` so far
/// second.synchronize()?;
/// assert!(first.is_idle()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
}

struct Shared {
    raw: Handle<CUstream_st>,
    context: Context,
}

impl Stream {
    pub(crate) fn new(context: &Context) -> Result<Stream> {
        let _current = context.current()?;
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuStreamCreate(&raw mut raw, CUstream_flags::CU_STREAM_NON_BLOCKING.0) }?;
        Ok(Stream { shared: Arc::new(Shared { raw: Handle::new(raw), context: context.clone() }) })
    }

    /// The context its work runs in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The driver's own handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUstream {
        self.shared.raw.raw()
    }

    pub(crate) fn driver(&self) -> &Driver {
        self.shared.context.driver()
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    ///
    /// What the driver answers, which may be a failure of that work.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: `self` keeps the stream alive.
        Ok(unsafe { self.driver().cuStreamSynchronize(self.as_raw()) }?)
    }

    /// Whether everything enqueued so far is done.
    ///
    /// # Errors
    ///
    /// What the driver answers, which may be a failure of that work.
    #[doc(alias = "cuStreamQuery")]
    pub fn is_idle(&self) -> Result<bool> {
        // SAFETY: `self` keeps the stream alive.
        Ok(unsafe { self.driver().cuStreamQuery(self.as_raw()) }.ready()?)
    }

    /// Marks the point the stream has come to: an event that is done when everything enqueued so far is done.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    #[doc(alias = "cuEventRecord")]
    pub fn record(&self) -> Result<Event> {
        Event::record(self)
    }

    /// Holds back whatever is enqueued from now on until the event is done; the host does not wait. The event may belong to
    /// another device.
    ///
    /// # Errors
    ///
    /// [`Error::DriverMismatch`] if the event belongs to another driver, and what the driver
    /// answers.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait(&self, event: &Event) -> Result<()> {
        same_driver(self.driver(), event.driver())?;
        // SAFETY: both are alive, and of the same driver. The driver keeps what it needs of the event.
        Ok(unsafe { self.driver().cuStreamWaitEvent(self.as_raw(), event.as_raw(), 0) }?)
    }

    /// Waits until everything enqueued so far is done, and gives back the host memory that was lent to the last call.
    ///
    /// If that call or the wait fails, work may still be using the memory, now or later: a call that fails may have enqueued
    /// its work all the same. Then the memory is never freed.
    pub(crate) fn finish<T>(&self, lent: Vec<T>, enqueued: warploom_driver::Result<()>) -> Result<Vec<T>> {
        match enqueued.map_err(Error::from).and_then(|()| self.synchronize()) {
            Ok(()) => Ok(lent),
            Err(error) => {
                std::mem::forget(lent);
                Err(error)
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `raw` came from `cuStreamCreate` in `context`, which is still alive, and nothing else owns it. Work that is
        // still enqueued is finished by the driver.
        report(unsafe { self.context.driver().cuStreamDestroy_v2(self.raw.raw()) });
    }
}

impl PartialEq for Stream {
    /// Whether the two are handles to the same stream.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { raw, context } = &*self.shared;
        formatter.debug_struct("Stream").field("raw", &raw.raw()).field("device", context.device()).finish()
    }
}
