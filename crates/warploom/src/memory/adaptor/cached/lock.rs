//! A lock whose release is a plain store.
//!
//! The mutex of the standard library takes a locked instruction to release, since it has to find out if a
//! thread sleeps. An allocation from a cache and its free lock twice, and such instructions are most of their
//! cost. Here, a thread that finds the lock held tries again: at once, then after others have run, then after
//! a short sleep, so that a holder of lower priority gets on. That suits the short sections of a cache, none
//! of which calls the driver.
#![expect(unsafe_code, reason = "lends a value to one thread at a time")]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Attempts at once, before others are let run.
const SPINS: usize = 100;
/// Attempts at once or after others were let run, before the thread sleeps between them.
const YIELDS: usize = 200;
/// A sleep between two attempts.
const NAP: Duration = Duration::from_micros(20);

/// A value that one thread at a time reaches.
#[derive(Default)]
pub(super) struct Lock<T> {
    /// 1 while the lock is held.
    held: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: a guard is the only way to the value, and one thread at a time has one; so the value goes from
// thread to thread.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Lock<T> {
        Lock { held: AtomicUsize::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock, and holds it.
    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        if !self.try_hold() {
            self.wait();
        }
        Guard(self)
    }

    #[inline]
    fn try_hold(&self) -> bool {
        // What the last holder did is seen by this one.
        self.held.swap(1, Ordering::Acquire) == 0
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut attempts = 0;
        // A load leaves the line with the holder, which a swap would take away.
        while self.held.load(Ordering::Relaxed) != 0 || !self.try_hold() {
            match attempts {
                0..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => std::thread::yield_now(),
                _ => std::thread::sleep(NAP),
            }
            attempts += 1;
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// The lock, held. A panic releases it: the value is as it was left.
pub(super) struct Guard<'l, T>(&'l Lock<T>);

// SAFETY: a shared guard gives out shared references, and nothing else.
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: while the lock is held by this guard, only it gives out references, borrowed from it.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above; and the guard is borrowed alone.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // The next holder sees everything that was done under this guard.
        self.0.held.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn one_thread_at_a_time_reaches_the_value() {
        let rounds = if cfg!(miri) { 50 } else { 2_000_000 };
        let (lock, start) = (Lock::new((0_u64, 0_u64)), Barrier::new(4));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (lock, start) = (&lock, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..rounds {
                        // The two count alike, unless another thread comes between.
                        let mut guard = lock.lock();
                        let (first, last) = &mut *guard;
                        *first += 1;
                        if round % 4096 == thread {
                            std::thread::yield_now(); // others find it held
                        }
                        *last += 1;
                        assert_eq!(first, last);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (4 * rounds, 4 * rounds));
    }

    /// A holder that sleeps longer than others spin and yield is waited for all the same.
    #[test]
    fn a_sleeping_holder_is_waited_for() {
        let (lock, (held, is_held)) = (Lock::new(0), channel());
        std::thread::scope(|scope| {
            let lock = &lock;
            scope.spawn(move || {
                let mut guard = lock.lock();
                held.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(30));
                *guard = 1;
            });
            is_held.recv().unwrap();
            assert_eq!(*lock.lock(), 1);
        });
    }

    #[test]
    fn a_panic_releases_the_lock() {
        let mut lock = Lock::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            *lock.lock() = 2;
            let _guard = lock.lock();
            panic!("under the lock");
        }));
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 2);
        assert_eq!(*lock.get_mut(), 2);
    }
}
