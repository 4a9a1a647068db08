//! Events that graphs keep beyond the program's own value.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use warploom_driver::sys::types::{CUevent, CUevent_flags, CUevent_st};

use super::{Event, Timing};
use crate::handle::Handle;
use crate::leaks::{Kind, mark};
use crate::{Context, callback, reclaimer};

/// An event that is kept by several; the last gives it back to its context.
pub(crate) struct SharedEvent {
    raw: Handle<CUevent_st>,
    flags: u32,
    context: Context,
    /// As of [`Event`], for all values of the event.
    pub(super) capture: AtomicU64,
}

impl SharedEvent {
    /// Takes over an event of the context's pool.
    pub(super) fn new(raw: Handle<CUevent_st>, flags: u32, context: &Context) -> SharedEvent {
        SharedEvent { raw, flags, context: context.clone(), capture: AtomicU64::new(0) }
    }

    pub(crate) fn as_raw(&self) -> CUevent {
        self.raw.raw()
    }

    /// Another value of the event; `None` if its timing is of the other type.
    pub(crate) fn event<T: Timing>(self: Arc<Self>) -> Option<Event<T>> {
        let is_untimed = |flags: u32| flags & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 != 0;
        if is_untimed(self.flags) != is_untimed(T::FLAGS) {
            return None;
        }
        Some(Event {
            raw: Handle::new(self.raw.raw()),
            flags: self.flags,
            context: self.context.clone(),
            timing: PhantomData,
            capture: AtomicU64::new(0),
            _mark: mark(&self.context, || (Kind::Event, self.raw.raw().addr() as u64, 0)),
            shared: OnceLock::from(self),
        })
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        give_back(&self.context, self.flags, Handle::new(self.raw.raw()));
    }
}

/// Gives an event back to the pool that it came from.
pub(super) fn give_back(context: &Context, flags: u32, event: Handle<CUevent_st>) {
    if !context.is_current_generation() {
        return; // it went with the context's last generation
    }
    if callback::is_running() {
        // The pool may be full, and then the event is destroyed.
        return reclaimer::defer(SharedEvent::new(event, flags, context));
    }
    // Streams that wait for it are not disturbed, whatever it is used for next: a wait is for the record at
    // the time.
    context.cached().events.give_back(context.driver(), flags, event);
}
