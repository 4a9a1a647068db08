//! What was freed, so that a use of it can be told from a wild pointer.

use std::collections::{BTreeMap, VecDeque};

use super::access::Access;
use super::finding::{AccessKind, AllocationInfo, Operation};
use super::site::{self, Site};
use super::tracked;
use crate::memory::{Allocation, Side};

/// An allocation that is gone. Words for it are found only when it is reported.
#[derive(Debug)]
pub(crate) struct Grave {
    base: u64,
    size: u64,
    id: u64,
    side: Side,
    born: Access,
    freed: Site,
    /// Tells it from others at the same address.
    serial: u64,
}

/// How many are remembered.
const KEPT: usize = 4096;

/// The newest graves.
#[derive(Debug, Default)]
pub(crate) struct Graves {
    by_base: BTreeMap<u64, Grave>,
    /// Base and serial, in the order of the frees.
    order: VecDeque<(u64, u64)>,
    next: u64,
}

impl Grave {
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn info(&self) -> AllocationInfo {
        tracked::describe((self.base, self.size), self.id, self.side, &self.born)
    }

    /// The call that freed it.
    pub(super) fn free(&self) -> Operation {
        Operation::of_call(AccessKind::Free, &self.freed)
    }
}

impl Graves {
    /// Remembers an allocation that this call frees.
    pub(crate) fn dig(&mut self, allocation: &Allocation) {
        let (Some(tracked), Some(freed)) = (&allocation.tracked, site::current()) else { return };
        let Allocation { base, size, id, side, .. } = *allocation;
        let serial = self.next;
        self.next += 1;
        // Older ones in its place would hide it from whoever looks for an address behind them.
        let inside: Vec<u64> = self.by_base.range(base + 1..base + size).map(|(base, _)| *base).collect();
        for base in inside {
            self.by_base.remove(&base);
        }
        self.by_base.insert(base, Grave { base, size, id, side, born: tracked.born.clone(), freed, serial });
        self.order.push_back((base, serial));
        if self.order.len() > KEPT
            && let Some((oldest, serial)) = self.order.pop_front()
            && self.by_base.get(&oldest).is_some_and(|grave| grave.serial == serial)
        {
            self.by_base.remove(&oldest);
        }
    }

    /// The newest grave that starts here.
    pub(super) fn at(&self, base: u64) -> Option<&Grave> {
        self.by_base.get(&base)
    }

    /// A grave that an address is in.
    pub(super) fn containing(&self, address: u64) -> Option<&Grave> {
        let (base, grave) = self.by_base.range(..=address).next_back()?;
        (address - base < grave.size).then_some(grave)
    }
}
