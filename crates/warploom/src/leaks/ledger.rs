//! The ledger of live objects, one per driver, and the marks that take them off again.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::report::{Alive, Kind};
use crate::{Context, Driver};

/// The number of trackers on all drivers: while it is 0, new objects look no further.
///
/// It guards nothing: a tracker that starts while an object is made on another thread may miss it, as if it
/// had been made before.
static TRACKERS: AtomicUsize = AtomicUsize::new(0);

/// The live objects that were made on a driver while it was tracked.
#[derive(Default)]
pub(super) struct Ledger {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    trackers: usize,
    /// The number of trackers with backtraces.
    backtraces: usize,
    /// Numbers are never used again, so that a mark which outlives the trackers finds nothing.
    next: u64,
    alive: BTreeMap<u64, Alive>,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more tracks, from the returned number on.
    pub(super) fn begin(&self, has_backtraces: bool) -> u64 {
        let mut entries = self.lock();
        entries.trackers += 1;
        entries.backtraces += usize::from(has_backtraces);
        TRACKERS.fetch_add(1, Ordering::Relaxed);
        entries.next
    }

    /// Removes a tracker; the last one clears the list.
    pub(super) fn end(&self, had_backtraces: bool) {
        let mut entries = self.lock();
        entries.trackers -= 1;
        entries.backtraces -= usize::from(had_backtraces);
        TRACKERS.fetch_sub(1, Ordering::Relaxed);
        if entries.trackers == 0 {
            entries.alive.clear();
        }
    }

    /// The live objects made from a number on, in order.
    pub(super) fn alive(&self, since: u64) -> Vec<Alive> {
        self.lock().alive.range(since..).map(|(_, alive)| alive.clone()).collect()
    }

    fn add(self: Arc<Self>, mut alive: Alive) -> Option<Box<Entry>> {
        let wants_backtrace = {
            let entries = self.lock();
            if entries.trackers == 0 {
                return None; // somebody tracks another driver
            }
            entries.backtraces > 0
        };
        // Without the lock: it takes long.
        alive.made = wants_backtrace.then(|| Arc::new(Backtrace::force_capture()));
        let mut entries = self.lock();
        let number = entries.next;
        entries.next += 1;
        entries.alive.insert(number, alive);
        drop(entries);
        Some(Box::new(Entry { ledger: self, number }))
    }
}

/// An entry of the list while it exists, if the driver was tracked when it was made.
#[derive(Default)]
pub(crate) struct Mark {
    _entry: Option<Box<Entry>>,
}

struct Entry {
    ledger: Arc<Ledger>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ledger.lock().alive.remove(&self.number);
    }
}

/// Records an object that was made in a context, if the driver is tracked: its kind, its handle or address,
/// its bytes.
#[inline]
pub(crate) fn mark(context: &Context, what: impl FnOnce() -> (Kind, u64, usize)) -> Mark {
    mark_on(context.driver(), || (what(), Some(context.device().ordinal())))
}

/// As [`mark`], for objects that are not made in a context, with the ordinal of the device that it belongs
/// to.
#[inline]
pub(crate) fn mark_on(driver: &Driver, what: impl FnOnce() -> ((Kind, u64, usize), Option<u32>)) -> Mark {
    if TRACKERS.load(Ordering::Relaxed) == 0 {
        return Mark::default();
    }
    add(driver, what())
}

#[cold]
#[inline(never)]
fn add(driver: &Driver, ((kind, handle, bytes), device): ((Kind, u64, usize), Option<u32>)) -> Mark {
    let alive = Alive { kind, device, handle, bytes, made: None };
    Mark { _entry: driver.extension::<Ledger>().add(alive) }
}

#[cfg(test)]
mod tests {
    use warploom_sim::Machine;

    use super::*;
    use crate::leaks::Leaks;

    fn open() -> Driver {
        Driver::open(&Machine::preset("h200").expect("is a preset")).expect("is a driver")
    }

    /// The length of a driver's list.
    fn listed(driver: &Driver) -> usize {
        driver.extension::<Ledger>().lock().alive.len()
    }

    #[test]
    fn an_untracked_driver_keeps_no_list() {
        let (tracked, untracked) = (open(), open());
        let leaks = Leaks::track(&tracked);
        let contexts = [&tracked, &untracked].map(|driver| driver.device(0).and_then(|device| device.context()));
        assert!(contexts.iter().all(Result::is_ok));
        assert_eq!((listed(&tracked), listed(&untracked)), (1, 0));
        drop(leaks);
        assert_eq!(listed(&tracked), 0, "the last one who tracks takes the list along");
    }
}
