//! Contexts: a device in use, and making it current where the driver needs that.
//!
//! | made by | it ends when the last clone, and the last thing made from it, is gone |
//! |---|---|
//! | [`Device::context`] | by giving up its share of the primary context, which others may hold, too |
//! | [`Device::create_context`] | by being destroyed, which waits for its work |
//! | [`Context::from_raw`], [`Context::borrow_raw`] | not at all; the owner is dropped, if there is one |
//!
//! So a context cannot be destroyed while [`Context::scope`] has it current, on this thread or another: the
//! scope borrows it. Where foreign code has made it current by its handle, the driver takes it away from the
//! thread that destroys it, and answers other threads that it is destroyed.
#![expect(unsafe_code, reason = "ends contexts, and asks the driver about the current one")]

mod cache;
mod cached;
mod create;
mod current;
mod error;
mod foreign;
mod generation;
mod limit;
mod memory;
mod options;
mod primary;
mod priority;
mod profiler;
mod watch;
mod words;

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use self::cache::CachePreference;
pub(crate) use self::current::Current;
pub use self::error::ContextError;
pub use self::generation::ContextId;
pub(crate) use self::generation::Generations;
pub use self::limit::Limit;
pub use self::memory::MemoryInfo;
pub use self::options::{ContextOptions, Scheduling};
pub use self::priority::PriorityRange;
pub use self::profiler::ProfilerRange;
pub use self::watch::{GenerationChange, GenerationWatch};

pub(crate) use self::words::Word;

use self::cached::Cached;

use warploom_driver::sys::types::{CUcontext, CUctx_st};

use crate::callback::{self, Home};
use crate::capture;
use crate::device::same_driver;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark_on};
use crate::{Device, Driver, Error, Result, Stream, completion, reclaimer};

/// A device in use: its primary context, which everything in the process shares, or one made for the purpose.
///
/// It stays for as long as a clone, or anything made from one, exists. No call here changes the thread's
/// current context for good. Two are equal if they are the same context of the same driver.
///
/// ```
/// use warploom::Driver;
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
    origin: Origin,
    id: Option<ContextId>,
    cached: Cached,
    _mark: Mark,
}

/// The origin of a context, which decides how it ends.
enum Origin {
    /// The device's primary context, of which one reference is held, in the given generation of it.
    Primary { generation: u64 },
    /// Made here.
    Created,
    /// Created by other code, whose owner is held.
    Foreign { _owner: Box<dyn Any + Send + Sync> },
    /// It has been ended, well or not; only `close` gets here.
    Ended,
}

impl Context {
    /// The driver it belongs to.
    #[must_use]
    #[inline]
    pub fn driver(&self) -> &Driver {
        self.shared.device.driver()
    }

    /// The device that is in use.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> CUcontext {
        self.shared.raw.raw()
    }

    /// Waits until everything enqueued in this context is done.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Context`](crate::CaptureError) while one of its streams is captured, and the driver's
    /// error, which may be a failure of that work.
    #[doc(alias = "cuCtxSynchronize")]
    pub fn synchronize(&self) -> Result<()> {
        capture::check_context(self)?;
        let _current = self.current()?;
        // SAFETY: a context is current, and `_current` keeps it so.
        unsafe { self.driver().cuCtxSynchronize() }?;
        completion::drop_done();
        Ok(())
    }

    /// Tells this value and its clones from others, while one of them is held.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Its cached events, relays, staging memory, words and answers.
    pub(crate) fn cached(&self) -> &Cached {
        &self.shared.cached
    }

    /// Refuses a stream that does not work in this context.
    #[inline]
    pub(crate) fn serves(&self, stream: &Stream) -> Result<()> {
        let other = stream.context();
        if self == other { self.check_generation() } else { Err(self.cannot_serve(other)) }
    }

    #[cold]
    #[inline(never)]
    fn cannot_serve(&self, other: &Context) -> Error {
        match same_driver(self.driver(), other.driver()) {
            Ok(()) => Error::Context(ContextError::Mismatch {
                stream: other.device().ordinal(),
                memory: self.device().ordinal(),
            }),
            Err(error) => error,
        }
    }

    /// Lets go of this value, and says if that fails, which a `drop` can only report.
    ///
    /// If it is the last that holds the context, the context ends, as described for [`Context`]; otherwise
    /// this does nothing.
    ///
    /// # Errors
    ///
    /// The driver's error. The context is not tried again.
    #[doc(alias = "cuCtxDestroy")]
    pub fn close(self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        Arc::into_inner(self.shared).map_or(Ok(()), |mut shared| shared.end())
    }
}

impl Shared {
    /// A context that ends with this value.
    ///
    /// # Safety
    ///
    /// It is a context of the device. By its origin, it was created for this value, or a reference to the
    /// primary context was taken for it.
    unsafe fn owned(raw: CUcontext, device: &Device, origin: Origin) -> Shared {
        let mark = mark_on(device.driver(), || ((Kind::Context, raw.addr() as u64, 0), Some(device.ordinal())));
        let (raw, device, cached) = (Handle::new(raw), device.clone(), Cached::default());
        Shared { raw, device, origin, id: None, cached, _mark: mark }
    }

    /// Everything but the shell.
    fn take(&mut self) -> Shared {
        Shared {
            raw: Handle::new(self.raw.raw()),
            device: self.device.clone(),
            origin: std::mem::replace(&mut self.origin, Origin::Ended),
            id: self.id,
            cached: std::mem::take(&mut self.cached),
            _mark: std::mem::take(&mut self._mark),
        }
    }

    fn end(&mut self) -> Result<()> {
        let (driver, is_over) = (self.device.driver(), self.check_generation().is_err());
        let home = Home::new(driver, self.raw.raw(), self.generation());
        let cached = std::mem::take(&mut self.cached);
        // Objects of a past generation went with it.
        if !is_over {
            cached.end(driver);
        }
        let (ended, is_gone) = match std::mem::replace(&mut self.origin, Origin::Ended) {
            Origin::Primary { .. } => {
                // SAFETY: gives back the one reference that was taken; nothing made from the context is left,
                // since everything made from it holds it. That also goes for a generation of the context that
                // is over.
                let released = unsafe { driver.cuDevicePrimaryCtxRelease_v2(self.device.as_raw()) };
                let is_asked = !is_over && home.has_waiting();
                (released, is_over || is_asked && self.device.has_active_context() == Ok(false))
            }
            Origin::Created => {
                // SAFETY: it was made by `create_context`, and nothing else owns it; as above, nothing made
                // from it is left.
                let destroyed = unsafe { driver.cuCtxDestroy_v2(self.raw.raw()) };
                let is_gone = destroyed.is_ok();
                (destroyed, is_gone)
            }
            Origin::Foreign { .. } | Origin::Ended => (Ok(()), false),
        };
        if is_gone {
            home.drop_waiting();
        }
        Ok(ended?)
    }

    fn generation(&self) -> u64 {
        match self.origin {
            Origin::Primary { generation } => generation,
            _ => 0,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if callback::is_running() && !matches!(self.origin, Origin::Ended) {
            return reclaimer::defer(self.take());
        }
        let ended = self.end();
        report(|| Subject::Context { device: self.device.ordinal() }, ended);
    }
}

impl PartialEq for Context {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
            || self.as_raw() == other.as_raw()
                && self.generation() == other.generation()
                && self.driver().ptr_eq(other.driver())
    }
}

impl Eq for Context {}

impl Hash for Context {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_raw().hash(state);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.shared.origin {
            Origin::Primary { .. } => "primary",
            Origin::Created => "created",
            Origin::Foreign { .. } => "foreign",
            Origin::Ended => "ended",
        };
        formatter
            .debug_struct("Context")
            .field("device", self.device())
            .field("origin", &origin)
            .field("id", &self.id())
            .finish()
    }
}
