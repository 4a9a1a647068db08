//! Where a pool's memory is.

use warploom_sys::types::{CUmemAllocationType, CUmemLocation, CUmemLocationType};

use crate::api::managed::{Residence, Wish};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::memory::Side;
use crate::topology::Topology;
use crate::topology::number;

/// Where a pool's memory is, and whether it stays there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    Device(u16),
    /// Page-locked host memory, of a NUMA node or of any.
    Host(Option<u16>),
    /// Memory that moves to whoever touches it.
    Managed(Preferred),
}

/// Where managed memory would rather be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Preferred {
    Nowhere,
    Device(u16),
    Host(Option<u16>),
}

impl Home {
    /// The side whose links a copy uses.
    pub(super) fn side(self) -> Side {
        match self {
            Home::Device(device) | Home::Managed(Preferred::Device(device)) => Side::Device(device),
            Home::Host(_) | Home::Managed(_) => Side::Host,
        }
    }

    /// Where its pages would rather be, if they move at all.
    pub(crate) fn preferred(self) -> Option<Wish> {
        let place = match self {
            Home::Managed(Preferred::Device(device)) => Residence::Device(device),
            Home::Managed(Preferred::Host(None)) => Residence::Host,
            Home::Managed(Preferred::Host(Some(node))) => Residence::HostNode(node),
            Home::Managed(Preferred::Nowhere) | Home::Device(_) | Home::Host(_) => return None,
        };
        let (kind, id) = self.location();
        Some(Wish::from(place).with_id(CUmemLocation::new(kind, id)))
    }

    /// Whether programs follow its pointers, too.
    pub(super) fn is_open(self) -> bool {
        !matches!(self, Home::Device(_))
    }

    pub(super) fn allocation_type(self) -> CUmemAllocationType {
        match self {
            Home::Managed(_) => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
            _ => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        }
    }

    /// The location as a program would write it.
    pub(super) fn location(self) -> (CUmemLocationType, i32) {
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

    /// The home that a location and an allocation type name.
    pub(super) fn named(call: &Call<'_>, location: &CUmemLocation, kind: CUmemAllocationType) -> Status<Home> {
        let preferred = preferred(call, location)?;
        let topology = &call.core().topology;
        let home = match (kind, preferred) {
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED, Preferred::Device(device)) => Home::Device(device),
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED, Preferred::Host(node)) => Home::Host(node),
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED, Preferred::Nowhere) => {
                return Err(call.refuse(INVALID_VALUE, "pinned memory needs a location"));
            }
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED, preferred) if topology.driver_version >= MANAGED => {
                Home::Managed(preferred)
            }
            (kind, _) => {
                return Err(call.refuse(INVALID_VALUE, format!("allocation type {} is not known", kind.0)));
            }
        };
        home.check_support(call)?;
        Ok(home)
    }

    pub(super) fn check_support(self, call: &Call<'_>) -> Status {
        let topology = &call.core().topology;
        let (attribute, everywhere) = match self {
            Home::Device(_) => (number::MEMORY_POOLS_SUPPORTED, false),
            Home::Host(Some(_)) => (number::HOST_NUMA_MEMORY_POOLS_SUPPORTED, false),
            Home::Host(None) => (number::HOST_MEMORY_POOLS_SUPPORTED, false),
            Home::Managed(_) => (number::CONCURRENT_MANAGED_ACCESS, true),
        };
        let supports = |device: usize| topology.attribute(device, attribute).is_some_and(|value| value != 0);
        let mut all = 0..topology.devices.len();
        let supported = match self {
            Home::Device(device) => supports(device.into()),
            _ if everywhere => all.all(supports),
            _ => all.any(supports),
        };
        if supported { Ok(()) } else { Err(call.refuse(NOT_SUPPORTED, format!("no pools of this kind: {self:?}"))) }
    }
}

/// The first driver with pools of managed memory.
const MANAGED: i32 = 13000;

fn preferred(call: &Call<'_>, location: &CUmemLocation) -> Status<Preferred> {
    let topology = &call.core().topology;
    let id = location.id();
    match location.type_ {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE => Ok(Preferred::Nowhere),
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => match device(topology, id) {
            Some(device) => Ok(Preferred::Device(device)),
            None => Err(call.refuse(INVALID_VALUE, format!("device {id} does not exist"))),
        },
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Ok(Preferred::Host(None)),
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => {
            let node = u16::try_from(id).ok().filter(|node| u32::from(*node) < topology.numa_nodes);
            node.map(|node| Preferred::Host(Some(node)))
                .ok_or_else(|| call.refuse(INVALID_VALUE, format!("NUMA node {id} of {}", topology.numa_nodes)))
        }
        other => Err(call.refuse(INVALID_VALUE, format!("location type {} cannot have a pool", other.0))),
    }
}

/// The device an id names.
pub(super) fn device(topology: &Topology, id: i32) -> Option<u16> {
    u16::try_from(id).ok().filter(|device| usize::from(*device) < topology.devices.len())
}
