//! `BiasedMutex`: a mutex that costs the thread that made it no atomic operation.
#![expect(unsafe_code, reason = "gives out references under its own lock")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bias::Bias;

/// A mutex that is biased to the thread that made it; see the [module](super). A panic while it is locked does
/// not poison it.
pub(crate) struct BiasedMutex<T> {
    bias: Bias,
    /// Held by all who have the value without the bias.
    unbiased: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: it owns the value, and moves it along.
unsafe impl<T: Send> Send for BiasedMutex<T> {}
// SAFETY: one thread at a time gets the value: see `lock`.
unsafe impl<T: Send> Sync for BiasedMutex<T> {}

// As mutexes of the standard library are, although this one is not poisoned: its users leave nothing half done.
impl<T> UnwindSafe for BiasedMutex<T> {}
impl<T> RefUnwindSafe for BiasedMutex<T> {}

impl<T> BiasedMutex<T> {
    pub(crate) fn new(value: T) -> BiasedMutex<T> {
        BiasedMutex { bias: Bias::new(), unbiased: Mutex::new(()), value: UnsafeCell::new(value) }
    }

    /// Waits until no other thread has the value, and takes it.
    ///
    /// # Panics
    ///
    /// If the calling thread has it already and is the one that made the mutex. Any other waits for ever, as
    /// with a mutex of the standard library.
    #[inline]
    pub(crate) fn lock(&self) -> BiasedGuard<'_, T> {
        let unbiased = if self.bias.enter() { None } else { Some(self.lock_unbiased()) };
        BiasedGuard { mutex: self, unbiased, _value: PhantomData }
    }

    #[cold]
    fn lock_unbiased(&self) -> MutexGuard<'_, ()> {
        let guard = self.unbiased.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.bias.is_over() {
            self.bias.end(|| {});
        }
        guard
    }
}

/// The value of a [`BiasedMutex`], which no other thread has.
///
/// It stays on its thread, as the guard of a mutex does that it may have.
pub(crate) struct BiasedGuard<'a, T> {
    mutex: &'a BiasedMutex<T>,
    /// `None` if the thread is inside by its bias.
    unbiased: Option<MutexGuard<'a, ()>>,
    /// Threads may share the guard only if they may share the value.
    _value: PhantomData<&'a mut T>,
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the thread is inside by its bias, once, so that no other has ended that; or it holds the mutex
        // after the bias has ended. Either keeps all others out for as long as the guard exists.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed by the caller alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.unbiased.take() {
            None => self.mutex.bias.leave(),
            Some(unbiased) => unlock(unbiased),
        }
    }
}

/// Unlocks, in code that is not in the way of threads with the bias.
#[cold]
#[inline(never)]
fn unlock(guard: MutexGuard<'_, ()>) {
    drop(guard);
}
