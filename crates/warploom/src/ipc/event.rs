//! `IpcEvent`: events that several processes wait for.
#![expect(unsafe_code, reason = "owns raw events")]

use std::ffi::c_char;
use std::fmt;
use std::ptr::null_mut;

use warploom_driver::ResultExt as _;
use warploom_driver::sys::types::{CUevent, CUevent_flags, CUevent_st, CUipcEventHandle};

use super::EventDescriptor;
use super::origin::Origin;
use crate::device::same_driver;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::{Context, Result, Stream, callback, reclaimer};

/// A point in a stream that other processes can wait for, marked by [`Stream::record_ipc`], or one of another
/// process, opened by [`IpcEvent::import`].
///
/// It has no time, and is recorded once: the point that another process waits for does not move.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let stream = driver.device(0)?.context()?.stream()?;
/// // … work on the stream
/// let written = stream.record_ipc()?;
/// let bytes = written.descriptor().to_bytes(); // to be sent to another process
/// written.synchronize()?;
/// assert!(written.is_complete()?);
/// # Ok(())
/// # }
/// ```
pub struct IpcEvent {
    raw: Handle<CUevent_st>,
    context: Context,
    descriptor: EventDescriptor,
    is_imported: bool,
    _mark: Mark,
}

impl IpcEvent {
    /// Takes over an event of the context.
    fn over(raw: CUevent, context: &Context, descriptor: EventDescriptor, is_imported: bool) -> IpcEvent {
        let mark = mark(context, || (Kind::Event, raw.addr() as u64, 0));
        IpcEvent { raw: Handle::new(raw), context: context.clone(), descriptor, is_imported, _mark: mark }
    }

    /// Opens an event of another process, for streams of any context to wait for; `context` is the one that
    /// opens it.
    ///
    /// ```no_run
    /// use warploom::Context;
    /// use warploom::ipc::{EventDescriptor, IpcEvent};
    ///
    /// fn after(received: &[u8], context: &Context) -> warploom::Result<()> {
    ///     let descriptor = EventDescriptor::from_bytes(received)?;
    ///     // SAFETY: the sender keeps its event until this process says that it is done.
    ///     let written = unsafe { IpcEvent::import(context, &descriptor) }?;
    ///     context.stream()?.wait_ipc(&written)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`IpcError::OtherMachine`](super::IpcError::OtherMachine) and
    /// [`IpcError::OwnProcess`](super::IpcError::OwnProcess) without a driver call, and the driver's error,
    /// also if the process that made the event is gone.
    ///
    /// # Safety
    ///
    /// The descriptor is one that [`IpcEvent::descriptor`] returned in another process, which keeps its event
    /// for as long as this value and the waits that were enqueued with it. The driver does not check this:
    /// operations on an event whose maker has destroyed it are undefined.
    #[doc(alias = "cuIpcOpenEventHandle")]
    pub unsafe fn import(context: &Context, descriptor: &EventDescriptor) -> Result<IpcEvent> {
        descriptor.check_origin()?;
        let (_current, mut raw) = (context.current()?, null_mut());
        let handle = CUipcEventHandle { reserved: descriptor.payload.map(|byte| c_char::from_ne_bytes([byte])) };
        // SAFETY: `raw` is writable, and `_current` keeps the context current; the caller vouches for the
        // handle.
        unsafe { context.driver().cuIpcOpenEventHandle(&raw mut raw, handle) }?;
        Ok(IpcEvent::over(raw, context, descriptor.clone(), true))
    }

    /// Its description for other processes. An imported event has that of its maker, to be passed on.
    #[must_use]
    pub fn descriptor(&self) -> &EventDescriptor {
        &self.descriptor
    }

    /// The context that made or opened it.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// `true` if another process made it.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.is_imported
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUevent {
        self.raw.raw()
    }

    /// Waits until it is done, with the processor busy. If the process that made it is killed before, an
    /// H200's driver does not come back from the wait; [`IpcEvent::is_complete`] can be asked with a
    /// deadline.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the work before it.
    #[doc(alias = "cuEventSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.context.check_generation()?;
        // SAFETY: `self` keeps the event alive.
        Ok(unsafe { self.context.driver().cuEventSynchronize(self.as_raw()) }?)
    }

    /// `true` if it is done.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the work before it.
    #[doc(alias = "cuEventQuery")]
    pub fn is_complete(&self) -> Result<bool> {
        self.context.check_generation()?;
        // SAFETY: `self` keeps the event alive.
        Ok(unsafe { self.context.driver().cuEventQuery(self.as_raw()) }.ready()?)
    }
}

impl Stream {
    /// Marks the point the stream has come to, for other processes to wait for. It is a new event each time,
    /// which the context does not keep for the next.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotCapturable`](crate::CaptureError::NotCapturable) if the stream is captured, and the
    /// driver's error: `CUDA_ERROR_NOT_SUPPORTED` for a device without such events.
    #[doc(alias = "CU_EVENT_INTERPROCESS")]
    #[doc(alias = "cuIpcGetEventHandle")]
    pub fn record_ipc(&self) -> Result<IpcEvent> {
        self.check_thread()?;
        self.refuse_captured("an event for other processes")?;
        let origin = Origin::here()?;
        let (context, driver, mut raw) = (self.context(), self.context().driver(), null_mut());
        let flags = CUevent_flags::CU_EVENT_INTERPROCESS.0 | CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
        let _current = context.current()?;
        // SAFETY: `raw` is writable, and `_current` keeps the context current.
        unsafe { driver.cuEventCreate(&raw mut raw, flags) }?;
        let mut event = IpcEvent::over(raw, context, EventDescriptor { origin, payload: [0; 64] }, false);
        // SAFETY: both are alive and belong to the same context.
        self.signal(|stream| unsafe { driver.cuEventRecord(raw, stream) })?;
        let mut handle = CUipcEventHandle { reserved: [0; 64] };
        // SAFETY: `handle` is writable, and the event is alive.
        unsafe { driver.cuIpcGetEventHandle(&raw mut handle, raw) }?;
        event.descriptor.payload = handle.reserved.map(|byte| byte.to_ne_bytes()[0]);
        Ok(event)
    }

    /// Makes later work wait until an event of this or another process is done; the host does not wait. If
    /// that process is killed before, later work may wait for good: ask [`IpcEvent::is_complete`] first where
    /// that matters.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the event belongs to another
    /// driver, [`CaptureError::NotCapturable`](crate::CaptureError::NotCapturable) if the stream is captured,
    /// and the driver's error.
    #[doc(alias = "cuStreamWaitEvent")]
    pub fn wait_ipc(&self, event: &IpcEvent) -> Result<()> {
        same_driver(self.context().driver(), event.context().driver())?;
        self.context().check_generation()?;
        event.context().check_generation()?;
        self.refuse_captured("a wait for an event of other processes")?;
        // SAFETY: both are alive, and of the same driver. The driver keeps what it needs of the event.
        self.signal(|raw| unsafe { self.context().driver().cuStreamWaitEvent(raw, event.as_raw(), 0) })
    }
}

/// An event that is destroyed where the driver may be called.
struct Destroyed {
    raw: Handle<CUevent_st>,
    context: Context,
}

impl Drop for Destroyed {
    fn drop(&mut self) {
        if !self.context.is_current_generation() {
            return; // it went with the context's last generation
        }
        // SAFETY: it came from the driver in a context that is still alive, and nothing else owns it. Streams
        // that wait for it are not disturbed.
        report(|| Subject::Event, unsafe { self.context.driver().cuEventDestroy_v2(self.raw.raw()) });
    }
}

impl Drop for IpcEvent {
    fn drop(&mut self) {
        let destroyed = Destroyed { raw: Handle::new(self.raw.raw()), context: self.context.clone() };
        if callback::is_running() {
            reclaimer::defer(destroyed);
        }
    }
}

impl fmt::Debug for IpcEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("IpcEvent");
        text.field("raw", &self.as_raw()).field("is_imported", &self.is_imported);
        text.field("device", self.context.device()).finish()
    }
}
