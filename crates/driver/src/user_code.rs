//! Code of the program that runs inside of driver calls: `tracing` subscribers and hooks.
//!
//! Such code may panic, and may call the library again. Neither must do harm to the call that it runs in:
//!
//! - A panic ends here ([`run`]), so that no driver call unwinds. It is reported by the panic hook of the process.
//! - A [`Mutex`] of this module may be held over driver calls. While a thread holds one, code that is given to
//!   [`run_unlocked`] waits until the thread has released the last, so that it finds no mutex locked by its
//!   own thread. [`hold`] does the same for locks of other kinds.
//!
//! ```
//! use std::cell::RefCell;
//! use std::rc::Rc;
//! use warploom_driver::user_code::{self, Mutex};
//!
//! let (mutex, order) = (Mutex::new(()), Rc::new(RefCell::new(Vec::new())));
//! let note = |text| {
//!     let order = Rc::clone(&order);
//!     move || order.borrow_mut().push(text)
//! };
//! let guard = mutex.lock();
//! user_code::run_unlocked(note("event"));
//! note("call")();
//! drop(guard);
//! assert_eq!(*order.borrow(), ["call", "event"]);
//! ```

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

thread_local! {
    /// The number of locks that this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// `true` while a subscriber looks at an event of this thread.
    static IS_EMITTING: Cell<bool> = const { Cell::new(false) };
    /// `true` if code waits in [`WAITING`].
    static HAS_WAITING: Cell<bool> = const { Cell::new(false) };
    /// Code that waits for the thread to release its locks, oldest first.
    static WAITING: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Runs code of the program; returns `false` if it has panicked.
pub fn run(code: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(code)) else { return true };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // This one might panic as well.
        std::mem::forget(payload);
    }
    false
}

/// As [`run`], as soon as this thread holds no [`Mutex`] and no [`Held`]: at once, or when it gives up the last.
pub fn run_unlocked(code: impl FnOnce() + 'static) {
    if HELD.get() == 0 {
        run(code);
        return;
    }
    let mut code = Some(Box::new(code) as Box<dyn FnOnce()>);
    let kept = WAITING.try_with(|waiting| {
        waiting.borrow_mut().extend(code.take());
        HAS_WAITING.set(true);
    });
    if let (Err(_), Some(code)) = (kept, code) {
        // The thread is ending, and has no list any more.
        run(code);
    }
}

/// As [`run_unlocked`], for an event of `tracing`. Events that come about while a subscriber looks at one, by
/// calls of its own, are left out: it would be called for its own calls without an end.
pub fn emit(event: impl FnOnce() + 'static) {
    if IS_EMITTING.get() {
        return;
    }
    run_unlocked(move || {
        IS_EMITTING.set(true);
        run(event);
        IS_EMITTING.set(false);
    });
}

#[cold]
#[inline(never)]
fn run_waiting() {
    HAS_WAITING.set(false);
    let waiting = WAITING.try_with(RefCell::take).unwrap_or_default();
    for code in waiting {
        run(code);
    }
}

/// A mutex that may be held over driver calls; see the [module](self). It is not poisoned by a panic.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A mutex over a value.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Waits until no thread holds it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, _held: hold() }
    }

    /// The value, which no other thread can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to use the value of a [`Mutex`]; released when dropped.
#[derive(Debug)]
#[must_use]
pub struct MutexGuard<'a, T> {
    // Dropped first: what waits runs without it.
    guard: std::sync::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A lock of this thread, after whose release waiting code may run: dropped after the lock's own guard.
///
/// The raw pointer keeps it on its thread.
#[derive(Debug)]
#[must_use]
pub struct Held(PhantomData<*const ()>);

/// Has code that is given to [`run_unlocked`] wait while this thread holds a lock that is not a [`Mutex`].
#[inline]
pub fn hold() -> Held {
    HELD.set(HELD.get() + 1);
    Held(PhantomData)
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        let held = HELD.get() - 1;
        HELD.set(held);
        if held == 0 && HAS_WAITING.get() {
            run_waiting();
        }
    }
}
