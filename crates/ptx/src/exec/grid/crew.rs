//! A pool of threads that run blocks.
#![expect(unsafe_code, reason = "lends work to threads that are done with it before the call returns")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Threads that carry out the blocks of a grid together: see [`Grid::step_spread`](crate::Grid::step_spread).
///
/// They sleep while there is nothing to do, and end when the crew is dropped.
///
/// ```
/// use warploom_ptx::Crew;
///
/// let crew = Crew::new(4);
/// assert_eq!(crew.size(), 4);
/// ```
#[derive(Debug)]
pub struct Crew {
    pool: Arc<Pool>,
    size: usize,
}

#[derive(Debug, Default)]
struct Pool {
    state: Mutex<State>,
    /// There is work, or the crew is dismissed.
    begun: Condvar,
    /// A helper is done.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    work: Option<Work>,
    /// The number of the work, so that no thread does the same twice.
    number: u64,
    helping: usize,
    panicked: bool,
    dismissed: bool,
}

/// Work of a caller that waits for it.
#[derive(Clone, Copy, Debug)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: it is `Sync`, so that several threads may call it.
unsafe impl Send for Work {}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        // Work runs outside of the lock and may panic; nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(&self) {
        let (mut state, mut seen) = (self.state(), 0);
        while !state.dismissed {
            let Some(Work(work)) = state.work.filter(|_| state.number != seen) else {
                state = self.begun.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            seen = state.number;
            state.helping += 1;
            drop(state);
            // SAFETY: `Crew::call` lent it, and returns only after it has taken it back and `helping` is zero
            // again.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*work)() }));
            state = self.state();
            state.helping -= 1;
            state.panicked |= outcome.is_err();
            self.ended.notify_all();
        }
    }
}

impl Crew {
    /// A crew of that many, the caller included; where the system gives fewer threads, of fewer.
    pub fn new(size: usize) -> Crew {
        let pool = Arc::new(Pool::default());
        let helpers = (1..size).map_while(|number| {
            let pool = Arc::clone(&pool);
            std::thread::Builder::new().name(format!("blocks {number}")).spawn(move || pool.help()).ok()
        });
        let size = 1 + helpers.count();
        Crew { pool, size }
    }

    /// Number of threads that work at once, the caller included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Calls `work` on this thread and on all others that are free, and returns when all of them have
    /// returned. A crew that is busy does not help.
    pub(crate) fn call(&self, work: &(dyn Fn() + Sync)) {
        let mut state = self.pool.state();
        if state.work.is_some() || self.size == 1 {
            drop(state);
            return work();
        }
        // SAFETY: only the lifetime changes. No thread takes it up after it is taken back below, and none
        // still works on it when this function returns, because it waits for them, even if `work` panics.
        let lent = unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(work) };
        state.work = Some(Work(lent));
        state.number += 1;
        drop(state);
        self.pool.begun.notify_all();
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let mut state = self.pool.state();
        state.work = None;
        while state.helping > 0 {
            state = self.pool.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let panicked = std::mem::take(&mut state.panicked);
        drop(state);
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        assert!(!panicked, "a helper panicked");
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // No thread is joined: the last owner may be one of them.
        self.pool.state().dismissed = true;
        self.pool.begun.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_work_at_once_and_again() {
        let crew = Crew::new(3);
        for _ in 0..100 {
            // Passed only if three threads meet there.
            let meeting = Barrier::new(3);
            crew.call(&|| {
                meeting.wait();
            });
        }
    }

    #[test]
    fn a_busy_crew_leaves_the_work_to_the_caller() {
        let (crew, calls) = (Crew::new(2), AtomicUsize::new(0));
        let first = AtomicUsize::new(0);
        let meeting = Barrier::new(2);
        crew.call(&|| {
            meeting.wait();
            if first.fetch_add(1, Ordering::SeqCst) == 0 {
                crew.call(&|| {
                    calls.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(calls.into_inner(), 1);
    }

    #[test]
    #[should_panic(expected = "a helper panicked")]
    fn a_panic_of_a_helper_reaches_the_caller() {
        let (crew, meeting) = (Crew::new(2), Barrier::new(2));
        let caller = std::thread::current().id();
        crew.call(&|| {
            meeting.wait();
            assert_eq!(std::thread::current().id(), caller);
        });
    }
}
