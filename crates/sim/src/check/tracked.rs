//! What is remembered of an allocation while its machine checks.

use super::access::Access;
use super::finding::AllocationInfo;
use super::shadow::Shadow;
use crate::engine::Side;
use crate::memory::Allocation;

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
    Some(AllocationInfo {
        address: allocation.base,
        bytes: allocation.size,
        id: allocation.id,
        device: match allocation.side {
            Side::Device(device) => Some(device),
            Side::Host => None,
        },
        made: tracked.born.operation(None),
    })
}
