//! Advice about managed memory: preferred location, mostly read, and the driver's answers.
//!
//! Advising makes the memory's context current for the call, as the driver needs it.
#![expect(unsafe_code, reason = "gives advice about memory that is held, and asks for it")]

use warploom_driver::Function;
use warploom_driver::sys::types::{CUmem_advise as Advice, CUmem_range_attribute as Attribute};

use super::driver_location::{DriverLocation, from_ordinal, from_tagged};
use super::{AccessedBy, ManagedRange};
use crate::location::refused_at;
use crate::{Location, ManagedError, Result};

impl<'a> ManagedRange<'a> {
    /// `true` if all of it is advised as mostly read, so that each reader gets a copy.
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`], [`ManagedError::EmptyRange`], and the driver's error.
    #[doc(alias = "cuMemRangeGetAttribute")]
    pub fn read_mostly(&self) -> Result<bool> {
        self.check_advisable("read_mostly")?;
        let mut value = [0];
        self.ask(Attribute::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, &mut value)?;
        Ok(value[0] != 0)
    }

    /// Sets the mostly-read advice.
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`], [`ManagedError::EmptyRange`], and the driver's error. A device that does
    /// not share managed memory with the host while it works may ignore it without an error.
    #[doc(alias = "cuMemAdvise")]
    pub fn set_read_mostly(&self, read_mostly: bool) -> Result<()> {
        self.check_advisable("read_mostly")?;
        let advice =
            if read_mostly { Advice::CU_MEM_ADVISE_SET_READ_MOSTLY } else { Advice::CU_MEM_ADVISE_UNSET_READ_MOSTLY };
        self.advise(advice, None)
    }

    /// The preferred location of all of it; `None` without one, or if its parts differ.
    ///
    /// A NUMA node is read back as it was named, [`Host::NumaCurrent`](crate::Host::NumaCurrent) included, by
    /// drivers that keep it. On a host with a single node a driver need not: one of CUDA 13.0 with an H200
    /// accepts the advice and answers that there is none, while it does remember a prefetch to that node.
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`], [`ManagedError::EmptyRange`],
    /// [`LocationError::UnknownKind`](crate::LocationError::UnknownKind) for a kind of location that is
    /// younger than this crate, and the driver's error.
    pub fn preferred_location(&self) -> Result<Option<Location>> {
        self.check_advisable("preferred_location")?;
        self.place(
            [
                Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
                Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
            ],
            Attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
        )
    }

    /// Says where it would rather be: on a device, on the host, or, with `None`, nowhere in particular.
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`], [`ManagedError::EmptyRange`],
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a device of another driver,
    /// [`LocationError::NumaUnsupported`](crate::LocationError::NumaUnsupported) for a NUMA node on a driver
    /// before 12.2, and the driver's error: `CUDA_ERROR_INVALID_DEVICE` for a device that does not share
    /// managed memory with the host while it works.
    pub fn set_preferred_location(&self, place: impl Into<Option<Location>>) -> Result<()> {
        self.check_advisable("preferred_location")?;
        match place.into() {
            Some(place) => self.advise(Advice::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, Some(&place)),
            None => self.advise(Advice::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, None),
        }
    }

    /// The destination of the last prefetch of all of it, arrived or not; `None` without one, or if its parts
    /// differ.
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::preferred_location`].
    pub fn last_prefetch_location(&self) -> Result<Option<Location>> {
        self.check_advisable("last_prefetch_location")?;
        self.place(
            [
                Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
                Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
            ],
            Attribute::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
        )
    }

    /// The locations it stays mapped for: a live set, made without a driver call.
    #[must_use]
    pub fn accessed_by(&self) -> AccessedBy<'a> {
        AccessedBy::new(*self)
    }

    /// Keeps it mapped for a location, or no longer.
    pub(super) fn advise_mapping(&self, set: bool, location: &Location) -> Result<()> {
        let advice = if set { Advice::CU_MEM_ADVISE_SET_ACCESSED_BY } else { Advice::CU_MEM_ADVISE_UNSET_ACCESSED_BY };
        self.advise(advice, Some(location))
    }

    /// Refuses memory that is not managed, and empty ranges.
    pub(super) fn check_advisable(&self, what: &'static str) -> Result<()> {
        self.check_managed(what, None)?;
        if self.bytes == 0 { Err(ManagedError::EmptyRange { what }.into()) } else { Ok(()) }
    }

    /// A location that the driver keeps as a kind and a number, or, if it is older, as an ordinal.
    fn place(&self, tagged: [Attribute; 2], ordinal: Attribute) -> Result<Option<Location>> {
        let (mut kind, mut id) = ([0], [0]);
        if !self.is_tagged() {
            self.ask(ordinal, &mut id)?;
            return from_ordinal(self.driver(), id[0]);
        }
        let _current = self.context().current()?;
        self.ask(tagged[0], &mut kind)?;
        self.ask(tagged[1], &mut id)?;
        from_tagged(self.driver(), kind[0], id[0])
    }

    /// `true` if the driver's locations have a kind.
    pub(super) fn is_tagged(&self) -> bool {
        self.driver().supports(Function::cuMemAdvise_v2)
    }

    /// One call, about memory that has been checked.
    pub(super) fn advise(&self, advice: Advice, place: Option<&Location>) -> Result<()> {
        let (driver, tagged) = (self.driver(), self.is_tagged());
        let place =
            place.map_or_else(|| Ok(DriverLocation::any(tagged)), |place| DriverLocation::of(driver, place, tagged))?;
        let _current = self.context().current()?;
        // SAFETY: the memory is held, and it is managed; advice changes none of it.
        let advised = unsafe {
            match place {
                DriverLocation::Tagged(place) => driver.cuMemAdvise_v2(self.address, self.bytes, advice, place),
                DriverLocation::Ordinal(ordinal) => driver.cuMemAdvise(self.address, self.bytes, advice, ordinal),
            }
        };
        advised.map_err(|error| refused_at(place.tagged(), error))
    }

    /// One call, about memory that has been checked.
    pub(super) fn ask(&self, attribute: Attribute, values: &mut [i32]) -> Result<()> {
        let _current = self.context().current()?;
        let (data, size) = (values.as_mut_ptr().cast(), size_of_val(values));
        // SAFETY: there is room for that many bytes, and the memory is held.
        Ok(unsafe { self.driver().cuMemRangeGetAttribute(data, size, attribute, self.address, self.bytes) }?)
    }
}
