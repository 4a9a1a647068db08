//! Destinations of a batch: one for all ranges, or one for each.

use crate::{Device, Error, Host, Location, ManagedError, Result};

/// One location for all ranges of a batch, or one for each.
///
/// ```
/// use warploom::{Host, Location, Locations};
///
/// assert_eq!(Locations::from(Host::Any), Locations::All(Location::Host(Host::Any)));
/// let each = Locations::from([Host::Any, Host::NumaCurrent]);
/// assert_eq!(each, Locations::Each(vec![Host::Any.into(), Host::NumaCurrent.into()]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locations {
    /// Every range goes there.
    All(Location),
    /// Each range goes to the location with its number.
    Each(Vec<Location>),
}

impl Locations {
    /// Refuses a number of locations that does not fit the ranges.
    pub(super) fn check_count(&self, ranges: usize) -> Result<()> {
        match self {
            Locations::Each(each) if each.len() != ranges => {
                Err(Error::Managed(ManagedError::LocationCount { ranges, locations: each.len() }))
            }
            Locations::All(_) | Locations::Each(_) => Ok(()),
        }
    }

    /// The location of a range, if there is one.
    pub(super) fn at(&self, index: usize) -> Option<&Location> {
        match self {
            Locations::All(place) => Some(place),
            Locations::Each(each) => each.get(index),
        }
    }

    /// Each location that is named.
    pub(super) fn named(&self) -> &[Location] {
        match self {
            Locations::All(place) => std::slice::from_ref(place),
            Locations::Each(each) => each,
        }
    }
}

impl From<Location> for Locations {
    fn from(place: Location) -> Self {
        Locations::All(place)
    }
}

impl From<&Location> for Locations {
    fn from(place: &Location) -> Self {
        Locations::All(place.clone())
    }
}

impl From<Device> for Locations {
    fn from(device: Device) -> Self {
        Locations::All(device.into())
    }
}

impl From<&Device> for Locations {
    fn from(device: &Device) -> Self {
        Locations::All(device.into())
    }
}

impl From<Host> for Locations {
    fn from(host: Host) -> Self {
        Locations::All(host.into())
    }
}

impl<L: Into<Location>> From<Vec<L>> for Locations {
    fn from(each: Vec<L>) -> Self {
        Locations::Each(each.into_iter().map(Into::into).collect())
    }
}

impl<L: Into<Location>, const N: usize> From<[L; N]> for Locations {
    fn from(each: [L; N]) -> Self {
        Locations::Each(each.map(Into::into).into())
    }
}

impl From<&[Location]> for Locations {
    fn from(each: &[Location]) -> Self {
        Locations::Each(each.to_vec())
    }
}
