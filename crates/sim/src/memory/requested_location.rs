//! Locations that programs ask for, as they are reported back.

use warploom_sys::types::{CUmemLocation, CUmemLocationType};

use super::residence::Residence;

/// The ordinal of the host in older functions and attributes.
pub(crate) const CPU: i32 = -1;
/// The ordinal that stands for no location, or for more than one.
pub(crate) const NOWHERE: i32 = -2;

/// A location that a program has asked for, with the type and id by which it is reported back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedLocation {
    pub(crate) place: Residence,
    kind: CUmemLocationType,
    id: i32,
}

impl From<Residence> for RequestedLocation {
    fn from(place: Residence) -> Self {
        let (kind, id) = match place {
            Residence::Device(device) => (CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device.into()),
            Residence::Host => (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, CPU),
            Residence::HostNode(node) => (CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, node.into()),
        };
        Self { place, kind, id }
    }
}

impl RequestedLocation {
    pub(crate) fn new(place: Residence, kind: CUmemLocationType, id: i32) -> Self {
        Self { place, kind, id }
    }

    /// The same location with the id that the program gave, which some functions keep where it means nothing.
    pub(crate) fn with_id(self, location: CUmemLocation) -> Self {
        Self { id: location.id(), ..self }
    }

    /// The ordinal of the older attributes, which know no nodes.
    pub(crate) fn ordinal(requested: Option<Self>) -> i32 {
        match requested.map(|requested| requested.place) {
            Some(Residence::Device(device)) => device.into(),
            Some(Residence::Host | Residence::HostNode(_)) => CPU,
            None => NOWHERE,
        }
    }

    /// The type and the id of a location.
    pub(crate) fn location(requested: Option<Self>) -> (CUmemLocationType, i32) {
        let nowhere = (CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID, NOWHERE);
        requested.map_or(nowhere, |requested| (requested.kind, requested.id))
    }
}
