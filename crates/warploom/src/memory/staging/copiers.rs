//! Threads that share the host's part of a large copy.
#![expect(unsafe_code, reason = "copies memory that its caller vouches for")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::uncached::copy_uncached;

/// The fewest bytes of a copy that is shared: starting threads takes a tenth of its time.
const SHARED: usize = 8 << 20;

/// The most threads beside the caller's own. Four copy as fast as a device does.
const MOST: usize = 3;

/// The bytes of a helper's stack.
const STACK: usize = 64 << 10;

/// The number of threads beside the caller's own, on this machine: few of its processors.
fn helpers() -> usize {
    static HELPERS: OnceLock<usize> = OnceLock::new();
    *HELPERS.get_or_init(|| thread::available_parallelism().map_or(0, |count| (count.get() / 4).min(MOST)))
}

/// A part of a copy.
struct Part {
    from: *const u8,
    to: *mut u8,
    len: usize,
    copy: HostCopy,
}

/// The kind of a copy of the host.
#[derive(Clone, Copy)]
pub(super) enum HostCopy {
    /// With ordinary stores, which are faster while both sides are in the caches.
    Cached,
    /// With stores that bypass the caches.
    Uncached,
}

// SAFETY: the pointers are used by the thread that takes the part, while the one that made it waits.
unsafe impl Send for Part {}

impl Part {
    /// # Safety
    ///
    /// `from` has as many bytes, `to` has room for them, and nothing else uses that.
    unsafe fn copy(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.copy {
                HostCopy::Cached => self.from.copy_to_nonoverlapping(self.to, self.len),
                HostCopy::Uncached => copy_uncached(self.from, self.to, self.len),
            }
        }
    }
}

/// The caller's thread, and those that help it.
pub(super) struct Copiers<'a> {
    helpers: Vec<SyncSender<Part>>,
    /// The parts that helpers have still to copy.
    left: &'a AtomicUsize,
}

/// Calls with the threads for a copy of so many bytes, which end afterwards.
pub(super) fn with_copiers<R>(bytes: usize, work: impl FnOnce(&Copiers<'_>) -> R) -> R {
    with_helpers(if bytes < SHARED { 0 } else { helpers() }, work)
}

/// Calls with so many threads beside the caller's own.
fn with_helpers<R>(count: usize, work: impl FnOnce(&Copiers<'_>) -> R) -> R {
    let left = AtomicUsize::new(0);
    if count == 0 {
        return work(&Copiers { helpers: Vec::new(), left: &left });
    }
    thread::scope(|scope| {
        let left = &left;
        let start = |_| {
            let (sender, receiver) = sync_channel(1);
            let named = thread::Builder::new().name("warploom-copier".to_owned()).stack_size(STACK);
            // With fewer threads, the copy takes longer.
            named.spawn_scoped(scope, move || help(&receiver, left)).ok().map(|_| sender)
        };
        work(&Copiers { helpers: (0..count).filter_map(start).collect(), left })
    })
}

/// Copies parts until there are no more.
fn help(parts: &Receiver<Part>, left: &AtomicUsize) {
    for part in parts {
        // SAFETY: the thread that has sent the part vouches for it, and waits until it is copied.
        unsafe { part.copy() };
        left.fetch_sub(1, Ordering::Release);
    }
}

impl Copiers<'_> {
    /// Copies bytes.
    ///
    /// # Safety
    ///
    /// `from` has as many bytes, `to` has room for them, and nothing else uses that.
    pub(super) unsafe fn copy(&self, copy: HostCopy, from: *const u8, to: *mut u8, len: usize) {
        let size = len.div_ceil(self.helpers.len() + 1).next_multiple_of(64);
        let part = |index: usize| {
            let start = (index * size).min(len);
            let (from, to) = (from.wrapping_add(start), to.wrapping_add(start));
            Part { from, to, len: size.min(len - start), copy }
        };
        for (index, helper) in (1..).zip(&self.helpers) {
            self.left.fetch_add(1, Ordering::Relaxed);
            if let Err(unsent) = helper.send(part(index)) {
                // SAFETY: the part is inside of what the caller vouches for, and no other part has its bytes.
                unsafe { unsent.0.copy() };
                self.left.fetch_sub(1, Ordering::Relaxed);
            }
        }
        // SAFETY: as above.
        unsafe { part(0).copy() };
        // Acquires what the helpers have written.
        let mut rounds = 0_u32;
        while self.left.load(Ordering::Acquire) > 0 {
            rounds += 1;
            if rounds < 10_000 { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HostCopy, MOST, with_helpers};

    /// Every byte is copied once, by any number of helpers.
    #[test]
    fn shared_copies_are_whole() {
        // An interpreter takes long for more.
        let chunk = if cfg!(miri) { 1 << 10 } else { 1 << 20 };
        let sizes = [0, 1, 63, 64, 65, 1000, 3 * chunk + 13];
        let copies = [HostCopy::Cached, HostCopy::Uncached];
        let cases = (0..=MOST).flat_map(|helpers| sizes.map(|bytes| (helpers, bytes)));
        for ((helpers, bytes), copy) in cases.flat_map(|case| copies.map(|copy| (case, copy))) {
            let from: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
            let mut to = vec![0; bytes];
            with_helpers(helpers, |copiers| {
                for (from, to) in from.chunks(chunk).zip(to.chunks_mut(chunk)) {
                    // SAFETY: both have as many bytes, and are borrowed.
                    unsafe { copiers.copy(copy, from.as_ptr(), to.as_mut_ptr(), from.len()) };
                }
            });
            assert!(from == to, "{bytes} bytes by {helpers} helpers");
        }
    }
}
