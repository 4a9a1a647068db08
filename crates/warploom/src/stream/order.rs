//! Order between streams: recording events and waiting for them.
#![expect(unsafe_code, reason = "records and waits for raw events")]

use super::Stream;
use crate::capture::{self, RelaxedMode};
use crate::device::same_driver;
use crate::event::{EventOptions, Timed, Timing};
use crate::{CaptureStatus, Event, EventError, Result};

impl Stream {
    /// Marks the point the stream has come to: an event that is done when everything enqueued so far is done.
    ///
    /// One driver call, as soon as an event has been dropped before: the context keeps dropped events for the
    /// next.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuEventRecord")]
    pub fn record(&self) -> Result<Event> {
        self.record_with(EventOptions::untimed())
    }

    /// As [`Stream::record`], with the time at which the point is reached.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn record_timed(&self) -> Result<Event<Timed>> {
        self.record_with(EventOptions::timed())
    }

    /// As [`Stream::record`], with an event of the kind that is asked for.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn record_with<T: Timing>(&self, options: EventOptions<T>) -> Result<Event<T>> {
        self.check_thread()?;
        let mut event = Event::unrecorded(self.context(), options)?;
        self.record_into(&mut event)?;
        Ok(event)
    }

    /// Moves an event to the point the stream has come to. Earlier waits for it are not affected.
    ///
    /// The event is borrowed exclusively: a shared reference can only be waited for, so that
    /// code which was given one cannot move the event.
    ///
    /// Exactly one driver call.
    ///
    /// # Errors
    ///
    /// [`EventError::ContextMismatch`] if the event belongs to another context, and the driver's error.
    #[doc(alias = "cuEventRecord")]
    pub fn record_into<T: Timing>(&self, event: &mut Event<T>) -> Result<()> {
        if event.context() != self.context() {
            same_driver(self.driver(), event.driver())?;
            let (event, stream) = (event.context().device().ordinal(), self.device().ordinal());
            return Err(EventError::ContextMismatch { event, stream }.into());
        }
        self.context().check_generation()?;
        let _turn = self.turn();
        if capture::any() {
            capture::forget_record(self, event);
        }
        // SAFETY: both are alive and belong to the same context.
        self.signal(|raw| unsafe { self.driver().cuEventRecord(event.as_raw(), raw) })?;
        if capture::any() {
            capture::recorded(self, event);
        }
        Ok(())
    }

    /// Makes later work wait until the event is done; the host does not wait. The event may belong to another
    /// device.
    ///
    /// Exactly one driver call. Recording the event again later makes no difference. If the event is part of
    /// a [capture](crate::capture), so is the stream from now on.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the event belongs to another
    /// driver, [`CaptureError`](crate::CaptureError) if one of the two is part of a capture and the other
    /// cannot be, and the driver's error.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        self.context().check_generation()?;
        if event.context() != self.context() {
            same_driver(self.driver(), event.driver())?;
            event.context().check_generation()?;
        }
        if capture::any() {
            return self.wait_among_captures(event);
        }
        self.wait_now(event)
    }

    #[inline]
    fn wait_now<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        // SAFETY: both are alive, and of the same driver. The driver keeps what it needs of the event.
        self.signal(|raw| unsafe { self.driver().cuStreamWaitEvent(raw, event.as_raw(), 0) })
    }

    #[cold]
    fn wait_among_captures<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        let turn = self.turn();
        let Some(joined) = capture::check_work(self, event.capture())? else {
            return self.wait_now(event).inspect(|()| capture::waited(self, event));
        };
        drop(turn);
        let before = self.record()?;
        // Before the wait, so that no thread finds the stream captured without its capture.
        joined.join(self, before);
        let waited = self.wait_now(event).inspect(|()| capture::waited(self, event));
        waited.inspect_err(|_| {
            // The call may have failed when it was done.
            if !matches!(self.capture_status(), Ok(CaptureStatus::Active)) {
                joined.part(self);
            }
        })
    }

    /// Makes later work wait until everything that `other` has so far is done; the host does not wait. The
    /// other stream may belong to another device.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the other stream belongs to
    /// another driver, and the driver's error.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        same_driver(self.driver(), other.driver())?;
        if self == other {
            return Ok(()); // a stream is in order with itself
        }
        self.check_thread()?;
        self.wait(&other.record()?)
    }

    /// As [`Stream::wait_for`], for the work that another stream runs; captured work does not run.
    pub(crate) fn follow(&self, other: &Stream) -> Result<()> {
        match capture::any().then(|| capture::before(other)).flatten() {
            Some(before) => self.wait(&before),
            None => self.wait_for(other),
        }
    }

    /// As [`Stream::synchronize`], for the work that the stream runs, and in spite of captures.
    pub(crate) fn drain(&self) -> Result<()> {
        if !capture::any() {
            return self.synchronize();
        }
        let _relaxed = RelaxedMode::new(self.driver());
        match capture::before(self) {
            Some(before) => before.synchronize(),
            None => self.synchronize(),
        }
    }
}
