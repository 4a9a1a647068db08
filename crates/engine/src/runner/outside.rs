//! Work and memory that other processes see: ops that run for them, and changes while no op runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Condvar, MutexGuard};

use super::{Guard, Runner, STARVED, State};
use crate::id::OpId;
use crate::mode::Mode;
use crate::work::{Step, Work};

impl<S: State> Runner<S> {
    /// Runs work with the lock released.
    pub(super) fn perform_unlocked(
        &self,
        state: &mut Guard<'_, S>,
        work: &mut S::Work,
    ) -> Step<<S::Work as Work>::Failure> {
        if work.runs_on_host() {
            return MutexGuard::unlocked(state, || (self.perform)(work));
        }
        while self.holds.load(Ordering::Relaxed) > 0 {
            self.quiet.wait(state);
        }
        change_count(&self.performing, 1);
        let step = MutexGuard::unlocked(state, || (self.perform)(work));
        change_count(&self.performing, -1);
        if self.holds.load(Ordering::Relaxed) > 0 {
            self.quiet.notify_all();
        }
        step
    }

    /// Changes the state while no work runs: work that has begun ends its slice first, and none begins. Code
    /// of the program may run.
    pub fn quiesce<R>(&self, state: &mut Guard<'_, S>, change: impl FnOnce(&mut S) -> R) -> R {
        change_count(&self.holds, 1);
        let _hold = Hold { holds: &self.holds, quiet: &self.quiet };
        while self.performing.load(Ordering::Relaxed) > 0 {
            self.quiet.wait(state);
        }
        change(state)
    }

    /// Runs what ops need, as far as that goes without a wait, on a runner without executors. Returns `true`
    /// if they are done. For ops that are waited for outside of this process, which takes no part in running
    /// them.
    pub fn flush(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        let are_done = |state: &mut Guard<'_, S>| targets.iter().all(|target| state.engine().is_done(*target));
        if self.mode == Mode::Threads {
            self.wake(state);
            return are_done(state);
        }
        state.engine().unpark(0);
        while !are_done(state) && !self.is_stopping() && state.engine().yields() < STARVED {
            if !self.advance(state, targets) {
                break;
            }
        }
        are_done(state)
    }

    /// `true` once [`stop`](Self::stop) has been called.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// Adds to a count that changes under the lock alone, so that no other thread changes it in between.
#[inline]
fn change_count(count: &AtomicUsize, by: isize) {
    count.store(count.load(Ordering::Relaxed).wrapping_add_signed(by), Ordering::Relaxed);
}

/// Keeps work from starting until it is dropped, which is with the lock held.
struct Hold<'a> {
    holds: &'a AtomicUsize,
    quiet: &'a Condvar,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        change_count(self.holds, -1);
        self.quiet.notify_all();
    }
}
