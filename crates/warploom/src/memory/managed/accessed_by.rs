//! The locations that managed memory stays mapped for: "accessed by" advice.

use std::collections::BTreeSet;
use std::fmt;
use std::ptr::without_provenance_mut;

use warploom_driver::sys::types::CUmem_range_attribute as Attribute;

use super::ManagedRange;
use super::driver_location::{NOWHERE, from_ordinal};
use crate::device::same_driver;
use crate::live_set::backing::{Backing, Named};
use crate::live_set::lock::Lock;
use crate::{Error, Host, LiveSet, Location, ManagedError, Result};

const WHAT: &str = "accessed_by";

/// The devices, and the host, to which managed memory stays mapped, wherever it is: a [`LiveSet`] of
/// [`Location`]s.
///
/// A NUMA node is never in it: only the host as a whole is. Each read is one question to the driver; there is
/// no call for several pieces of advice, so that a change is a call for each element that does change,
/// removals first. If one of them fails, those before it are taken back; see [`ManagedError::PartlyAdvised`].
///
/// ```
/// use warploom::{Driver, Host, LiveSet, ManagedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
/// let buffer = ManagedMemory::new(&driver.device(0)?.context()?)?.allocate::<u8>(1 << 20)?;
/// let mapped = buffer.accessed_by();
/// mapped.extend(driver.devices()?)?;
/// assert!(mapped.insert(Host::Any)?);
/// assert!(mapped.remove(driver.device(1)?)?);
/// assert_eq!(format!("{mapped:?}"), "AccessedBy { members: {\"device 0\", \"host\"} }");
/// assert!(mapped.insert(Host::NumaCurrent).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct AccessedBy<'a> {
    range: ManagedRange<'a>,
}

impl<'a> AccessedBy<'a> {
    pub(super) fn new(range: ManagedRange<'a>) -> AccessedBy<'a> {
        AccessedBy { range }
    }

    fn advise(&self, set: bool, element: &Location) -> Result<()> {
        self.range.advise_mapping(set, element)
    }

    /// Takes back changes, the last first, and returns `true` if everything is as it was before.
    ///
    /// The change that failed is among them: it may have had its effect. The driver's final answer counts.
    fn take_back(&self, changes: &[(bool, &Location)]) -> bool {
        for (set, element) in changes.iter().rev() {
            self.advise(!set, element).unwrap_or_default();
        }
        let undone =
            |members: BTreeSet<Location>| changes.iter().all(|(set, element)| members.contains(*element) != *set);
        self.read_all().is_ok_and(undone)
    }
}

impl Backing for AccessedBy<'_> {
    type Item = Location;
    type Key = Location;

    fn name(&self, location: Location) -> Result<Named<Location>> {
        self.range.check_advisable(WHAT)?;
        match &location {
            Location::Device(device) => match same_driver(self.range.driver(), device.driver()) {
                Ok(()) => Ok(Named::Item(location)),
                Err(why) => Ok(Named::Unknown(why)),
            },
            Location::Host(Host::Any) => Ok(Named::Item(location)),
            Location::Host(_) => Ok(Named::Unknown(Error::Managed(ManagedError::LocationNotAllowed {
                advice: WHAT,
                locations: vec![location],
            }))),
        }
    }

    fn refuse(&self, unknown: Vec<Error>) -> Error {
        let mut refused = BTreeSet::new();
        for why in unknown {
            match why {
                Error::Managed(ManagedError::LocationNotAllowed { locations, .. }) => refused.extend(locations),
                other => return other,
            }
        }
        Error::Managed(ManagedError::LocationNotAllowed { advice: WHAT, locations: refused.into_iter().collect() })
    }

    fn lock(&self) -> Lock {
        let allocation = usize::try_from(self.range.allocation.address()).unwrap_or_default();
        Lock::of(without_provenance_mut::<u8>(allocation))
    }

    fn read_all(&self) -> Result<BTreeSet<Location>> {
        self.range.check_advisable(WHAT)?;
        let driver = self.range.driver();
        // Room for every device, and for the host.
        let mut ordinals = vec![NOWHERE; driver.devices()?.len() + 1];
        self.range.ask(Attribute::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, &mut ordinals)?;
        ordinals.into_iter().filter_map(|ordinal| from_ordinal(driver, ordinal).transpose()).collect()
    }

    fn read_one(&self, location: &Location) -> Result<bool> {
        Ok(self.read_all()?.contains(location))
    }

    fn check_additions(&self, _additions: &[Location]) -> Result<()> {
        Ok(()) // what can be named can be added
    }

    fn write(&self, additions: &[Location], removals: &[Location]) -> Result<()> {
        let _current = self.range.context().current()?;
        let removed = removals.iter().map(|element| (false, element));
        let changes: Vec<_> = removed.chain(additions.iter().map(|element| (true, element))).collect();
        for (applied, (set, element)) in changes.iter().enumerate() {
            let Err(error) = self.advise(*set, element) else { continue };
            let undone = self.take_back(&changes[..=applied]);
            if applied == 0 && undone {
                return Err(error);
            }
            let applied = changes[..applied].iter().map(|(_, element)| (*element).clone()).collect();
            return Err(ManagedError::PartlyAdvised {
                applied,
                failed: (*element).clone(),
                undone,
                error: Box::new(error),
            }
            .into());
        }
        Ok(())
    }
}

impl fmt::Debug for AccessedBy<'_> {
    /// With the current members, or the error of reading them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("AccessedBy");
        match self.iter() {
            Ok(members) => text.field("members", &members.map(|place| place.to_string()).collect::<BTreeSet<_>>()),
            Err(error) => text.field("error", &format_args!("{error}")),
        };
        text.finish()
    }
}
