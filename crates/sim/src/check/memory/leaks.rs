//! Leaks: memory, objects and reservations that were never given back.

use crate::check::report::{FindingKind, LeakOwner, Leaked, ObjectKind};
use crate::memory::Allocation;
use crate::memory::shadow::{AccessKind, Operation, Site};

fn made(site: &Site) -> Operation {
    Operation::of_call(AccessKind::Allocate, site)
}

/// The leak of an allocation, if it is tracked.
pub(crate) fn memory_leak(allocation: &Allocation, end: LeakOwner) -> Option<FindingKind> {
    let allocation = allocation.info()?;
    Some(FindingKind::Leak { made: allocation.made.clone(), what: Leaked::Memory(allocation), end })
}

/// The leak of an object that a call made.
pub(crate) fn object_leak(kind: ObjectKind, handle: u64, maker: &Site, end: LeakOwner) -> FindingKind {
    FindingKind::Leak { what: Leaked::Object { kind, handle }, made: made(maker), end }
}

/// The leak of reserved addresses.
pub(crate) fn reservation_leak(address: u64, bytes: u64, maker: &Site, end: LeakOwner) -> FindingKind {
    FindingKind::Leak { what: Leaked::Reservation { address, bytes }, made: made(maker), end }
}
