//! The contexts that a library's code has run in.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::capture::{self, Sequence};
use crate::{Context, Result};

/// The contexts that code has been used in, which it must not be taken from while they still run it.
#[derive(Default)]
pub(super) struct UsedContexts {
    /// The address of one of them, since a program mostly has one. They are held, so that nothing else comes
    /// to be there.
    last: AtomicUsize,
    all: Mutex<Vec<Context>>,
}

impl UsedContexts {
    /// Takes note of a context before code runs there.
    #[inline]
    pub(super) fn note(&self, context: &Context) {
        if self.last.load(Ordering::Relaxed) != context.address() {
            self.note_other(context);
        }
    }

    #[cold]
    fn note_other(&self, context: &Context) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(context) {
            all.push(context.clone());
        }
        // An equal one that is not held may go, and another come to be where it was.
        if let Some(held) = all.iter().find(|held| *held == context) {
            self.last.store(held.address(), Ordering::Relaxed);
        }
    }

    /// A capture that a stream of one of them is part of.
    pub(super) fn captured(&self) -> Option<Arc<Sequence>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find_map(capture::in_context)
    }

    /// Waits until none of them runs the code any more.
    pub(super) fn wait(&mut self) -> Result<()> {
        let all = std::mem::take(self.all.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut alive = all.iter().filter(|context| context.is_current_generation());
        // A wait that failed may have been the only thing to fail; another one tells.
        alive.try_for_each(|context| context.synchronize().or_else(|_| context.synchronize()))
    }
}
