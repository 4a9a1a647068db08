//! Locations of memory pools, as C callers name them.

use warploom_sys::types::{CUmemAllocationType, CUmemLocation, CUmemLocationType};

use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::memory::{Home, Preferred};
use crate::topology::{Topology, number};

impl Home {
    /// The home of a location and an allocation type.
    pub(super) fn named(call: &Call<'_>, location: &CUmemLocation, kind: CUmemAllocationType) -> Status<Home> {
        let preferred = preferred(call, location)?;
        let topology = &call.core().topology;
        let home = match (kind, preferred) {
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED, Preferred::Device(device)) => Home::Device(device),
            (CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED, Preferred::Host(node)) => {
                let since = if node.is_some() { ON_NODES } else { ON_HOST };
                if topology.driver_version < since {
                    let have = topology.driver_version;
                    return Err(call.refuse(INVALID_VALUE, format!("such pools came with {since}; this is {have}")));
                }
                Home::Host(node)
            }
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
        // Of an attribute that the driver does not know, the version has decided.
        let supports = |device: usize| topology.attribute(device, attribute).is_none_or(|value| value != 0);
        let mut all = 0..topology.devices.len();
        let supported = match self {
            Home::Device(device) => supports(device.into()),
            _ if everywhere => all.all(supports),
            _ => all.any(supports),
        };
        if supported { Ok(()) } else { Err(call.refuse(NOT_SUPPORTED, format!("no pools of this kind: {self:?}"))) }
    }
}

/// The first driver version with pools of managed memory.
const MANAGED: i32 = 13000;
/// The first driver version with pools of a NUMA node of the host; the attribute came later.
const ON_NODES: i32 = 12060;
/// The first driver version with pools of the host as a whole.
const ON_HOST: i32 = 13000;

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

/// The device with an id.
pub(super) fn device(topology: &Topology, id: i32) -> Option<u16> {
    u16::try_from(id).ok().filter(|device| usize::from(*device) < topology.devices.len())
}
