//! Events: points in a stream, and the time between them.
//!
//! Every event has been recorded: there is no other way to make one. Timing is part of its type, so that the
//! time between events that have none cannot be asked for. A dropped event goes back to its context, which
//! hands it out again; after a few, recording takes one driver call and no allocation.
#![expect(unsafe_code, reason = "asks the driver about raw events")]

mod elapsed;
mod error;
mod options;
mod pool;
mod shared;

pub use error::EventError;
pub use options::{EventOptions, Timed, Timing, Untimed};
pub(crate) use pool::EventPool;
pub(crate) use shared::SharedEvent;

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use warploom_driver::ResultExt as _;
use warploom_driver::sys::types::{CUevent, CUevent_flags, CUevent_st};

use crate::capture::{self, CaptureId};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::{Context, Device, Driver, Result, completion};

/// A point in a stream, marked by [`Stream::record`](crate::Stream::record); done when everything before it
/// is done.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let stream = driver.device(0)?.context()?.stream()?;
/// let mut point = stream.record()?;
/// point.synchronize()?;
/// assert!(point.is_complete()?);
/// stream.record_into(&mut point)?; // further on
/// # Ok(())
/// # }
/// ```
pub struct Event<T: Timing = Untimed> {
    raw: Handle<CUevent_st>,
    flags: u32,
    context: Context,
    timing: PhantomData<T>,
    /// The capture that it was last recorded in, by its number, if that was known to matter; 0 for none.
    capture: AtomicU64,
    /// The handle as graphs keep it, once one does; then the last of them gives it back.
    shared: OnceLock<Arc<SharedEvent>>,
    _mark: Mark,
}

impl<T: Timing> Event<T> {
    /// An event that is still to be recorded, and must not be seen before it is.
    pub(crate) fn unrecorded(context: &Context, options: EventOptions<T>) -> Result<Event<T>> {
        let flags = options.flags();
        let raw = context.cached().events.take(context, flags)?;
        let mark = mark(context, || (Kind::Event, raw.raw().addr() as u64, 0));
        Ok(Event {
            raw,
            flags,
            context: context.clone(),
            timing: PhantomData,
            capture: AtomicU64::new(0),
            shared: OnceLock::new(),
            _mark: mark,
        })
    }

    /// The context of the stream it was recorded on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The device of the stream it was recorded on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.context.device()
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUevent {
        self.raw.raw()
    }

    /// `true` if it knows the time at which it was reached.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0
    }

    /// `true` if [`Event::synchronize`] lets the thread sleep.
    #[must_use]
    pub fn is_blocking_sync(&self) -> bool {
        self.flags & CUevent_flags::CU_EVENT_BLOCKING_SYNC.0 != 0
    }

    /// Takes note of the capture that it has been recorded in. A record while nothing is captured need not:
    /// the capture it was recorded in before is over.
    pub(crate) fn note_capture(&self, capture: Option<CaptureId>) {
        self.last_capture().store(capture.map_or(0, CaptureId::number), Ordering::Relaxed);
    }

    fn last_capture(&self) -> &AtomicU64 {
        self.shared.get().map_or(&self.capture, |shared| &shared.capture)
    }

    /// The capture that it was last recorded in, which may be over.
    pub(crate) fn capture(&self) -> u64 {
        self.last_capture().load(Ordering::Relaxed)
    }

    /// The event, to be kept by a graph.
    pub(crate) fn share(&self) -> Arc<SharedEvent> {
        let share = || {
            let shared = SharedEvent::new(Handle::new(self.as_raw()), self.flags, &self.context);
            shared.capture.store(self.capture.load(Ordering::Relaxed), Ordering::Relaxed);
            Arc::new(shared)
        };
        Arc::clone(self.shared.get_or_init(share))
    }

    /// Refuses an event of a capture that is not over: the driver would spoil the capture.
    fn refuse_captured(&self) -> Result<()> {
        if capture::any() { capture::check_event(self.capture()) } else { Ok(()) }
    }

    pub(crate) fn driver(&self) -> &Driver {
        self.context.driver()
    }

    /// Waits until it is done, with the processor busy unless it was made for
    /// [blocking sync](EventOptions::blocking_sync).
    ///
    /// # Errors
    ///
    /// [`CaptureError::CapturedEvent`](crate::CaptureError) if it is part of a capture, and the driver's
    /// error, which may be a failure of the work before it.
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.context.check_generation()?;
        self.refuse_captured()?;
        // SAFETY: `self` keeps the event alive.
        unsafe { self.driver().cuEventSynchronize(self.as_raw()) }?;
        completion::drop_done();
        Ok(())
    }

    /// `true` if it is done.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the work before it.
    #[doc(alias = "cuEventQuery")]
    pub fn is_complete(&self) -> Result<bool> {
        self.context.check_generation()?;
        self.refuse_captured()?;
        // SAFETY: `self` keeps the event alive.
        Ok(unsafe { self.driver().cuEventQuery(self.as_raw()) }.ready()?)
    }
}

impl<T: Timing> Drop for Event<T> {
    fn drop(&mut self) {
        if self.shared.get().is_none() {
            shared::give_back(&self.context, self.flags, Handle::new(self.raw.raw()));
        }
    }
}

impl<T: Timing> fmt::Debug for Event<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Event");
        text.field("raw", &self.as_raw()).field("is_timed", &self.is_timed()).field("device", self.device()).finish()
    }
}
