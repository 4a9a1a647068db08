//! A context's pool of events for reuse.
#![expect(unsafe_code, reason = "makes and destroys raw events")]

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use warploom_driver::sys::types::CUevent_st;

use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::{Context, Driver, Result};

/// The most idle events of one kind that are kept.
const KEPT: usize = 64;

/// The combinations of the flags for blocking sync and for no timing.
const KINDS: usize = 4;

/// Idle events, by their flags.
#[derive(Default)]
pub(crate) struct EventPool {
    idle: Mutex<[Vec<Handle<CUevent_st>>; KINDS]>,
}

impl EventPool {
    /// An event with these flags, recorded before or not.
    pub(crate) fn take(&self, context: &Context, flags: u32) -> Result<Handle<CUevent_st>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner)[kind(flags)].pop();
        if let Some(event) = idle {
            return Ok(event);
        }
        let _current = context.current()?;
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuEventCreate(&raw mut raw, flags) }?;
        Ok(Handle::new(raw))
    }

    /// Takes over an event that came from [`EventPool::take`] with the same flags, and is not used by its
    /// holder any more.
    pub(crate) fn give_back(&self, driver: &Driver, flags: u32, event: Handle<CUevent_st>) {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = &mut all[kind(flags)];
        if idle.len() < KEPT {
            idle.reserve_exact(KEPT - idle.len()); // all at once, so that no later record allocates
            return idle.push(event);
        }
        drop(all); // a hook that is told of a failure may record events
        destroy(driver, &event);
    }

    /// Destroys the idle events, before the context is destroyed.
    pub(crate) fn end(self, driver: &Driver) {
        let idle = self.idle.into_inner().unwrap_or_else(PoisonError::into_inner);
        idle.iter().flatten().for_each(|event| destroy(driver, event));
    }
}

/// The flags are 1 and 2; another would be a mistake in this crate, and share a list.
fn kind(flags: u32) -> usize {
    flags as usize % KINDS
}

fn destroy(driver: &Driver, event: &Handle<CUevent_st>) {
    // SAFETY: it came from `cuEventCreate` in a context that is still alive, and is idle. A stream
    // that still waits for it is not disturbed.
    report(|| Subject::Event, unsafe { driver.cuEventDestroy_v2(event.raw()) });
}
