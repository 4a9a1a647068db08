//! The bias of one value to one thread, and its end.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, compiler_fence};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use super::barrier;

/// The number of no thread.
const NONE: u64 = u64::MAX;

/// The thread may go in without further ado.
const BIASED: u8 = 0;
/// Another thread waits for the one with the bias to come out.
const ENDING: u8 = 1;
/// All threads are alike.
const ENDED: u8 = 2;

/// Times that a thread gives way before it sleeps between two looks.
const YIELDS: u32 = 100;
/// The time between two looks.
const PAUSE: Duration = Duration::from_micros(50);

thread_local! {
    /// The number of this thread; 0 if none was needed yet.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other ever has.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// The bias of a value to the thread that made it, if it still has it.
pub(super) struct Bias {
    thread: u64,
    /// `true` while the thread with the bias uses the value. Only that thread writes it.
    is_inside: AtomicBool,
    stage: AtomicU8,
}

impl Bias {
    /// A bias to the calling thread, if the system has what ending it takes.
    pub(super) fn new() -> Bias {
        let (thread, stage) = if barrier::is_available() { (this_thread(), BIASED) } else { (NONE, ENDED) };
        Bias { thread, is_inside: AtomicBool::new(false), stage: AtomicU8::new(stage) }
    }

    /// Goes in, if the calling thread has the bias and is not inside already. Until it [leaves](Self::leave), no
    /// thread returns from [`Bias::end`].
    #[inline]
    pub(super) fn enter(&self) -> bool {
        if NUMBER.get() != self.thread
            || self.is_inside.load(Ordering::Relaxed)
            || self.stage.load(Ordering::Relaxed) != BIASED
        {
            return false;
        }
        self.is_inside.store(true, Ordering::Relaxed);
        // The processor may do the load below before the store is visible. `end` has it pass a barrier.
        compiler_fence(Ordering::SeqCst);
        let is_biased = self.stage.load(Ordering::Acquire) == BIASED;
        if !is_biased {
            self.leave();
        }
        is_biased
    }

    /// Comes out. Of the value, nothing is used after that.
    #[inline]
    pub(super) fn leave(&self) {
        self.is_inside.store(false, Ordering::Release);
    }

    /// `true` if the bias has ended for good.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.stage.load(Ordering::Acquire) == ENDED
    }

    /// Ends the bias, unless it is over: then the thread that had it is outside and stays there, and all that it
    /// did inside has happened. `last` is called before any thread is told. The caller holds a lock that all
    /// callers hold.
    ///
    /// The wait is a polling one: it happens once in the life of a value, and being told would cost each exit.
    ///
    /// # Panics
    ///
    /// If the calling thread is inside itself, which would wait for itself.
    #[cold]
    pub(super) fn end(&self, last: impl FnOnce()) {
        if self.is_over() {
            return;
        }
        let is_inside = || self.is_inside.load(Ordering::Acquire);
        assert!(NUMBER.get() != self.thread || !is_inside(), "a thread locks what it has locked already");
        self.stage.store(ENDING, Ordering::Relaxed);
        barrier::pass_everywhere();
        for _ in 0..YIELDS {
            if !is_inside() {
                break;
            }
            yield_now();
        }
        while is_inside() {
            sleep(PAUSE);
        }
        last();
        self.stage.store(ENDED, Ordering::Release);
    }
}
