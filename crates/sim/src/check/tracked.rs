//! What is remembered of an allocation while its machine checks.

use super::access::Access;
use super::finding::AllocationInfo;
use super::shadow::Shadow;
use crate::memory::{Allocation, Side};

/// How an allocation came to be, and what was done to it.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(super) born: Access,
    /// What was done to it; of a mapping, the physical allocation has it, for all its mappings together.
    pub(super) shadow: Shadow,
}

impl Tracked {
    pub(super) fn new(born: Access) -> Box<Self> {
        Box::new(Self { born, shadow: Shadow::default() })
    }
}

/// An allocation for a report, if it is tracked.
pub(super) fn info(allocation: &Allocation) -> Option<AllocationInfo> {
    let tracked = allocation.tracked.as_ref()?;
    Some(describe((allocation.base, allocation.size), allocation.id, allocation.side, &tracked.born))
}

pub(super) fn describe((address, bytes): (u64, u64), id: u64, side: Side, born: &Access) -> AllocationInfo {
    let device = match side {
        Side::Device(device) => Some(device),
        Side::Host => None,
    };
    AllocationInfo { address, bytes, id, device, made: born.operation(None) }
}
