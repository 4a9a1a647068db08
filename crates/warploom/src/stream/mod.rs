//! Streams: ordered queues of work.
//!
//! | made by | destroyed by | its handle means |
//! |---|---|---|
//! | [`Context::stream`], [`Context::stream_with`] | the last value | the same everywhere |
//! | [`Stream::from_raw`], [`Stream::borrow_raw`] | other code | the same everywhere |
//! | [`Context::legacy_stream`] | – | a stream of whichever context is current |
//! | [`Context::per_thread_stream`] | – | a stream of whichever context is current, and of the calling thread |
//!
//! A default stream is a value like any other here: it is bound to its context, and its calls make that
//! context current.
#![expect(unsafe_code, reason = "owns a raw stream")]

mod default;
mod error;
mod foreign;
mod host;
mod info;
mod options;
mod order;
mod weak;
mod word;
mod word_operation;

pub use error::StreamError;
pub use host::HostTask;
pub use info::CaptureStatus;
pub use options::{Priority, StreamOptions};
pub(crate) use weak::{WeakStream, Work};
pub use word::{Comparison, StreamWord, WordValue};
pub(crate) use word_operation::UsedWords;
pub use word_operation::WordOperation;

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use warploom_driver::ResultExt as _;
use warploom_driver::sys::types::{CUstream, CUstream_st};

use self::default::ThreadKey;
use self::info::StreamInfo;
use self::weak::Remains;
use crate::capture::{Claim, Turn};
use crate::context::Current;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::{CaptureError, Context, Device, Driver, Result, callback, capture, completion, reclaimer};

/// A queue of work on a device: its work runs in order, and in no order with other streams until a
/// [wait](Stream::wait) makes one.
///
/// A clone is another handle to the same stream. Two are equal if they are the same stream.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (first, second) = (context.stream()?, context.stream()?);
/// second.wait(&first.record()?)?; // later work on `second` runs after the work on `first` so far
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
    origin: Origin,
    context: Context,
    info: StreamInfo,
    /// For lists of streams, as soon as the first refers to it.
    remains: OnceLock<Arc<Remains>>,
    _mark: Mark,
}

/// The origin of a stream: the meaning of its handle, and its owner.
enum Origin {
    /// Made here, and destroyed here.
    Created,
    /// Created by other code; the owner is held, and the stream is not destroyed.
    Foreign { _owner: Box<dyn Any + Send + Sync> },
    /// The legacy default stream of the context.
    Legacy,
    /// The default stream of the context for one thread.
    PerThread(ThreadKey),
}

impl Stream {
    /// # Safety
    ///
    /// It is a stream of the context, and stays so while `origin` lives; a created one has no other owner.
    unsafe fn new(raw: CUstream, origin: Origin, context: &Context, info: StreamInfo) -> Stream {
        let is_made = matches!(origin, Origin::Created);
        let mark = if is_made { mark(context, || (Kind::Stream, raw.addr() as u64, 0)) } else { Mark::default() };
        let (raw, context) = (Handle::new(raw), context.clone());
        let remains = OnceLock::new();
        Stream { shared: Arc::new(Shared { raw, origin, context, info, remains, _mark: mark }) }
    }

    /// The context its work runs in.
    #[must_use]
    #[inline]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The device its work runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.context().device()
    }

    /// The raw handle; valid while this value is held.
    ///
    /// The caller keeps the memory of work enqueued by it while the stream is captured; see [`capture`].
    ///
    /// The handle of a default stream is a constant that stands for a stream of the current context and of
    /// the calling thread: [`Stream::with_raw`] takes care of both.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> CUstream {
        self.shared.raw.raw()
    }

    /// Calls with the driver's own handle, where it means this stream.
    ///
    /// For a default stream, the context is made current, and the previous one is restored afterwards; for
    /// any other, this does nothing but call.
    ///
    /// # Errors
    ///
    /// [`StreamError::OtherThread`] for the per-thread default stream of another thread,
    /// [`ContextError::Stale`](crate::ContextError::Stale) if the context has been reset, and the driver's
    /// error when the context is made current. Then nothing was called.
    #[inline]
    pub fn with_raw<R>(&self, call: impl FnOnce(CUstream) -> R) -> Result<R> {
        self.context().check_generation()?;
        let _current = if self.is_default() { Some(self.make_current()?) } else { None };
        Ok(call(self.as_raw()))
    }

    /// Makes a call with the driver's own handle, as [`Stream::with_raw`] does, for callers that have just
    /// checked that the context has not been reset ([`Context::serves`](crate::Context)).
    #[inline]
    pub(crate) fn enqueue(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        if !self.is_default() {
            let _mark = capture::mark(self);
            if !capture::any() {
                return Ok(call(self.as_raw())?);
            }
        }
        self.enqueue_rarely(call)
    }

    /// The same for a default stream, and while a stream is captured.
    #[cold]
    #[inline(never)]
    fn enqueue_rarely(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        capture::enqueue(self, || self.signal_now(call))
    }

    /// As [`Stream::enqueue`], for calls that add no node to a capture.
    #[inline]
    pub(crate) fn signal(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        if !self.is_default() {
            let _mark = capture::mark(self);
            if !capture::any() {
                return Ok(call(self.as_raw())?);
            }
        }
        self.signal_rarely(call)
    }

    /// The same for a default stream, and while a stream is captured.
    #[cold]
    #[inline(never)]
    fn signal_rarely(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        let _claim = capture::claim(self)?;
        self.signal_now(call)
    }

    /// Makes a call with the driver's own handle, as [`Stream::with_raw`] does, that must not be captured.
    ///
    /// # Errors
    ///
    /// [`CaptureError::BeganMeanwhile`] if the stream is captured, which callers have asked before, and as
    /// [`Stream::with_raw`]. Then nothing was called.
    #[inline]
    pub(crate) fn outside_captures<R>(&self, call: impl FnOnce(CUstream) -> R) -> Result<R> {
        let mark = capture::mark(self);
        let _claim = if capture::any() {
            drop(mark);
            self.claim_outside()?
        } else {
            Claim::Runs(mark)
        };
        self.with_raw(call)
    }

    #[cold]
    fn claim_outside(&self) -> Result<Claim> {
        match capture::claim(self)? {
            Claim::Captured(_) => Err(CaptureError::BeganMeanwhile.into()),
            runs @ Claim::Runs(_) => Ok(runs),
        }
    }

    /// As [`Stream::signal`], for callers that know that no capture of the stream begins or ends meanwhile.
    fn signal_now(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        if self.is_default() {
            return self.signal_by_number(call);
        }
        Ok(call(self.as_raw())?)
    }

    /// Has the calling thread alone make calls on the stream's capture, if it is part of one, until the turn
    /// is dropped.
    #[inline]
    pub(crate) fn turn(&self) -> Turn {
        if capture::any() { Turn::among_captures(self) } else { Turn::free() }
    }

    /// The same for a default stream, whose handle means it only where its context is current.
    #[cold]
    #[inline(never)]
    fn signal_by_number(&self, call: impl FnOnce(CUstream) -> warploom_driver::Result<()>) -> Result<()> {
        let _current = self.make_current()?;
        Ok(call(self.as_raw())?)
    }

    /// Refuses a captured stream, for operations that cannot be captured.
    #[inline]
    pub(crate) fn refuse_captured(&self, what: &'static str) -> Result<()> {
        if self.is_captured() {
            return Err(CaptureError::NotCapturable { what }.into());
        }
        Ok(())
    }

    /// `true` if the stream is part of a capture. During a [turn](Stream::turn), that stays so.
    #[inline]
    pub(crate) fn is_captured(&self) -> bool {
        capture::any() && capture::of(self).is_some()
    }

    /// `true` if its handle means a stream of whichever context is current.
    #[inline]
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.shared.origin, Origin::Legacy | Origin::PerThread(_))
    }

    /// Makes the handle of a default stream mean this one.
    #[cold]
    fn make_current(&self) -> Result<Current<'_>> {
        self.check_thread()?;
        capture::check_legacy(self)?;
        self.context().current()
    }

    /// Refuses the stream of another thread.
    #[inline]
    pub(crate) fn check_thread(&self) -> Result<()> {
        match &self.shared.origin {
            Origin::PerThread(thread) if !thread.is_this() => Err(StreamError::OtherThread.into()),
            _ => Ok(()),
        }
    }

    /// `true` if no other value is a handle to the stream, except for those made from the raw handle.
    pub(crate) fn is_only_handle(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    #[inline]
    pub(crate) fn driver(&self) -> &Driver {
        self.shared.context.driver()
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotCapturable`] if the stream is captured, and the driver's error, which may be a
    /// failure of that work.
    #[doc(alias = "cuStreamSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        self.refuse_captured("a wait of the host")?;
        // SAFETY: `self` keeps the stream alive.
        self.with_raw(|raw| unsafe { self.driver().cuStreamSynchronize(raw) })??;
        completion::drop_done();
        Ok(())
    }

    /// `true` if everything enqueued so far is done.
    ///
    /// # Errors
    ///
    /// As [`Stream::synchronize`].
    #[doc(alias = "cuStreamQuery")]
    pub fn is_idle(&self) -> Result<bool> {
        self.refuse_captured("the question whether it is idle")?;
        // SAFETY: `self` keeps the stream alive.
        Ok(self.with_raw(|raw| unsafe { self.driver().cuStreamQuery(raw) })?.ready()?)
    }

    /// Ends this handle. If it is the last, the stream is destroyed; work that it still has is finished by
    /// the driver.
    ///
    /// Dropping does the same, and can only report a failure.
    ///
    /// # Errors
    ///
    /// The driver's error. The stream is gone from this program's hands all the same.
    #[doc(alias = "cuStreamDestroy")]
    pub fn close(self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        let last = Arc::into_inner(self.shared);
        let last = last.and_then(|last| if last.is_remembered() { last.leave() } else { Some(last) });
        last.map_or(Ok(()), |mut last| last.end())
    }

    /// Waits until everything enqueued so far is done, and gives back the host memory that was lent to the
    /// last call.
    ///
    /// If that call or the wait fails, work may still be using the memory, now or later: a call that fails
    /// may have enqueued its work all the same. Then the memory is never freed.
    pub(crate) fn finish<T>(&self, lent: Vec<T>, enqueued: Result<warploom_driver::Result<()>>) -> Result<Vec<T>> {
        let lent = ManuallyDrop::new(lent);
        enqueued.and_then(|answer| Ok(answer?)).and_then(|()| self.synchronize())?;
        Ok(ManuallyDrop::into_inner(lent))
    }
}

impl Shared {
    /// Everything but the shell.
    fn take(&mut self) -> Shared {
        Shared {
            raw: Handle::new(self.raw.raw()),
            origin: std::mem::replace(&mut self.origin, Origin::Foreign { _owner: Box::new(()) }),
            context: self.context.clone(),
            info: std::mem::take(&mut self.info),
            remains: std::mem::take(&mut self.remains),
            _mark: std::mem::take(&mut self._mark),
        }
    }

    /// Destroys a stream that was made here; the second time, there is nothing left to destroy.
    fn end(&mut self) -> Result<()> {
        if !matches!(self.origin, Origin::Created) {
            return Ok(());
        }
        self.origin = Origin::Foreign { _owner: Box::new(()) };
        if !self.context.is_current_generation() {
            return Ok(()); // it went with the context's last generation
        }
        // SAFETY: `raw` came from the driver in `context`, which is still alive, and nothing else owns it.
        // Work that is still enqueued is finished by the driver.
        Ok(unsafe { self.context.driver().cuStreamDestroy_v2(self.raw.raw()) }?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_remembered() {
            return drop(self.take().leave());
        }
        if callback::is_running() && matches!(self.origin, Origin::Created) {
            return reclaimer::defer(self.take());
        }
        let ended = self.end();
        report(|| Subject::Stream { device: self.context.device().ordinal() }, ended);
    }
}

/// The identity of a stream in its context: the handle, and for a per-thread default stream the thread. Does
/// not keep the stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    handle: usize,
    thread: Option<ThreadKey>,
}

impl Stream {
    /// Its identity.
    pub(crate) fn key(&self) -> StreamKey {
        let thread = if let Origin::PerThread(thread) = &self.shared.origin { Some(*thread) } else { None };
        StreamKey { handle: self.as_raw().addr(), thread }
    }

    /// `true` if two values are the same stream to the driver.
    #[inline(never)]
    fn is_alike(&self, other: &Stream) -> bool {
        self.key() == other.key() && self.context() == other.context()
    }
}

impl PartialEq for Stream {
    /// `true` if the two are the same stream.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) || self.is_alike(other)
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        self.context().as_raw().hash(state);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match &self.shared.origin {
            Origin::Created => "created",
            Origin::Foreign { .. } => "foreign",
            Origin::Legacy => "legacy default",
            Origin::PerThread(_) => "per-thread default",
        };
        let origin = format_args!("{origin}");
        let mut text = formatter.debug_struct("Stream");
        text.field("raw", &self.as_raw()).field("origin", &origin).field("device", self.device()).finish()
    }
}
