//! Prefetches: moving managed memory before it is used.
#![expect(unsafe_code, reason = "moves memory that is held")]

use warploom_driver::Function;

use super::batch::{Batch, Checked};
use super::driver_location::DriverLocation;
use super::{Locations, ManagedRange};
use crate::location::refused_at;
use crate::memory::uses::Access;
use crate::{Location, MemoryError, Queue, Result, Stream};

pub(super) const WHAT: &str = "prefetch";

impl ManagedRange<'_> {
    /// Moves it to a location, in the order of `queue`, which may be a stream of any device. It may move away
    /// again; see [`ManagedRange::set_preferred_location`].
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`](crate::ManagedError::NotManaged),
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a device or a stream of
    /// another driver, [`LocationError::NumaUnsupported`](crate::LocationError::NumaUnsupported) for a NUMA
    /// node on a driver before 12.2, [`LocationError::NumaRefused`](crate::LocationError::NumaRefused) for
    /// one that does not exist, and the driver's error.
    #[doc(alias = "cuMemPrefetchAsync")]
    pub fn prefetch(&self, to: impl Into<Location>, queue: &impl Queue) -> Result<()> {
        let (to, stream) = (to.into(), queue.stream());
        self.check_managed(WHAT, None)?;
        let place = self.place_for_prefetch(&to)?;
        self.check_reached_by(stream)?;
        self.send(place, stream)
    }

    /// The form of a location that the driver's prefetches take.
    pub(super) fn place_for_prefetch(&self, to: &Location) -> Result<DriverLocation> {
        DriverLocation::of(self.driver(), to, self.driver().supports(Function::cuMemPrefetchAsync_v2))
    }

    /// One call, about memory that has been checked; none about no memory.
    fn send(&self, place: DriverLocation, stream: &Stream) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        stream.refuse_captured(WHAT)?;
        self.allocation.meet(stream)?;
        let driver = self.driver();
        // SAFETY: the memory is managed, that long, and there in the order of the stream, which is alive.
        // Moving changes none of it.
        let sent = stream.outside_captures(|raw| unsafe {
            match place {
                DriverLocation::Tagged(place) => driver.cuMemPrefetchAsync_v2(self.address, self.bytes, place, 0, raw),
                DriverLocation::Ordinal(ordinal) => driver.cuMemPrefetchAsync(self.address, self.bytes, ordinal, raw),
            }
        })?;
        sent.map_err(|error| refused_at(place.tagged(), error))?;
        self.allocation.did(stream, Access::Read);
        Ok(())
    }
}

/// Moves many ranges, all to one location or each to its own, in the order of `queue`.
///
/// One driver call moves all ranges. A driver before 13.0 has no such function, and the legacy default stream
/// is not accepted by it; then each range is one call, in order, until one fails.
///
/// ```
/// use warploom::{Driver, Host, Location, ManagedMemory, prefetch_batch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, memory) = (context.stream()?, ManagedMemory::new(&context)?);
/// let weights = memory.zeroed::<f32>(1 << 20, &stream)?;
/// let results = memory.zeroed::<f32>(1 << 10, &stream)?;
/// prefetch_batch([&weights, &results], driver.device(0)?, &stream)?; // all to one location
/// let locations = [Location::from(driver.device(0)?), Host::Any.into()];
/// prefetch_batch([&weights, &results], locations, &stream)?; // each to its own
/// stream.synchronize()?;
/// assert_eq!(results.last_prefetch_location()?, Some(Host::Any.into()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Looked for in this order: [`ManagedError::EmptyBatch`](crate::ManagedError::EmptyBatch) and
/// [`ManagedError::LocationCount`](crate::ManagedError::LocationCount),
/// [`ManagedError::NotManaged`](crate::ManagedError::NotManaged) with the number of the range,
/// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) and
/// [`LocationError::NumaUnsupported`](crate::LocationError::NumaUnsupported); then nothing is moved. And the
/// driver's error, in [`MemoryError::InBatch`] where the ranges are calls of their own; then those before may
/// have been moved.
#[doc(alias = "cuMemPrefetchBatchAsync")]
pub fn prefetch_batch<'a, R>(
    ranges: impl IntoIterator<Item = R>,
    to: impl Into<Locations>,
    queue: &impl Queue,
) -> Result<()>
where
    R: Into<ManagedRange<'a>>,
{
    let (ranges, to) = (ranges.into_iter().map(Into::into).collect::<Vec<_>>(), to.into());
    let checked = Checked::new(WHAT, &ranges, Some(&to), true)?;
    let stream = queue.stream();
    checked.check_reached_by(stream)?;
    if !checked.driver().supports(Function::cuMemPrefetchBatchAsync) || stream.is_legacy() {
        return one_by_one(&ranges, &to, stream);
    }
    stream.refuse_captured(WHAT)?;
    let Some(mut batch) = checked.meet(stream)? else { return Ok(()) };
    let driver = stream.driver();
    let Batch { addresses, sizes, places, starts } = &mut batch;
    let (count, kinds) = (addresses.len(), places.len());
    let (addresses, sizes) = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
    let (places_at, starts) = (places.as_mut_ptr(), starts.as_mut_ptr());
    // SAFETY: there are as many addresses as sizes, and as many places as starts; the driver reads them
    // during the call. The memory is managed, that long, and there in the order of the stream, which is
    // alive. Moving changes none of it.
    let sent = stream.outside_captures(|raw| unsafe {
        driver.cuMemPrefetchBatchAsync(addresses, sizes, count, places_at, starts, kinds, 0, raw)
    })?;
    sent.map_err(|error| refused_at(places, error))?;
    ranges.iter().for_each(|range| range.allocation.did(stream, Access::Read));
    Ok(())
}

/// The same without the driver's batches.
fn one_by_one(ranges: &[ManagedRange<'_>], to: &Locations, stream: &Stream) -> Result<()> {
    for (index, range) in ranges.iter().enumerate() {
        let Some(place) = to.at(index) else { continue };
        let sent = range.place_for_prefetch(place).and_then(|place| range.send(place, stream));
        sent.map_err(|error| MemoryError::InBatch { index, error: Box::new(error) })?;
    }
    Ok(())
}
