//! Memory of pools: the location of a pool, and one allocation from it.

use warploom_sys::types::{CUmemAllocationType, CUmemLocation, CUmemLocationType};

use crate::ffi::handle::PoolHandle;
use crate::memory::requested_location::RequestedLocation;
use crate::memory::residence::Residence;
use crate::memory::sim_address::Side;

/// The location of a pool's memory, fixed or migrating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    Device(u16),
    /// Page-locked host memory, of a NUMA node or of any.
    Host(Option<u16>),
    /// Memory that moves to the device or host that touches it.
    Managed(Preferred),
}

/// The preferred location of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Preferred {
    Nowhere,
    Device(u16),
    Host(Option<u16>),
}

impl Home {
    /// The side whose links a copy uses.
    pub(crate) fn side(self) -> Side {
        match self {
            Home::Device(device) | Home::Managed(Preferred::Device(device)) => Side::Device(device),
            Home::Host(_) | Home::Managed(_) => Side::Host,
        }
    }

    /// The preferred location of its pages, if they can migrate.
    pub(crate) fn preferred(self) -> Option<RequestedLocation> {
        let place = match self {
            Home::Managed(Preferred::Device(device)) => Residence::Device(device),
            Home::Managed(Preferred::Host(None)) => Residence::Host,
            Home::Managed(Preferred::Host(Some(node))) => Residence::HostNode(node),
            Home::Managed(Preferred::Nowhere) | Home::Device(_) | Home::Host(_) => return None,
        };
        let (kind, id) = self.location();
        Some(RequestedLocation::from(place).with_id(CUmemLocation::new(kind, id)))
    }

    /// `true` if programs follow its pointers, too.
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Home::Device(_))
    }

    pub(crate) fn allocation_type(self) -> CUmemAllocationType {
        match self {
            Home::Managed(_) => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
            _ => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        }
    }

    /// The location as a program would write it.
    pub(crate) fn location(self) -> (CUmemLocationType, i32) {
        match self {
            Home::Device(device) | Home::Managed(Preferred::Device(device)) => {
                (CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device.into())
            }
            Home::Host(Some(node)) | Home::Managed(Preferred::Host(Some(node))) => {
                (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, node.into())
            }
            Home::Host(None) | Home::Managed(Preferred::Host(None)) => {
                (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0)
            }
            Home::Managed(Preferred::Nowhere) => (CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE, 0),
        }
    }
}

/// Particulars of memory from a pool.
#[derive(Debug)]
pub(crate) struct PoolBlock {
    pub(crate) pool: PoolHandle,
    /// The pool's location, and so the kind of memory.
    pub(crate) home: Home,
    /// Its place in the pool.
    pub(crate) offset: u64,
    /// It is memory of another process's pool.
    pub(crate) is_imported: bool,
}
