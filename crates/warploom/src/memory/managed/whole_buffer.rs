//! Advice, prefetch and discard for all of a managed buffer.

use super::{AccessedBy, ManagedBuffer, ManagedRange, ManagedRangeMut};
use crate::{DeviceCopy, Location, Queue, Result};

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// All of it, to be advised about and moved; see [`ManagedRange`] for a part.
    #[must_use]
    pub fn as_range(&self) -> ManagedRange<'_> {
        self.into()
    }

    /// All of it, to be discarded.
    pub fn as_range_mut(&mut self) -> ManagedRangeMut<'_> {
        self.into()
    }

    /// `true` if it is mostly read; see [`ManagedRange::read_mostly`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::read_mostly`].
    pub fn read_mostly(&self) -> Result<bool> {
        self.as_range().read_mostly()
    }

    /// Sets the mostly-read advice; see [`ManagedRange::set_read_mostly`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::set_read_mostly`].
    pub fn set_read_mostly(&self, read_mostly: bool) -> Result<()> {
        self.as_range().set_read_mostly(read_mostly)
    }

    /// Its preferred location; see [`ManagedRange::preferred_location`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::preferred_location`].
    pub fn preferred_location(&self) -> Result<Option<Location>> {
        self.as_range().preferred_location()
    }

    /// Sets its preferred location; see [`ManagedRange::set_preferred_location`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::set_preferred_location`].
    pub fn set_preferred_location(&self, place: impl Into<Option<Location>>) -> Result<()> {
        self.as_range().set_preferred_location(place)
    }

    /// The destination of its last prefetch; see [`ManagedRange::last_prefetch_location`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::last_prefetch_location`].
    pub fn last_prefetch_location(&self) -> Result<Option<Location>> {
        self.as_range().last_prefetch_location()
    }

    /// The locations it stays mapped for: a live set, made without a driver call.
    #[must_use]
    pub fn accessed_by(&self) -> AccessedBy<'_> {
        self.as_range().accessed_by()
    }

    /// Moves it to a location, in the order of `queue`; see [`ManagedRange::prefetch`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRange::prefetch`].
    pub fn prefetch(&self, to: impl Into<Location>, queue: &impl Queue) -> Result<()> {
        self.as_range().prefetch(to, queue)
    }

    /// Gives up its contents, in the order of `queue`; see [`ManagedRangeMut::discard`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRangeMut::discard`].
    pub fn discard(&mut self, queue: &impl Queue) -> Result<()> {
        self.as_range_mut().discard(queue)
    }

    /// Gives up its contents and moves it to a location, in the order of `queue`; see
    /// [`ManagedRangeMut::discard_prefetch`].
    ///
    /// # Errors
    ///
    /// As [`ManagedRangeMut::discard_prefetch`].
    pub fn discard_prefetch(&mut self, to: impl Into<Location>, queue: &impl Queue) -> Result<()> {
        self.as_range_mut().discard_prefetch(to, queue)
    }
}
