//! One piece of advice about several ranges of managed memory.

use std::ptr::without_provenance_mut;

use super::ManagedRange;
use super::driver_location::DriverLocation;
use crate::live_set::lock::Lock;
use crate::{Host, LiveSet as _, Location, ManagedError, Result};

/// Advice about managed memory, for [`advise`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read, so that each reader gets a copy, or no longer.
    ReadMostly(bool),
    /// The location where it would rather be, or none in particular.
    PreferredLocation(Option<Location>),
    /// It stays mapped for a device, or for the host as a whole.
    AccessedBy(Location),
    /// It no longer stays mapped for that location.
    NotAccessedBy(Location),
}

impl Advice {
    fn name(&self) -> &'static str {
        match self {
            Advice::ReadMostly(_) => "read_mostly",
            Advice::PreferredLocation(_) => "preferred_location",
            Advice::AccessedBy(_) | Advice::NotAccessedBy(_) => "accessed_by",
        }
    }

    /// Refuses a location that the advice does not take, or that the driver cannot be told.
    fn check(&self, range: &ManagedRange<'_>) -> Result<()> {
        let (Advice::PreferredLocation(Some(location))
        | Advice::AccessedBy(location)
        | Advice::NotAccessedBy(location)) = self
        else {
            return Ok(());
        };
        let is_node = matches!(location, Location::Host(Host::Numa(_) | Host::NumaCurrent));
        if is_node && !matches!(self, Advice::PreferredLocation(_)) {
            let (advice, locations) = (self.name(), vec![location.clone()]);
            return Err(ManagedError::LocationNotAllowed { advice, locations }.into());
        }
        DriverLocation::of(range.driver(), location, range.is_tagged()).map(drop)
    }

    /// The advice that is in force now, in the same respect.
    fn in_force(&self, range: &ManagedRange<'_>) -> Result<Advice> {
        Ok(match self {
            Advice::ReadMostly(_) => Advice::ReadMostly(range.read_mostly()?),
            Advice::PreferredLocation(_) => Advice::PreferredLocation(range.preferred_location()?),
            Advice::AccessedBy(location) | Advice::NotAccessedBy(location) => {
                let is_mapped = range.accessed_by().contains(location.clone())?;
                let advice = if is_mapped { Advice::AccessedBy } else { Advice::NotAccessedBy };
                advice(location.clone())
            }
        })
    }

    /// One driver call, about memory that has been checked.
    fn give(&self, range: &ManagedRange<'_>) -> Result<()> {
        match self {
            Advice::ReadMostly(read_mostly) => range.set_read_mostly(*read_mostly),
            Advice::PreferredLocation(location) => range.set_preferred_location(location.clone()),
            Advice::AccessedBy(location) => range.advise_mapping(true, location),
            Advice::NotAccessedBy(location) => range.advise_mapping(false, location),
        }
    }
}

/// Gives the same advice about all ranges, or about none.
///
/// The driver has no call for several ranges. Each is one, after the advice in force was read where it may
/// have to be restored: if one of them fails, those before it are taken back.
///
/// ```
/// use warploom::{Advice, Driver, Host, ManagedMemory, advise};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let memory = ManagedMemory::new(&context)?;
/// let (weights, table) = (memory.allocate::<f32>(1 << 20)?, memory.allocate::<u64>(1 << 12)?);
/// advise([&weights], Advice::ReadMostly(true))?;
/// let both = [weights.as_slice().cast::<u8>()?, table.as_slice().cast()?];
/// advise(both, Advice::PreferredLocation(Some(Host::Any.into())))?;
/// assert!(weights.read_mostly()? && !table.read_mostly()?);
/// assert_eq!(table.preferred_location()?, Some(Host::Any.into()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Looked for in this order, before any advice is given: [`ManagedError::EmptyBatch`],
/// [`ManagedError::NotManaged`] with the number of the range, [`ManagedError::EmptyRange`],
/// [`ManagedError::LocationNotAllowed`] for a NUMA node in `AccessedBy`,
/// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) and
/// [`LocationError::NumaUnsupported`](crate::LocationError::NumaUnsupported). And the driver's error, in
/// [`ManagedError::AdviceFailed`].
#[doc(alias = "cuMemAdvise")]
pub fn advise<'a, R>(ranges: impl IntoIterator<Item = R>, advice: Advice) -> Result<()>
where
    R: Into<ManagedRange<'a>>,
{
    let ranges: Vec<ManagedRange<'a>> = ranges.into_iter().map(Into::into).collect();
    let Some(last) = ranges.len().checked_sub(1) else { return Err(ManagedError::EmptyBatch.into()) };
    for (index, range) in ranges.iter().enumerate() {
        range.check_managed(advice.name(), Some(index))?;
    }
    for range in &ranges {
        range.check_advisable(advice.name())?;
        advice.check(range)?;
    }
    let mut before: Vec<(&ManagedRange<'a>, Advice)> = Vec::with_capacity(last);
    for (index, range) in ranges.iter().enumerate() {
        let given = {
            let _lock = lock(range);
            // Nothing comes after the last that might fail.
            let in_force = if index < last { advice.in_force(range).map(Some) } else { Ok(None) };
            in_force.and_then(|in_force| {
                before.extend(in_force.map(|in_force| (range, in_force)));
                advice.give(range)
            })
        };
        if let Err(error) = given {
            let undone = take_back(&before);
            return Err(ManagedError::AdviceFailed { index, undone, error: Box::new(error) }.into());
        }
    }
    Ok(())
}

/// Restores the advice of before, the last first. `true` if everything is as it was.
fn take_back(before: &[(&ManagedRange<'_>, Advice)]) -> bool {
    before.iter().rev().fold(true, |undone, (range, advice)| {
        let _lock = lock(range);
        advice.give(range).is_ok() && undone
    })
}

/// The lock of the allocation's advice.
fn lock(range: &ManagedRange<'_>) -> Lock {
    Lock::of(without_provenance_mut::<u8>(usize::try_from(range.allocation.address()).unwrap_or_default()))
}
