//! The memory that an executable graph uses.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::allocation_ref::AllocationRef;
use super::uses::Access;

/// Allocations that nodes of an executable use, each once and with the number of its uses.
#[derive(Default)]
pub(crate) struct GraphMemory {
    all: Vec<Used>,
    /// The indices of the allocations, by their identities.
    indices: BTreeMap<usize, usize>,
}

/// An allocation, and how often nodes read and write it.
pub(super) struct Used {
    pub(super) allocation: AllocationRef,
    reads: u32,
    writes: u32,
}

impl Used {
    fn count(&mut self, access: Access) -> &mut u32 {
        match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        }
    }

    /// The access of all nodes together.
    #[inline]
    pub(super) fn access(&self) -> Access {
        if self.writes > 0 { Access::Write } else { Access::Read }
    }
}

impl GraphMemory {
    /// Adds the use of an allocation by a node.
    pub(crate) fn add(&mut self, allocation: &AllocationRef, access: Access) {
        let index = match self.indices.entry(allocation.identity()) {
            Entry::Occupied(index) => *index.get(),
            Entry::Vacant(index) => {
                self.all.push(Used { allocation: allocation.clone(), reads: 0, writes: 0 });
                *index.insert(self.all.len() - 1)
            }
        };
        *self.all[index].count(access) += 1;
    }

    /// Takes away a use that was added, if it was.
    pub(crate) fn remove(&mut self, allocation: &AllocationRef, access: Access) {
        let Entry::Occupied(entry) = self.indices.entry(allocation.identity()) else { return };
        let index = *entry.get();
        let used = &mut self.all[index];
        let count = used.count(access);
        *count = count.saturating_sub(1);
        if used.reads == 0 && used.writes == 0 {
            entry.remove();
            self.all.swap_remove(index);
            if let Some(moved) = self.all.get(index) {
                self.indices.insert(moved.allocation.identity(), index);
            }
        }
    }

    /// The allocations.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &AllocationRef> {
        self.all.iter().map(|used| &used.allocation)
    }

    #[inline]
    pub(super) fn all(&self) -> &[Used] {
        &self.all
    }
}
