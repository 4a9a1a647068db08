//! What was freed, so that a use of it can be told from a wild pointer.

use std::collections::{BTreeMap, VecDeque};

use super::access::Access;
use super::finding::{AccessKind, AllocationInfo, Operation};
use super::known::Epoch;
use super::site;
use super::tracked::info;
use crate::memory::Allocation;

/// An allocation that is gone.
#[derive(Debug)]
pub(crate) struct Grave {
    pub(super) allocation: AllocationInfo,
    pub(super) free: Operation,
}

/// How many are remembered.
const KEPT: usize = 4096;

/// The newest graves.
#[derive(Debug, Default)]
pub(crate) struct Graves {
    by_base: BTreeMap<u64, Grave>,
    /// In the order of the frees; a base may be in it more often than there are graves.
    order: VecDeque<u64>,
}

impl Graves {
    /// Remembers an allocation that this call frees.
    pub(crate) fn dig(&mut self, allocation: &Allocation) {
        let (Some(info), Some(site)) = (info(allocation), site::current()) else { return };
        let epoch = Epoch { timeline: 0, count: 0 };
        let free = Access { epoch, kind: AccessKind::Free, stream: None, site: Some(site) }.operation(None);
        self.by_base.insert(info.address, Grave { allocation: info.clone(), free });
        self.order.push_back(info.address);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
            && !self.order.contains(&oldest)
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
        (address - base < grave.allocation.bytes).then_some(grave)
    }
}
