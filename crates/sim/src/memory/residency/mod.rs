//! Residency of managed memory: the locations of its pages, and how they move.

mod migration;
mod pages;
mod reach;

use std::io;
use std::ops::Range;

pub(crate) use migration::Migration;
pub(crate) use pages::{PAGE, Page, Pages};
use reach::Reach;
use warploom_topology::Topology;

use super::allocation::{Allocation, Registry};
use super::arena::Arena;
use super::backing::Backing;
use super::blocks::{Block, Spacing};
use super::in_flight::InFlight;
use super::residence::Residence;
use super::span::SpanKind;

/// The address space of managed memory, and the state of its pages and those of managed pools.
pub(crate) struct ManagedMemory {
    arena: Arena,
    pages: Pages,
    reach: Reach,
    /// There has been managed memory.
    is_used: bool,
}

impl ManagedMemory {
    pub(crate) fn new(topology: &Topology, spacing: Spacing) -> Self {
        let (pages, reach) = (Pages::new(), Reach::new(topology));
        Self { arena: Arena::new(SpanKind::Virtual, spacing), pages, reach, is_used: false }
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// Moves the pages of a prefetch or a discard.
    pub(crate) fn migrate(&mut self, migration: &mut Migration) {
        self.pages.update(&migration.range(), |page, bytes| migration.take(page, bytes));
    }

    /// Lets managed pages follow an access to them.
    pub(crate) fn touch(&mut self, range: &Range<u64>, accessor: Residence, writes: bool) {
        let reach = &self.reach;
        self.pages.update(range, |page, _| page.touched(accessor, writes, |place| reach.holds(accessor, place)));
    }

    /// `true` if there has been managed memory.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Resets the pages of a new managed allocation, but for those that it shares with others.
    pub(crate) fn renew(&mut self, memory: &Registry, allocation: &Allocation) {
        self.is_used = true;
        let (base, end) = (allocation.base, allocation.end());
        let (first, behind) = (base / PAGE * PAGE, end.next_multiple_of(PAGE));
        let start = if memory.overlaps(first, base - first) { first + PAGE } else { first };
        let end = if memory.overlaps(end, behind - end) { behind - PAGE } else { behind };
        let preferred = match &allocation.backing {
            Backing::Pool(block) => block.home.preferred(),
            _ => None,
        };
        self.pages.update(&(start..end), |page, _| *page = Page { preferred, ..Page::default() });
    }

    /// Takes address space with bytes behind it.
    pub(crate) fn take(&mut self, bytes: u64, in_flight: &impl InFlight) -> io::Result<u64> {
        self.arena.take(bytes, in_flight)
    }

    pub(crate) fn give(&mut self, address: u64, bytes: u64, in_flight: &impl InFlight) {
        self.arena.give(address, bytes, in_flight);
    }

    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        self.arena.block_of(address)
    }
}
