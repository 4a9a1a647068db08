//! Values that are dropped when work on some streams is done.
//!
//! An event on each stream tells whether it has anything left to do. If so, the driver calls back when the event is
//! done, by way of a [relay](super::relay): the host does not wait, and nothing polls.

use std::any::Any;
use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};

use crate::capture::RelaxedMode;
use crate::stream::{WeakStream, Work};
use crate::{Event, Result, reclaimer};

/// A value that is dropped when some events are done: by the last call that waits for one, or after a wait of the host.
/// `None` once it was dropped: the calls, which may never come, then hold nothing of a context.
struct Pending(Mutex<Option<Waiting>>);

struct Waiting {
    /// Only dropped.
    _value: Box<dyn Any + Send>,
    events: Vec<Arc<Event>>,
}

/// Those that wait for a call, in the order in which they were made.
static PENDING: Mutex<Vec<Weak<Pending>>> = Mutex::new(Vec::new());

/// The length of the list.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn all_pending() -> MutexGuard<'static, Vec<Weak<Pending>>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, if its events are done.
    fn take_done(&self) -> Option<Waiting> {
        let events = self.lock().as_ref()?.events.clone();
        let is_done = |event: &Arc<Event>| {
            let _relaxed = RelaxedMode::new(event.driver());
            matches!(event.is_complete(), Ok(true))
        };
        if events.iter().all(is_done) { self.lock().take() } else { None }
    }
}

impl Wake for Pending {
    /// Does nothing: the last reference drops the value.
    fn wake(self: Arc<Self>) {}
}

impl Drop for Pending {
    fn drop(&mut self) {
        // In a callback of the driver, mostly.
        self.lock().take().into_iter().for_each(reclaimer::defer);
    }
}

/// Drops a value when everything is done that some streams have now; at once if it is done already.
///
/// A value whose launches cannot be waited for is leaked.
pub(crate) fn drop_after<T: Send + 'static>(streams: &[WeakStream], value: T) {
    let mut events = Vec::new();
    for stream in streams.iter().filter(|stream| stream.context().is_current_generation()) {
        match pending_work(stream) {
            Ok(event) => events.extend(event),
            Err(_) => return forget(value),
        }
    }
    if events.is_empty() {
        return drop(value);
    }
    let waiting = Waiting { _value: Box::new(value), events: events.clone() };
    let pending = Arc::new(Pending(Mutex::new(Some(waiting))));
    for event in &events {
        let waker = Waker::from(Arc::clone(&pending));
        let _relaxed = RelaxedMode::new(event.driver());
        // Without a relay, waiting on the host is slow and correct.
        let called = event.context().cached().relays.call_when_done(&**event, &waker);
        if called.map(drop).or_else(|_| event.synchronize()).is_err_and(|error| !error.is_context_fatal()) {
            forget(waker);
        }
    }
    let mut all = all_pending();
    all.retain(|known| known.strong_count() > 0);
    all.push(Arc::downgrade(&pending));
    COUNT.store(all.len(), Ordering::Relaxed);
    drop(all);
    drop(pending); // without the lock
}

/// Has the values dropped soon whose events are done. Called after each wait of the host, with which they may be: so
/// that programs need not wait for the call as well, which a machine in a deterministic mode makes only when its stream
/// is waited for.
#[inline]
pub(crate) fn drop_done() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        drop_all_done();
    }
}

#[cold]
fn drop_all_done() {
    // Clones the list: a question to the driver may come here again.
    let all: Vec<_> = all_pending().iter().filter_map(Weak::upgrade).collect();
    all.iter().filter_map(|pending| pending.take_done()).for_each(reclaimer::defer);
    drop(all);
    let mut left = all_pending();
    left.retain(|known| known.upgrade().is_some_and(|pending| pending.lock().is_some()));
    COUNT.store(left.len(), Ordering::Relaxed);
}

/// The event of a stream's work so far, unless that is done. Nothing runs any more in a context that is lost.
fn pending_work(stream: &WeakStream) -> Result<Option<Arc<Event>>> {
    let (event, stream) = match stream.work() {
        Work::None => return Ok(None),
        Work::Before(event) => (Ok(event), None),
        Work::Of(stream) => {
            let _relaxed = RelaxedMode::new(stream.driver());
            // An event tells only a moment after its record that there was nothing to wait for. The legacy stream in
            // place of another thread's may be idle, and that thread's stream not.
            if stream.is_here() && stream.is_idle() == Ok(true) {
                return Ok(None);
            }
            let stream = stream.for_teardown().into_owned();
            (stream.mark_work(), Some(stream))
        }
    };
    let asked = event.and_then(|event| {
        let _relaxed = RelaxedMode::new(event.driver());
        Ok((!event.is_complete()?).then_some(event))
    });
    // Without an event, waiting on the host is slow and correct.
    let waited = asked.or_else(|error| match &stream {
        Some(stream) => stream.drain().map(|()| None),
        None => Err(error),
    });
    match waited {
        Err(error) if error.is_context_fatal() => Ok(None),
        waited => waited,
    }
}
