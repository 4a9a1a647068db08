//! Locations of memory: a device, the host, or one of its NUMA nodes.
//!
//! Advice, prefetching, copy hints and the placement of pools all speak of devices and of the host. The
//! driver says it in two ways: drivers since 12.2 take a kind and a number, older functions take an ordinal,
//! with -1 for the host. A NUMA node can be said only in the first.

mod error;
#[cfg(feature = "serde")]
mod serialize;

pub use error::LocationError;

use std::fmt;
use std::str::FromStr;

use warploom_driver::sys::types::{CUmemLocation, CUmemLocationType, CUresult};

use crate::error::Malformed;
use crate::{Device, Driver, Error, Result};

/// The number of a NUMA node of the host.
///
/// ```
/// use warploom::NumaId;
///
/// assert_eq!(NumaId::try_from(1_u32)?.get(), 1);
/// assert!(NumaId::try_from(-1_i32).is_err());
/// # Ok::<(), warploom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumaId(i32);

impl NumaId {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.unsigned_abs()
    }
}

impl TryFrom<u32> for NumaId {
    type Error = Error;

    /// Refuses numbers of more than 31 bits, with [`LocationError::InvalidNumaId`].
    fn try_from(id: u32) -> Result<NumaId> {
        i32::try_from(id).map(NumaId).map_err(|_| Error::Location(LocationError::InvalidNumaId { id: id.into() }))
    }
}

impl TryFrom<i32> for NumaId {
    type Error = Error;

    /// Refuses negative numbers, with [`LocationError::InvalidNumaId`].
    fn try_from(id: i32) -> Result<NumaId> {
        if id < 0 { Err(LocationError::InvalidNumaId { id: id.into() }.into()) } else { Ok(NumaId(id)) }
    }
}

impl fmt::Display for NumaId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The host's memory: any of it, or that of a NUMA node.
///
/// Its text is read back as the same value:
///
/// ```
/// use warploom::{Host, NumaId};
///
/// for host in [Host::Any, Host::Numa(NumaId::try_from(3_u32)?), Host::NumaCurrent] {
///     assert_eq!(host.to_string().parse::<Host>()?, host);
/// }
/// # Ok::<(), warploom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Wherever the host keeps it.
    Any,
    /// On a NUMA node.
    Numa(NumaId),
    /// On the NUMA node of the thread that makes the driver call, which need not be the thread that made this
    /// value.
    NumaCurrent,
}

impl fmt::Display for Host {
    /// `host`, `host NUMA node 3`, `host NUMA node of the caller`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Any => formatter.write_str("host"),
            Host::Numa(id) => write!(formatter, "host NUMA node {id}"),
            Host::NumaCurrent => formatter.write_str("host NUMA node of the caller"),
        }
    }
}

impl FromStr for Host {
    type Err = Malformed;

    /// Parses the text of `Display`.
    fn from_str(text: &str) -> Result<Host, Malformed> {
        let node = |id: &str| id.parse().ok().and_then(|id: u32| NumaId::try_from(id).ok());
        match text {
            "host" => Ok(Host::Any),
            "host NUMA node of the caller" => Ok(Host::NumaCurrent),
            _ => {
                text.strip_prefix("host NUMA node ").and_then(node).map(Host::Numa).ok_or_else(|| {
                    Malformed::new("host", text, "host, host NUMA node N or host NUMA node of the caller")
                })
            }
        }
    }
}

/// A device's memory or the host's.
///
/// ```
/// use warploom::{Driver, Host, Location};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let locations = [Location::from(driver.device(0)?), Host::Any.into()];
/// assert_eq!(locations.each_ref().map(ToString::to_string), ["device 0", "host"]);
/// assert_eq!(Location::parse("device 0", &driver)?, locations[0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// On a device.
    Device(Device),
    /// On the host.
    Host(Host),
}

impl Location {
    /// Parses the text of `Display`. Devices are those of `driver`.
    ///
    /// # Errors
    ///
    /// [`Malformed`], and as [`Driver::device`].
    pub fn parse(text: &str, driver: &Driver) -> Result<Location> {
        if let Some(ordinal) = text.strip_prefix("device ").and_then(|ordinal| ordinal.parse::<u32>().ok()) {
            return Ok(driver.device(ordinal)?.into());
        }
        let expected = "device N, host, host NUMA node N or host NUMA node of the caller";
        Ok(text.parse::<Host>().map_err(|_| Malformed::new("location", text, expected))?.into())
    }

    /// The driver's own form, which drivers since 12.2 take.
    #[must_use]
    pub fn to_raw(&self) -> CUmemLocation {
        use CUmemLocationType as Kind;
        let (kind, id) = match self {
            Location::Device(device) => (Kind::CU_MEM_LOCATION_TYPE_DEVICE, device.as_raw()),
            Location::Host(Host::Any) => (Kind::CU_MEM_LOCATION_TYPE_HOST, 0),
            Location::Host(Host::Numa(node)) => (Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA, node.0),
            Location::Host(Host::NumaCurrent) => (Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0),
        };
        CUmemLocation::new(kind, id)
    }

    /// The form that functions older than 12.2 take: an ordinal, or -1 for the host.
    ///
    /// # Errors
    ///
    /// [`LocationError::NumaUnsupported`] for a NUMA node, which that form cannot name.
    pub fn to_legacy_raw(&self) -> Result<i32> {
        match self {
            Location::Device(device) => Ok(device.as_raw()),
            Location::Host(Host::Any) => Ok(-1),
            Location::Host(host) => Err(LocationError::NumaUnsupported { host: *host }.into()),
        }
    }
}

/// The error of a call that named these locations: the NUMA node that the driver refused, or the driver's
/// own.
pub(crate) fn refused_at(places: &[CUmemLocation], error: warploom_driver::Error) -> Error {
    use CUmemLocationType as Kind;
    let node = |place: &CUmemLocation| match place.type_ {
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA => NumaId::try_from(place.id()).ok().map(Host::Numa),
        Kind::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Some(Host::NumaCurrent),
        _ => None,
    };
    let mut nodes = places.iter().filter_map(node);
    match nodes.next() {
        // Of several nodes, the driver does not say which it refuses.
        Some(host) if error.code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE) && nodes.all(|other| other == host) => {
            LocationError::NumaRefused { host }.into()
        }
        _ => error.into(),
    }
}

impl From<Device> for Location {
    fn from(device: Device) -> Location {
        Location::Device(device)
    }
}

impl From<&Device> for Location {
    fn from(device: &Device) -> Location {
        Location::Device(device.clone())
    }
}

impl From<Host> for Location {
    fn from(host: Host) -> Location {
        Location::Host(host)
    }
}

impl From<Device> for Option<Location> {
    fn from(device: Device) -> Self {
        Some(device.into())
    }
}

impl From<&Device> for Option<Location> {
    fn from(device: &Device) -> Self {
        Some(device.into())
    }
}

impl From<Host> for Option<Location> {
    fn from(host: Host) -> Self {
        Some(host.into())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Device(device) => device.fmt(formatter),
            Location::Host(host) => host.fmt(formatter),
        }
    }
}
