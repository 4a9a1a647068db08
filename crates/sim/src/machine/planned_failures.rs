//! Planned failures: threads whose work fails according to a fault plan.

use warploom_sys::types::CUresult;

use crate::process::thread::{self, ThreadKey};

/// The threads in a call whose work is to fail.
#[derive(Default)]
pub(crate) struct PlannedFailures(Vec<PlannedFailure>);

struct PlannedFailure {
    thread: ThreadKey,
    code: CUresult,
    /// Number of ops enqueued since.
    ops: usize,
}

impl PlannedFailures {
    fn mine(&mut self) -> Option<&mut PlannedFailure> {
        if self.0.is_empty() {
            return None;
        }
        let this = thread::key();
        self.0.iter_mut().find(|planned| planned.thread == this)
    }

    /// The status code for the ops that this thread enqueues now.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<CUresult> {
        let planned = self.mine()?;
        planned.ops += 1;
        Some(planned.code)
    }

    /// Makes all ops of this thread fail, until [`PlannedFailures::end`].
    pub(crate) fn begin(&mut self, code: CUresult) {
        if self.mine().is_none() {
            self.0.push(PlannedFailure { thread: thread::key(), code, ops: 0 });
        }
    }

    /// `true` if this thread's work is to fail, so that a call must enqueue an op for it.
    pub(crate) fn is_planned(&mut self) -> bool {
        self.mine().is_some()
    }

    /// Ends the failure begun by [`PlannedFailures::begin`]. Returns the number of affected ops.
    pub(crate) fn end(&mut self) -> usize {
        let this = thread::key();
        let mine = self.0.iter().position(|planned| planned.thread == this);
        mine.map_or(0, |at| self.0.swap_remove(at).ops)
    }
}
