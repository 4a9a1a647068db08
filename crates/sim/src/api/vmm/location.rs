//! Locations of physical memory and of its accessors.

use warploom_sys::types::{CUmemLocation, CUmemLocationType};

/// A location of memory or of an accessor. The host's nodes share one page table, so to access they are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location {
    /// A device, by an ordinal that may be wrong.
    Device(i32),
    /// The host, on any NUMA node.
    Host,
    /// A node of the host, by a number that may be wrong.
    Node(i32),
}

impl Location {
    /// `None` for kinds that virtual memory management does not know.
    pub(super) fn read(raw: CUmemLocation) -> Option<Self> {
        match raw.type_ {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => Some(Self::Device(raw.id())),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Some(Self::Host),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => Some(Self::Node(raw.id())),
            _ => None,
        }
    }
}

/// The device with this ordinal, if there are so many.
pub(super) fn device(ordinal: i32, count: usize) -> Option<u16> {
    u16::try_from(ordinal).ok().filter(|device| usize::from(*device) < count)
}
