//! Locations for managed pages, as C callers name them.

use warploom_sys::types::{CUmemLocation, CUmemLocationType, CUresult};

use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::memory::{CPU, RequestedLocation, Residence};
use crate::topology::{Topology, number};

/// The location of an ordinal of the older functions.
pub(super) fn of_ordinal(call: &Call<'_>, ordinal: i32) -> Status<RequestedLocation> {
    if ordinal == CPU { Ok(Residence::Host.into()) } else { device(call, ordinal, INVALID_DEVICE) }
}

/// The place that a location names. A device ordinal out of range is refused with `no_device`. The NUMA node
/// of the calling thread is always the first, because the simulated machine does not model the CPUs of host
/// threads.
pub(super) fn of_location(call: &Call<'_>, location: CUmemLocation, no_device: CUresult) -> Status<RequestedLocation> {
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
            Ok(RequestedLocation::new(Residence::HostNode(0), kind, id))
        }
        _ => Err(no_kind(call, kind)),
    }
}

/// Refuses a location type that is invalid for managed memory, even if the location is not used.
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

fn device(call: &Call<'_>, ordinal: i32, otherwise: CUresult) -> Status<RequestedLocation> {
    let count = call.core().topology.devices.len();
    let found = u16::try_from(ordinal).ok().filter(|device| usize::from(*device) < count);
    found
        .map(|device| Residence::Device(device).into())
        .ok_or_else(|| call.refuse(otherwise, format!("{ordinal} is no device; there are {count}")))
}

/// `true` if the device supports concurrent managed access.
pub(super) fn shares(topology: &Topology, device: u16) -> bool {
    topology.attribute(device.into(), number::CONCURRENT_MANAGED_ACCESS).is_some_and(|value| value != 0)
}

/// Refuses a device without concurrent managed access.
pub(super) fn check_shares(call: &Call<'_>, place: Residence) -> Status {
    match place {
        Residence::Device(device) if !shares(&call.core().topology, device) => {
            Err(call.refuse(INVALID_DEVICE, format!("device {device} has no concurrent managed access")))
        }
        _ => Ok(()),
    }
}
