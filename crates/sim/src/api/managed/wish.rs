//! Places for managed pages, as programs name them and are told of them again.

use warploom_sys::types::{CUmemLocation, CUmemLocationType, CUresult};

use super::Residence;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::topology::{Topology, number};

/// What older functions and attributes call the host.
const CPU: i32 = -1;
/// What they call no place, or more than one.
pub(super) const NOWHERE: i32 = -2;

/// A place that pages are to be at, and the words it is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(super) place: Residence,
    kind: CUmemLocationType,
    id: i32,
}

impl From<Residence> for Wish {
    fn from(place: Residence) -> Self {
        let (kind, id) = match place {
            Residence::Device(device) => (CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device.into()),
            Residence::Host => (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, CPU),
            Residence::HostNode(node) => (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, node.into()),
        };
        Self { place, kind, id }
    }
}

impl Wish {
    /// The place that an ordinal of the older functions names.
    pub(super) fn of_ordinal(call: &Call<'_>, ordinal: i32) -> Status<Wish> {
        if ordinal == CPU { Ok(Residence::Host.into()) } else { device(call, ordinal, INVALID_DEVICE) }
    }

    /// The place that a location names; `no_device` answers an ordinal that is none. The node of the calling thread is always
    /// the first: where the host's threads run is no part of a simulated machine.
    pub(super) fn of_location(call: &Call<'_>, location: CUmemLocation, no_device: CUresult) -> Status<Wish> {
        let nodes = call.core().topology.numa_nodes;
        let (kind, id) = (location.type_, location.id());
        match kind {
            CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => device(call, id, no_device),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Ok(Residence::Host.into()),
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => {
                let node = u16::try_from(id).ok().filter(|node| u32::from(*node) < nodes);
                node.map(|node| Residence::HostNode(node).into())
                    .ok_or_else(|| call.refuse(INVALID_VALUE, format!("NUMA node {id}; the host has {nodes}")))
            }
            CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => {
                Ok(Wish { place: Residence::HostNode(0), kind, id })
            }
            _ => Err(no_kind(call, kind)),
        }
    }

    /// The wish with the id that the program gave, which some functions keep where it means nothing.
    pub(crate) fn with_id(self, location: CUmemLocation) -> Wish {
        Wish { id: location.id(), ..self }
    }

    /// A wish in the words of the older attributes, which know no nodes.
    pub(super) fn ordinal(wish: Option<Wish>) -> i32 {
        match wish.map(|wish| wish.place) {
            Some(Residence::Device(device)) => device.into(),
            Some(Residence::Host | Residence::HostNode(_)) => CPU,
            None => NOWHERE,
        }
    }

    /// A wish as the type and the id of a location.
    pub(super) fn location(wish: Option<Wish>) -> (CUmemLocationType, i32) {
        wish.map_or((CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, NOWHERE), |wish| (wish.kind, wish.id))
    }
}

/// Refuses a location of a type that says nothing about managed memory, even where the place does not matter.
pub(super) fn check_kind(call: &Call<'_>, location: CUmemLocation) -> Status {
    let kind = location.type_;
    let places = [
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST,
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA,
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT,
    ];
    if places.contains(&kind) { Ok(()) } else { Err(no_kind(call, kind)) }
}

fn no_kind(call: &Call<'_>, kind: CUmemLocationType) -> CUresult {
    call.refuse(INVALID_VALUE, format!("{} is no type of location for managed memory", kind.0))
}

fn device(call: &Call<'_>, ordinal: i32, otherwise: CUresult) -> Status<Wish> {
    let count = call.core().topology.devices.len();
    let found = u16::try_from(ordinal).ok().filter(|device| usize::from(*device) < count);
    found
        .map(|device| Residence::Device(device).into())
        .ok_or_else(|| call.refuse(otherwise, format!("{ordinal} is no device; there are {count}")))
}

/// Whether host and device may use managed memory at the same time.
pub(super) fn shares(topology: &Topology, device: u16) -> bool {
    topology.attribute(device.into(), number::CONCURRENT_MANAGED_ACCESS).is_some_and(|value| value != 0)
}

/// Refuses a device that cannot share managed memory with the host.
pub(super) fn check_shares(call: &Call<'_>, place: Residence) -> Status {
    match place {
        Residence::Device(device) if !shares(&call.core().topology, device) => {
            Err(call.refuse(INVALID_DEVICE, format!("device {device} has no concurrent managed access")))
        }
        _ => Ok(()),
    }
}
