//! Events that graphs keep beyond the program's own value.

use warploom_driver::sys::types::CUevent_st;

use crate::handle::Handle;
use crate::{Context, callback, reclaimer};

/// An event that is kept by several; the last gives it back to its context.
pub(crate) struct SharedEvent {
    raw: Handle<CUevent_st>,
    flags: u32,
    context: Context,
}

impl SharedEvent {
    /// Takes over an event of the context's pool.
    pub(super) fn new(raw: Handle<CUevent_st>, flags: u32, context: &Context) -> SharedEvent {
        SharedEvent { raw, flags, context: context.clone() }
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
