//! Relays: streams that wait for an event and then call back.
//!
//! Each has one call at a time, since two on one stream would come in order, and the second might be for an
//! event that is done first. A relay whose call has been made is used again.
#![expect(unsafe_code, reason = "owns raw streams, and has the driver call a C function")]

use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use warploom_driver::sys::types::{CUstream_flags, CUstream_st};

use crate::callback::{self, Callback};
use crate::diagnostics::{Subject, report};
use crate::event::{Event, Timing};
use crate::handle::Handle;
use crate::{Context, Driver, Result};

/// The most relays that are kept while they have nothing to wait for.
const KEPT: usize = 16;

/// A call that the driver is to make.
#[derive(Debug)]
pub struct Call {
    /// The waker; `None` once the call has been made.
    waker: Mutex<Option<Waker>>,
}

impl Call {
    /// Lets the call wake this task, and no other; `false` if the call has been made.
    pub(super) fn is_coming(&self, waker: &Waker) -> bool {
        match &*self.waker() {
            Some(known) if known.will_wake(waker) => return true,
            Some(_) => {}
            None => return false,
        }
        // Wakers are cloned and dropped without the lock: one may poll.
        let mut other = Some(waker.clone());
        let mut known = self.waker();
        let is_coming = known.is_some();
        if is_coming {
            std::mem::swap(&mut *known, &mut other);
        }
        drop(known);
        drop(other);
        is_coming
    }

    fn make(&self) {
        let waker = self.waker().take();
        waker.into_iter().for_each(Waker::wake); // without the lock
    }

    fn has_been_made(&self) -> bool {
        self.waker().is_none()
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The relays of a context.
#[derive(Default)]
pub(crate) struct Relays {
    all: Mutex<Vec<Relay>>,
}

struct Relay {
    raw: Handle<CUstream_st>,
    /// Its newest call.
    call: Arc<Call>,
}

impl Relays {
    /// Lets a task be woken when an event is done.
    pub(crate) fn call_when_done<T: Timing>(&self, event: &Event<T>, waker: &Waker) -> Result<Arc<Call>> {
        let (context, driver) = (event.context(), event.driver());
        let raw = self.take().map_or_else(|| create(context), Ok)?;
        let call = Arc::new(Call { waker: Mutex::new(Some(waker.clone())) });
        let callback = Callback::new(context, {
            let call = Arc::clone(&call);
            move || call.make()
        });
        // SAFETY: both are alive, and of the same driver.
        let waiting = unsafe { driver.cuStreamWaitEvent(raw.raw(), event.as_raw(), 0) };
        // SAFETY: the stream is alive. `stream_callback` takes any number for an argument, and finds nothing
        // under one that is not waiting.
        let enqueue =
            |()| unsafe { driver.cuStreamAddCallback(raw.raw(), Some(callback::stream_callback), callback.data(), 0) };
        if let Err(error) = waiting.and_then(enqueue) {
            callback.take_back();
            destroy(driver, &raw); // it may have begun to wait
            return Err(error.into());
        }
        self.keep(driver, Relay { raw, call: Arc::clone(&call) });
        Ok(call)
    }

    /// A relay that has nothing to wait for.
    fn take(&self) -> Option<Handle<CUstream_st>> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all.iter().position(|relay| relay.call.has_been_made())?;
        Some(all.swap_remove(idle).raw)
    }

    /// Keeps a relay, and lets one go if there are too many.
    fn keep(&self, driver: &Driver, relay: Relay) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(relay);
        let idle = || all.iter().position(|relay| relay.call.has_been_made());
        let surplus = if all.len() > KEPT { idle() } else { None };
        let surplus = surplus.map(|at| all.swap_remove(at));
        drop(all);
        if let Some(surplus) = surplus {
            destroy(driver, &surplus.raw);
        }
    }

    /// Destroys them, before the context goes. Calls that are still to come come all the same, or their
    /// functions go with the context.
    pub(crate) fn end(self, driver: &Driver) {
        let all = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|relay| destroy(driver, &relay.raw));
    }
}

fn create(context: &Context) -> Result<Handle<CUstream_st>> {
    let _current = context.current()?;
    let mut raw = null_mut();
    // SAFETY: `raw` is writable, and `_current` keeps the context current.
    unsafe { context.driver().cuStreamCreate(&raw mut raw, CUstream_flags::CU_STREAM_NON_BLOCKING.0) }?;
    Ok(Handle::new(raw))
}

fn destroy(driver: &Driver, raw: &Handle<CUstream_st>) {
    // SAFETY: it came from `cuStreamCreate` in a context that is still alive, and it has no other owner. What
    // is still enqueued is finished by the driver.
    report(|| Subject::Relay, unsafe { driver.cuStreamDestroy_v2(raw.raw()) });
}
