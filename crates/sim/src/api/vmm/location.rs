//! Locations of physical memory and of its accessors.

use warploom_sys::types::{CUmemLocation, CUmemLocationType};

/// A location of memory or of an accessor. The NUMA nodes of the host share one page table, so they are one
/// accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A device ordinal, not yet checked.
    Device(i32),
    /// The host, on any NUMA node.
    Host,
    /// A NUMA node of the host, not yet checked.
    Node(i32),
}

impl Location {
    /// `None` for location types that virtual memory management does not support.
    pub(super) fn read(raw: CUmemLocation) -> Option<Self> {
        match raw.type_ {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => Some(Self::Device(raw.id())),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Some(Self::Host),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => Some(Self::Node(raw.id())),
            _ => None,
        }
    }
}

/// The device with this ordinal, if it exists.
pub(super) fn device(ordinal: i32, count: usize) -> Option<u16> {
    u16::try_from(ordinal).ok().filter(|device| usize::from(*device) < count)
}
