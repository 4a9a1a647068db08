//! Order between streams: recording events and waiting for them.
#![expect(unsafe_code, reason = "records and waits for raw events")]

use std::sync::Arc;

use super::Stream;
use crate::capture::{self, RelaxedMode};
use crate::device::same_driver;
use crate::event::{EventOptions, Timed, Timing};
use crate::{CaptureError, Error, Event, EventError, Result};

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
        let turn = self.turn();
        if let Some(sequence) = turn.sequence() {
            sequence.forget_record(event);
        }
        // SAFETY: both are alive and belong to the same context.
        self.signal(|raw| unsafe { self.driver().cuEventRecord(event.as_raw(), raw) })?;
        match turn.sequence() {
            Some(sequence) => sequence.recorded(self, event),
            None if capture::any() => event.note_capture(None),
            None => {}
        }
        Ok(())
    }

    /// As [`Stream::record`], for a stream that is not captured yet although it counts as such. No other thread
    /// makes a call on it meanwhile.
    pub(crate) fn record_now(&self) -> Result<Arc<Event>> {
        self.context().check_generation()?;
        let event = Event::unrecorded(self.context(), EventOptions::untimed())?;
        // SAFETY: both are alive and belong to the same context.
        self.signal_now(|raw| unsafe { self.driver().cuEventRecord(event.as_raw(), raw) })?;
        Ok(Arc::new(event))
    }

    /// As [`Stream::record`]; `None` if the stream is captured.
    pub(super) fn record_outside(&self) -> Result<Option<Event>> {
        self.check_thread()?;
        let event = Event::unrecorded(self.context(), EventOptions::untimed())?;
        // SAFETY: both are alive and belong to the same context.
        match self.outside_captures(|raw| unsafe { self.driver().cuEventRecord(event.as_raw(), raw) }) {
            Ok(recorded) => Ok(recorded.map(|()| Some(event))?),
            Err(Error::Capture(CaptureError::BeganMeanwhile)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// An event that is done when the work is that the stream runs so far; captured work does not run.
    pub(crate) fn mark_work(&self) -> Result<Arc<Event>> {
        loop {
            if let Some(before) = capture::any().then(|| capture::before(self)).flatten() {
                return Ok(before);
            }
            // Otherwise a capture of it has begun since.
            if let Some(event) = self.record_outside()? {
                return Ok(Arc::new(event));
            }
        }
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
    /// driver, [`CaptureError`] if one of the two is part of a capture and the other
    /// cannot be, and the driver's error.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        self.check_wait(event)?;
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

    #[inline]
    fn check_wait<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        self.context().check_generation()?;
        if event.context() != self.context() {
            same_driver(self.driver(), event.driver())?;
            event.context().check_generation()?;
        }
        Ok(())
    }

    #[cold]
    fn wait_among_captures<T: Timing>(&self, event: &Event<T>) -> Result<()> {
        loop {
            let turn = self.turn();
            let Some(joined) = capture::check_work(self, event.capture())? else {
                self.wait_now(event)?;
                turn.sequence().into_iter().for_each(|sequence| sequence.waited(self, event));
                return Ok(());
            };
            drop(turn);
            // SAFETY: both are alive, and of the same driver. The driver keeps what it needs of the event.
            let wait = || self.signal_now(|raw| unsafe { self.driver().cuStreamWaitEvent(raw, event.as_raw(), 0) });
            // Otherwise another thread was faster: the capture is over, or the stream is part of one.
            if let Some(waited) = joined.join_by(self, || wait().inspect(|()| joined.waited(self, event))) {
                return waited;
            }
        }
    }

    /// As [`Stream::wait`], for streams and events that are not captured.
    pub(super) fn wait_outside(&self, event: &Event) -> Result<()> {
        self.check_wait(event)?;
        // SAFETY: both are alive, and of the same driver. The driver keeps what it needs of the event.
        Ok(self.outside_captures(|raw| unsafe { self.driver().cuStreamWaitEvent(raw, event.as_raw(), 0) })??)
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

    /// As [`Stream::wait_for`], for the work that another stream runs; captured work does not run. It waits for no
    /// turn, so that callers may hold locks that are taken during one.
    pub(crate) fn follow(&self, other: &Stream) -> Result<()> {
        same_driver(self.driver(), other.driver())?;
        if self == other {
            return Ok(());
        }
        self.check_thread()?;
        loop {
            if let Some(before) = capture::any().then(|| capture::before(other)).flatten() {
                return self.wait_outside(&before);
            }
            // Otherwise a capture of it has begun since.
            if let Some(event) = other.record_outside()? {
                return self.wait_outside(&event);
            }
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
