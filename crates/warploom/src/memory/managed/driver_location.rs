//! Locations in the two forms of the driver: kind and number, or an ordinal.
//!
//! Drivers since 12.2 have a kind and a number, and functions and attributes for these; older ones have an
//! ordinal, -1 for the host and -2 for nowhere. Which it is, the functions say that the driver has.

use warploom_driver::sys::types::{CUdevice, CUmemLocation, CUmemLocationType};

use crate::device::{device_of, same_driver};
use crate::{Driver, Host, Location, LocationError, NumaId, Result};

/// A location in one of the driver's two forms.
#[derive(Clone, Copy)]
pub(super) enum DriverLocation {
    Tagged(CUmemLocation),
    Ordinal(CUdevice),
}

/// The host, as older drivers know it.
const HOST: CUdevice = -1;
/// Nowhere, as older drivers know it.
pub(super) const NOWHERE: CUdevice = -2;

impl DriverLocation {
    /// The form that the driver takes; refuses devices of other drivers, and NUMA nodes in the older form.
    pub(super) fn of(driver: &Driver, location: &Location, tagged: bool) -> Result<DriverLocation> {
        if let Location::Device(device) = location {
            same_driver(driver, device.driver())?;
        }
        if tagged {
            Ok(DriverLocation::Tagged(location.to_raw()))
        } else {
            location.to_legacy_raw().map(DriverLocation::Ordinal)
        }
    }

    /// The location, if it has a kind.
    pub(super) fn tagged(&self) -> &[CUmemLocation] {
        match self {
            DriverLocation::Tagged(place) => std::slice::from_ref(place),
            DriverLocation::Ordinal(_) => &[],
        }
    }

    /// For advice that has no location: the driver wants a valid one all the same.
    pub(super) fn any(tagged: bool) -> DriverLocation {
        let host = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
        if tagged { DriverLocation::Tagged(host) } else { DriverLocation::Ordinal(HOST) }
    }
}

/// The location of a kind and a number.
pub(super) fn from_tagged(driver: &Driver, kind: i32, id: i32) -> Result<Option<Location>> {
    use CUmemLocationType as Kind;
    let place: Location = match Kind(kind.cast_unsigned()) {
        Kind::CU_MEM_LOCATION_TYPE_INVALID => return Ok(None),
        Kind::CU_MEM_LOCATION_TYPE_DEVICE => device_of(driver, id)?.into(),
        Kind::CU_MEM_LOCATION_TYPE_HOST => Host::Any.into(),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA => Host::Numa(NumaId::try_from(id)?).into(),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Host::NumaCurrent.into(),
        Kind(kind) => return Err(LocationError::UnknownKind { kind }.into()),
    };
    Ok(Some(place))
}

/// The location of an ordinal.
pub(super) fn from_ordinal(driver: &Driver, ordinal: i32) -> Result<Option<Location>> {
    match ordinal {
        NOWHERE => Ok(None),
        HOST => Ok(Some(Host::Any.into())),
        _ => Ok(Some(device_of(driver, ordinal)?.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceError;

    /// S1.15: the driver's numbers as locations, unknown ones included.
    #[test]
    fn numbers_are_places_or_are_refused() {
        let machine = warploom_sim::Machine::preset("pcie-pair").expect("it exists");
        let driver = &Driver::open(&machine).expect("it opens");
        let second = Location::from(driver.device(1).expect("it has two"));
        let node = Host::Numa(NumaId::try_from(3).expect("a number"));
        for (kind, id, place) in [
            (0, -2, None),
            (1, 1, Some(second.clone())),
            (2, -1, Some(Host::Any.into())),
            (3, 3, Some(node.into())),
            (4, 5, Some(Host::NumaCurrent.into())),
        ] {
            assert_eq!(from_tagged(driver, kind, id), Ok(place), "{kind}/{id}");
        }
        assert_eq!(from_tagged(driver, 9, 0), Err(LocationError::UnknownKind { kind: 9 }.into()));
        assert_eq!(from_tagged(driver, 1, 2), Err(DeviceError::NoSuchDevice { ordinal: 2, count: 2 }.into()));
        for (ordinal, place) in [(-2, None), (-1, Some(Host::Any.into())), (1, Some(second))] {
            assert_eq!(from_ordinal(driver, ordinal), Ok(place), "{ordinal}");
        }
    }
}
