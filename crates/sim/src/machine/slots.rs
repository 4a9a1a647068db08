//! Slots: static storage in which C entry points find their machine.
//!
//! A machine's functions are compiled once per slot, with the slot's number in them (`shims`). A slot is
//! taken when a machine starts and given back when the last user of the machine lets it go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwapOption, Guard};
use parking_lot::{Condvar, Mutex};

use crate::machine::core::Core;
use crate::process::home::lock_briefly_held;

/// Maximum number of machines in a process at once.
pub(crate) const SLOTS: usize = 16;

static MACHINES: [ArcSwapOption<Core>; SLOTS] = [const { ArcSwapOption::const_empty() }; SLOTS];
static TAKEN: Mutex<u32> = Mutex::new(0);
static GIVEN: Condvar = Condvar::new();

const _: () = assert!(SLOTS <= u32::BITS as usize, "a bit for each slot");

/// The machine in a slot.
#[inline]
pub(crate) fn machine(slot: usize) -> Guard<Option<Arc<Core>>> {
    MACHINES[slot].load()
}

/// Takes a slot, waiting up to `patience` for one.
pub(crate) fn take(patience: Duration) -> Option<usize> {
    let deadline = Instant::now().checked_add(patience);
    let mut taken = lock_briefly_held(&TAKEN)?;
    loop {
        let slot = taken.trailing_ones() as usize;
        if slot < SLOTS {
            *taken |= 1 << slot;
            return Some(slot);
        }
        match deadline {
            Some(deadline) if GIVEN.wait_until(&mut taken, deadline).timed_out() => return None,
            Some(_) => {}
            None => GIVEN.wait(&mut taken),
        }
    }
}

/// Puts a machine into a reserved slot.
pub(crate) fn fill(slot: usize, core: Arc<Core>) {
    MACHINES[slot].store(Some(core));
}

/// Empties a slot for the next machine.
pub(crate) fn give(slot: usize) {
    MACHINES[slot].store(None);
    if let Some(mut taken) = lock_briefly_held(&TAKEN) {
        *taken &= !(1 << slot);
    }
    GIVEN.notify_one();
}
