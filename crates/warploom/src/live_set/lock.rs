//! Process-wide locks, one for each piece of driver state.
//!
//! Values that stand for the same state need not know of each other: several wrap one pool, and a driver that
//! was loaded twice is still one driver. They share the raw handle, so the lock is chosen by its bits. There
//! is a fixed number of locks, shared by unrelated handles: no thread holds two, and no code of a caller runs
//! while one is held, so sharing costs a wait now and then and nothing else.

use warploom_driver::user_code::{Mutex, MutexGuard};

const BITS: u32 = 6;

static LOCKS: [Mutex<Vec<Watched>>; 1 << BITS] = [const { Mutex::new(Vec::new()) }; 1 << BITS];

/// The lock of a handle.
fn place(handle: usize) -> usize {
    // The top bits of a product with this odd number depend on all bits of a handle, whatever its alignment.
    let spread = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS);
    usize::try_from(spread).unwrap_or(0)
}

/// A handle whose state a thread has read, and means to change when it has the lock again.
#[derive(Debug)]
struct Watched {
    handle: usize,
    /// The number of the thread's [`Watch`].
    number: u64,
    has_changed: bool,
}

/// The right to read and then write, held until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock {
    handle: usize,
    watched: MutexGuard<'static, Vec<Watched>>,
}

impl Lock {
    /// Waits for the lock of the state behind a raw handle.
    pub(crate) fn of<T>(raw: *mut T) -> Lock {
        Lock::of_handle(raw.addr())
    }

    fn of_handle(handle: usize) -> Lock {
        // A panic leaves no inconsistent state behind: the state is the driver's.
        Lock { handle, watched: LOCKS[place(handle)].lock() }
    }

    /// Ends a watch; `true` if it has seen a change.
    fn forget(&mut self, number: u64) -> bool {
        let place = self.watched.iter().position(|watched| watched.number == number);
        place.is_some_and(|place| self.watched.swap_remove(place).has_changed)
    }

    /// Gives the lock up for a while. The watch tells whether the state of this handle changed meanwhile; that
    /// of others, which share the lock, does not count, or they could keep a thread from ever coming to an end.
    pub(crate) fn watch(mut self) -> Watch {
        let number = self.watched.iter().map(|watched| watched.number).max().map_or(0, |last| last + 1);
        self.watched.push(Watched { handle: self.handle, number, has_changed: false });
        Watch { handle: self.handle, number }
    }

    /// To be called before each write: one that fails may have had its effect.
    pub(crate) fn note_change(&mut self) {
        for watched in self.watched.iter_mut().filter(|watched| watched.handle == self.handle) {
            watched.has_changed = true;
        }
    }
}

/// A lock that was given up for a while.
#[derive(Debug)]
#[must_use]
pub(crate) struct Watch {
    handle: usize,
    number: u64,
}

impl Watch {
    /// Waits for the lock again; `true` if the state has changed since it was given up.
    pub(crate) fn end(self) -> (Lock, bool) {
        let mut lock = Lock::of_handle(self.handle);
        let has_changed = lock.forget(self.number);
        // It is forgotten already, and the lock is held.
        std::mem::forget(self);
        (lock, has_changed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        Lock::of_handle(self.handle).forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::without_provenance_mut;

    use super::*;

    fn lock(handle: usize) -> Lock {
        Lock::of(without_provenance_mut::<u8>(handle))
    }

    #[test]
    fn a_watch_sees_changes_of_its_own_handle_alone() {
        let handle = 0x1_7357;
        let neighbour = (handle + 1..).find(|other| place(*other) == place(handle)).expect("there are 64 locks");
        for (changed, expected) in [(None, false), (Some(neighbour), false), (Some(handle), true)] {
            let (watch, other) = (lock(handle).watch(), lock(handle).watch());
            if let Some(changed) = changed {
                lock(changed).note_change();
            }
            drop(other);
            let (held, has_changed) = watch.end();
            assert_eq!(has_changed, expected, "{changed:?}");
            assert!(held.watched.is_empty());
        }
    }
}
