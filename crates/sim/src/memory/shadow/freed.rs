//! Freed allocations: a use after free is told from a wild pointer by them.

use std::collections::{BTreeMap, VecDeque};

use super::access::Access;
use super::operation::{AccessKind, AllocationInfo, Operation};
use super::site::{self, Site};
use crate::memory::sim_address::Side;

/// An allocation that was freed.
#[derive(Debug)]
pub(crate) struct FreedAllocation {
    base: u64,
    size: u64,
    id: u64,
    side: Side,
    born: Access,
    freed: Site,
    /// Tells it from others at the same address.
    serial: u64,
}

/// Number of freed allocations that are remembered.
const KEPT: usize = 4096;

/// The newest freed allocations.
#[derive(Debug, Default)]
pub(crate) struct FreedAllocations {
    by_base: BTreeMap<u64, FreedAllocation>,
    /// Base and serial, in the order of the frees.
    order: VecDeque<(u64, u64)>,
    next: u64,
}

impl FreedAllocation {
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn info(&self) -> AllocationInfo {
        AllocationInfo::new((self.base, self.size), self.id, self.side, &self.born)
    }

    /// The call that freed it.
    pub(crate) fn free(&self) -> Operation {
        Operation::of_call(AccessKind::Free, &self.freed)
    }
}

impl FreedAllocations {
    /// Remembers an allocation that this call frees.
    #[inline]
    pub(crate) fn add(&mut self, base: u64, size: u64, id: u64, side: Side, born: &Access) {
        let Some(freed) = site::current() else { return };
        let serial = self.next;
        self.next += 1;
        // Older ones in its place would hide it from a search for an address behind them.
        let inside: Vec<u64> = self.by_base.range(base + 1..base + size).map(|(base, _)| *base).collect();
        for base in inside {
            self.by_base.remove(&base);
        }
        self.by_base.insert(base, FreedAllocation { base, size, id, side, born: born.clone(), freed, serial });
        self.order.push_back((base, serial));
        if self.order.len() > KEPT
            && let Some((oldest, serial)) = self.order.pop_front()
            && self.by_base.get(&oldest).is_some_and(|found| found.serial == serial)
        {
            self.by_base.remove(&oldest);
        }
    }

    /// The newest freed allocation that starts here.
    pub(crate) fn at(&self, base: u64) -> Option<&FreedAllocation> {
        self.by_base.get(&base)
    }

    /// A freed allocation that an address is in.
    pub(crate) fn containing(&self, address: u64) -> Option<&FreedAllocation> {
        let (base, found) = self.by_base.range(..=address).next_back()?;
        (address - base < found.size).then_some(found)
    }
}
