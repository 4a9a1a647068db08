//! Host borrows of an allocation, and the launches of graphs that use it.
//!
//! A graph refers to memory without borrowing it, so Rust's borrows do not cover its launches. An allocation
//! that the host can borrow counts its host borrows and the launches that are being enqueued, in one atomic:
//!
//! ```text
//!   borrow:  count it ─▶ wait until no launch is being enqueued ─▶ wait for the streams that used the memory
//!   launch:  refuse if there is a borrow, otherwise count it ─▶ record the stream ─▶ enqueue ─▶ count it off
//! ```
//!
//! Whichever comes first wins: a launch that finds a borrow is refused, and a borrow that finds a launch
//! waits until the launch is enqueued, and then for its stream. Device memory has no host borrows and is
//! never counted.

mod borrow;
mod launch;
mod slice;

// They start a simulated machine, whose memory Miri cannot map.
#[cfg(all(test, not(miri)))]
mod tests;

pub(in crate::memory) use borrow::HostBorrow;
pub use slice::{HostSlice, HostSliceMut};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// The host borrows, in the lower half, and the launches that are being enqueued, in the upper half.
#[derive(Debug, Default)]
pub(in crate::memory) struct HostBorrows(AtomicU64);

const LAUNCH: u64 = 1 << 32;
const BORROWS: u64 = LAUNCH - 1;

/// Wakes borrows that wait for launches. One for all allocations: such waits are short and rare.
static ENQUEUED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

impl HostBorrows {
    /// Begins a borrow: launches are refused from now on. Waits until those before have been enqueued.
    fn begin(&self) {
        let before = self.0.fetch_add(1, Ordering::AcqRel);
        if before & BORROWS > BORROWS / 2 {
            // So many borrows exist only if they are forgotten in a loop.
            std::process::abort();
        }
        if before >= LAUNCH {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let (lock, enqueued) = &ENQUEUED;
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.0.load(Ordering::Acquire) >= LAUNCH {
            guard = enqueued.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a borrow.
    fn end(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Begins a launch; `false` if the host borrows the memory.
    fn begin_launch(&self) -> bool {
        let is_free = |state: u64| (state & BORROWS == 0).then_some(state + LAUNCH);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, is_free).is_ok()
    }

    /// The launch is enqueued, or has failed.
    fn end_launch(&self) {
        if self.0.fetch_sub(LAUNCH, Ordering::AcqRel) & BORROWS != 0 {
            let (lock, enqueued) = &ENQUEUED;
            // A borrow that has seen the launch holds the lock until it waits.
            drop(lock.lock().unwrap_or_else(PoisonError::into_inner));
            enqueued.notify_all();
        }
    }
}
