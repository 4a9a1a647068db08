//! Turns: one thread at a time makes calls that change a capture.
//!
//! The driver gives out the nodes that come last on a captured stream as an array that its next call for the
//! stream changes, and has a graph used by one thread at a time. A thread therefore takes the lock of the
//! capture before it looks up what to keep, and gives it back after its last call.
//!
//! The order of locks: the lock of a capture, then the list of captures or the lock of a hierarchy of graphs,
//! then the parts of a capture. No thread waits for the lock of a capture while it holds another lock that is
//! taken during a turn.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{ThreadId, current};

use warploom_driver::user_code::{self, Held};

use super::{Sequence, active};
use crate::Stream;

/// A lock that the thread which holds it may take again.
#[derive(Default)]
pub(super) struct TurnLock {
    holder: Mutex<Option<Holder>>,
    released: Condvar,
}

struct Holder {
    thread: ThreadId,
    /// The number of times that the thread has taken the lock.
    depth: usize,
}

impl TurnLock {
    fn holder(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) {
        let (thread, mut holder) = (current().id(), self.holder());
        loop {
            match &mut *holder {
                Some(known) if known.thread == thread => return known.depth += 1,
                Some(_) => holder = self.released.wait(holder).unwrap_or_else(PoisonError::into_inner),
                None => return *holder = Some(Holder { thread, depth: 1 }),
            }
        }
    }

    /// `true` if the calling thread holds it.
    pub(super) fn is_held(&self) -> bool {
        self.holder().as_ref().is_some_and(|holder| holder.thread == current().id())
    }

    fn unlock(&self) {
        let mut holder = self.holder();
        match &mut *holder {
            Some(known) if known.depth > 1 => known.depth -= 1,
            _ => {
                *holder = None;
                drop(holder);
                self.released.notify_one();
            }
        }
    }
}

/// A call's turn on a stream. While it lasts, a captured stream stays in its capture, and no other thread makes
/// a call on a stream of that. Streams that are not captured have nothing to wait for; if a capture of one begins
/// during the turn, what the call enqueues is refused.
#[must_use]
pub(crate) struct Turn {
    /// The capture, whose lock is held.
    sequence: Option<Arc<Sequence>>,
    /// Dropped after the lock was released, on the thread that took it.
    _held: Option<Held>,
}

impl Turn {
    /// On a stream that is not captured.
    #[inline]
    pub(crate) fn free() -> Turn {
        Turn { sequence: None, _held: None }
    }

    /// Takes the lock of a capture.
    pub(super) fn of(sequence: &Arc<Sequence>) -> Turn {
        sequence.turn_lock().lock();
        Turn { sequence: Some(Arc::clone(sequence)), _held: Some(user_code::hold()) }
    }

    /// On a stream while something is captured.
    #[cold]
    #[inline(never)]
    pub(crate) fn among_captures(stream: &Stream) -> Turn {
        while let Some(sequence) = active::of(stream) {
            let turn = Turn::of(&sequence);
            // It may have ended until the lock was free.
            if active::of(stream).is_some_and(|now| Arc::ptr_eq(&now, &sequence)) {
                return turn;
            }
        }
        Turn::free()
    }

    /// The capture that the stream is part of.
    #[inline]
    pub(crate) fn sequence(&self) -> Option<&Arc<Sequence>> {
        self.sequence.as_ref()
    }
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        if let Some(sequence) = &self.sequence {
            sequence.turn_lock().unlock();
        }
    }
}
