//! Calls in flight: the stream on which each thread is making a driver call that enqueues work.
//!
//! A call that was made because its stream is not captured must not reach the driver after the capture has
//! begun: the memory would be a graph's, and nothing would keep it.
//!
//! ```text
//!   a thread that enqueues               a thread that begins a capture
//!   its mark = the stream                the number of captures = one more
//!   is anything captured?                wait until no mark is the stream
//!     no: call the driver                call the driver
//!   its mark = none
//! ```
//!
//! The stores and looks of both are sequentially consistent, so that one of the two sees the other's store. Between
//! mark and unmark a thread only calls the driver: it takes no lock of this crate, so that it may hold some.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use warploom_driver::user_code::{self, Held};

use crate::Stream;

/// No stream.
const NONE: usize = 0;
/// Any stream: the thread makes calls inside of a call, as a host function may on a simulated machine.
const ANY: usize = usize::MAX;

/// Times that a thread gives way before it sleeps between two looks.
const YIELDS: u32 = 100;
/// The time between two looks.
const PAUSE: Duration = Duration::from_micros(20);

/// A thread's mark, on a cache line of its own.
#[repr(align(64))]
struct Slot {
    /// The address that is the handle of the stream, [`NONE`] or [`ANY`]. The thread alone writes it.
    stream: AtomicUsize,
    is_taken: AtomicBool,
}

impl Slot {
    const fn new() -> Slot {
        Slot { stream: AtomicUsize::new(NONE), is_taken: AtomicBool::new(false) }
    }

    /// Takes the slot for the calling thread, unless another has it.
    fn take(&self) -> bool {
        self.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The slots of most programs, which cost them no heap allocation.
static FIRST: [Slot; 64] = [const { Slot::new() }; 64];
/// The slots of programs with more threads at once. They are never freed.
static MORE: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

fn more() -> MutexGuard<'static, Vec<&'static Slot>> {
    MORE.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease };
}

/// Gives the thread's slot to others when the thread ends.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(slot) = SLOT.take() {
            slot.is_taken.store(false, Ordering::Release);
        }
    }
}

/// Finds the thread a slot. One that enqueues while its thread-local values are dropped keeps it for good.
#[cold]
fn first_slot() -> &'static Slot {
    let slot = FIRST.iter().find(|slot| slot.take()).unwrap_or_else(another_slot);
    SLOT.set(Some(slot));
    // A thread that is ending has no lease any more.
    LEASE.try_with(|_| ()).unwrap_or_default();
    slot
}

fn another_slot() -> &'static Slot {
    let mut more = more();
    if let Some(spare) = more.iter().find(|slot| slot.take()) {
        return spare;
    }
    let slot: &'static Slot = Box::leak(Box::new(Slot::new()));
    slot.is_taken.store(true, Ordering::Relaxed);
    more.push(slot);
    slot
}

/// The calling thread's mark, until it is dropped.
pub(crate) struct Mark {
    slot: &'static Slot,
    /// The mark of the call around this one.
    outer: usize,
    /// Events of the call wait until the mark is gone: a subscriber may begin a capture, or wait for a thread that
    /// does. Stays on its thread.
    _held: Held,
}

/// Marks a stream on which the calling thread is going to enqueue, unless it finds now that the stream is
/// captured.
#[inline]
pub(crate) fn mark(stream: &Stream) -> Mark {
    let slot = SLOT.get().unwrap_or_else(first_slot);
    let outer = slot.stream.load(Ordering::Relaxed);
    let handle = if outer == NONE { stream.as_raw().addr() } else { ANY };
    // An exchange, since it costs half of a store and a fence.
    slot.stream.swap(handle, Ordering::SeqCst);
    Mark { slot, outer, _held: user_code::hold() }
}

impl Drop for Mark {
    #[inline]
    fn drop(&mut self) {
        self.slot.stream.store(self.outer, Ordering::Release);
    }
}

/// Waits until no other thread makes a call on a stream that began before the stream was seen to be captured.
pub(super) fn wait(stream: &Stream) {
    let (handle, own) = (stream.as_raw().addr(), SLOT.get());
    // Clones the list, since the wait may be long.
    let more = more().clone();
    for slot in FIRST.iter().chain(more).filter(|slot| own.is_none_or(|own| !std::ptr::eq(*slot, own))) {
        let is_marked = || matches!(slot.stream.load(Ordering::SeqCst), marked if marked == handle || marked == ANY);
        for _ in 0..YIELDS {
            if !is_marked() {
                break;
            }
            yield_now();
        }
        while is_marked() {
            sleep(PAUSE);
        }
    }
}
