//! The current context of a thread, and making another one current.
#![expect(unsafe_code, reason = "changes the thread's current context, and asks for it")]

use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use warploom_driver::sys::types::CUcontext;

use super::{Context, GenerationWatch, Shared};
use crate::device::{device_of, initialize};
use crate::diagnostics::{Subject, report};
use crate::{ContextError, Device, Driver, Result};

/// The current context of the calling thread, and resets of primary contexts.
///
/// For programs that mix this crate with code that relies on the current context. No call of this crate
/// depends on it, and none leaves it changed. Each call here initializes the driver if that has not been
/// done.
impl Driver {
    /// The context that is current on this thread; `None` if none is.
    ///
    /// ```
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// assert_eq!(driver.current_context()?, None);
    /// context.scope(|| assert_eq!(driver.current_context().as_ref(), Ok(&Some(context.clone()))))?;
    /// assert_eq!(driver.current_device()?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ContextError::Untracked`] for one that is neither an active primary context nor was made or taken
    /// over here: its owner may destroy it at any time. And the driver's error.
    #[doc(alias = "cuCtxGetCurrent")]
    pub fn current_context(&self) -> Result<Option<Context>> {
        initialize(self)?;
        let raw = current_raw(self)?;
        if raw.is_null() {
            return Ok(None);
        }
        if let Some(known) = self.extension::<Known>().find(raw) {
            return Ok(Some(known));
        }
        let device = device_of_current(self)?;
        // An inactive one would be activated by asking for it.
        let primary = if device.has_active_context()? { Some(device.context()?) } else { None };
        match primary.filter(|primary| primary.as_raw() == raw) {
            Some(primary) => Ok(Some(primary)),
            None => Err(ContextError::Untracked { device: device.ordinal() }.into()),
        }
    }

    /// The device of the context that is current on this thread; `None` if none is.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuCtxGetDevice")]
    pub fn current_device(&self) -> Result<Option<Device>> {
        initialize(self)?;
        if current_raw(self)?.is_null() {
            return Ok(None);
        }
        device_of_current(self).map(Some)
    }

    /// Tells when the primary context of any device is reset.
    ///
    /// # Errors
    ///
    /// The driver's error when it is asked for its devices.
    pub fn watch_generations(&self) -> Result<GenerationWatch> {
        Ok(GenerationWatch::over(&self.devices()?))
    }
}

fn current_raw(driver: &Driver) -> Result<CUcontext> {
    let mut raw = null_mut();
    // SAFETY: `raw` is writable.
    unsafe { driver.cuCtxGetCurrent(&raw mut raw) }?;
    Ok(raw)
}

/// The device of the current context, which there is.
pub(super) fn device_of_current(driver: &Driver) -> Result<Device> {
    let mut raw = 0;
    // SAFETY: `raw` is writable.
    unsafe { driver.cuCtxGetDevice(&raw mut raw) }?;
    device_of(driver, raw)
}

/// The contexts of a driver that were made or taken over here, so that one that is seen again is recognised.
#[derive(Default)]
struct Known(Mutex<Vec<Weak<Shared>>>);

impl Known {
    fn find(&self, raw: CUcontext) -> Option<Context> {
        self.all().into_iter().find(|context| context.as_raw() == raw)
    }

    /// Those of a device.
    fn of_device(&self, device: &Device) -> Vec<Context> {
        self.all().into_iter().filter(|context| context.device() == device).collect()
    }

    /// All that are held. They are dropped without the lock: each may be the last to hold its context.
    fn all(&self) -> Vec<Context> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter_map(Weak::upgrade).map(|shared| Context { shared }).collect()
    }

    fn add(&self, context: &Context) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|held| held.strong_count() > 0);
        known.push(Arc::downgrade(&context.shared));
    }
}

impl Device {
    /// Waits until everything enqueued in its contexts is done: in its primary context, if any code in the
    /// process holds it, and in those that were made or taken over here.
    pub(crate) fn synchronize_contexts(&self) -> Result<()> {
        if self.has_active_context()? {
            self.context()?.synchronize()?;
        }
        self.driver().extension::<Known>().of_device(self).iter().try_for_each(Context::synchronize)
    }
}

impl Context {
    /// Lets [`Driver::current_context`] recognise it.
    pub(super) fn remember(&self) {
        self.driver().extension::<Known>().add(self);
    }

    /// Runs `body` with the context current on this thread; afterwards, also if it panics, the context that
    /// was current before is current again, which may be none.
    ///
    /// For code that relies on the current context. Nothing in this crate does.
    ///
    /// # Errors
    ///
    /// [`ContextError::Stale`], and the driver's error when the context is made current; then `body` did not
    /// run.
    #[doc(alias = "cuCtxSetCurrent")]
    #[doc(alias = "cuCtxPushCurrent")]
    pub fn scope<R>(&self, body: impl FnOnce() -> R) -> Result<R> {
        let _current = self.current()?;
        Ok(body())
    }

    /// Makes the context current on this thread until the guard is dropped.
    pub(crate) fn current(&self) -> Result<Current<'_>> {
        self.check_generation()?;
        // SAFETY: the guard borrows `self`, which keeps the context alive.
        unsafe { Current::enter(self.driver(), self.as_raw()) }
    }
}

/// A context that is current on this thread; the previous one is restored when this is dropped.
///
/// The raw pointer keeps it on its thread.
pub(crate) struct Current<'a> {
    driver: &'a Driver,
    /// The context to restore, which may be null; `None` if the context was current already.
    previous: Option<CUcontext>,
}

impl<'a> Current<'a> {
    /// Makes a context current.
    ///
    /// # Safety
    ///
    /// `raw` is a context of the driver, and is one until the guard is dropped.
    pub(super) unsafe fn enter(driver: &'a Driver, raw: CUcontext) -> Result<Current<'a>> {
        let previous = current_raw(driver)?;
        if previous == raw {
            return Ok(Current { driver, previous: None });
        }
        // SAFETY: the caller vouches for the context.
        unsafe { driver.cuCtxSetCurrent(raw) }?;
        Ok(Current { driver, previous: Some(previous) })
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: it was current on this thread a moment ago, or it is null, which leaves none current.
            report(|| Subject::CurrentContext, unsafe { self.driver.cuCtxSetCurrent(previous) });
        }
    }
}
