//! Process-wide locks, one for each piece of driver state.
//!
//! Values that stand for the same state need not know of each other: several wrap one pool, and a driver that
//! was loaded twice is still one driver. They share the raw handle, so the lock is chosen by its bits. There
//! is a fixed number of locks, shared by unrelated handles: no thread holds two, and no code of a caller runs
//! while one is held, so sharing costs a wait now and then and nothing else.

use std::sync::{Mutex, MutexGuard, PoisonError};

const BITS: u32 = 6;

static LOCKS: [Mutex<u64>; 1 << BITS] = [const { Mutex::new(0) }; 1 << BITS];

/// The right to read and then write, held until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock(MutexGuard<'static, u64>);

impl Lock {
    /// Waits for the lock of the state behind a raw handle.
    pub(crate) fn of<T>(raw: *mut T) -> Lock {
        // The top bits of a product with this odd number depend on all bits of a handle, whatever its
        // alignment.
        let spread = (raw.addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS);
        let lock = &LOCKS[usize::try_from(spread).unwrap_or(0)];
        // A panic leaves no inconsistent state behind: the state is the driver's.
        Lock(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that changes with every noted change.
    pub(crate) fn changes(&self) -> u64 {
        *self.0
    }

    /// To be called before each write: one that fails may have had its effect.
    pub(crate) fn note_change(&mut self) {
        *self.0 = self.0.wrapping_add(1);
    }
}
