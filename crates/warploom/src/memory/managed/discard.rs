//! Discards: contents that are no longer needed and need not be moved.
#![expect(unsafe_code, reason = "gives up the contents of memory that is held exclusively")]

use warploom_driver::Function;

use super::batch::{Batch, Checked};
use super::{Locations, ManagedRange, ManagedRangeMut};
use crate::location::refused_at;
use crate::memory::uses::Access;
use crate::{Location, Queue, Result, Stream};

const WHAT: &str = "discard";

impl ManagedRangeMut<'_> {
    /// Gives up its contents, in the order of `queue`: values read before they are written again may be
    /// anything. It needs a driver since 13.0.
    ///
    /// As with a write, work on other streams has to be ordered before or after it, or that work's contents
    /// may be anything, too.
    ///
    /// # Errors
    ///
    /// As [`discard_batch`].
    #[doc(alias = "cuMemDiscardBatchAsync")]
    pub fn discard(self, queue: &impl Queue) -> Result<()> {
        discard(&[self.range], None, queue.stream(), false)
    }

    /// Gives up its contents and moves it to a location, in the order of `queue`; nothing is copied. It needs
    /// a driver since 13.0.
    ///
    /// # Errors
    ///
    /// As [`discard_prefetch_batch`].
    #[doc(alias = "cuMemDiscardAndPrefetchBatchAsync")]
    pub fn discard_prefetch(self, to: impl Into<Location>, queue: &impl Queue) -> Result<()> {
        discard(&[self.range], Some(&Locations::All(to.into())), queue.stream(), false)
    }
}

/// Gives up the contents of many ranges, in the order of `queue`, with one driver call; see
/// [`ManagedRangeMut::discard`].
///
/// ```
/// use warploom::{Driver, ManagedMemory, discard_batch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (stream, memory) = (context.stream()?, ManagedMemory::new(&context)?);
/// let mut first = memory.zeroed::<u8>(1 << 20, &stream)?;
/// let mut second = memory.zeroed::<u8>(1 << 20, &stream)?;
/// discard_batch([&mut first, &mut second], &stream)?;
/// first.fill(1, &stream)?; // its old contents need not be moved
/// # Ok(())
/// # }
/// ```
///
/// A range cannot be read while it is discarded:
///
/// ```compile_fail,E0502
/// # use warploom::{ManagedBuffer, Queue, Result, discard_batch};
/// fn gone(buffer: &mut ManagedBuffer<u8>, queue: &impl Queue) -> Result<u8> {
///     let values = buffer.host()?;
///     discard_batch([&mut *buffer], queue)?;
///     Ok(values[0])
/// }
/// ```
///
/// # Errors
///
/// Looked for in this order: [`ManagedError::EmptyBatch`](crate::ManagedError::EmptyBatch),
/// [`ManagedError::NotManaged`](crate::ManagedError::NotManaged) with the number of the range, a driver
/// before 13.0, [`CopyError::LegacyStream`](crate::CopyError::LegacyStream) and
/// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for the stream; then nothing is
/// discarded. And the driver's error; then all of them are to be taken for discarded.
#[doc(alias = "cuMemDiscardBatchAsync")]
pub fn discard_batch<'a, R>(ranges: impl IntoIterator<Item = R>, queue: &impl Queue) -> Result<()>
where
    R: Into<ManagedRangeMut<'a>>,
{
    discard(&collect(ranges), None, queue.stream(), true)
}

/// Gives up the contents of many ranges and moves them, all to one location or each to its own, in the order
/// of `queue`, with one driver call; see [`ManagedRangeMut::discard_prefetch`].
///
/// # Errors
///
/// As [`discard_batch`], and as [`prefetch_batch`](crate::prefetch_batch) says of locations, which are looked
/// at after the ranges.
#[doc(alias = "cuMemDiscardAndPrefetchBatchAsync")]
pub fn discard_prefetch_batch<'a, R>(
    ranges: impl IntoIterator<Item = R>,
    to: impl Into<Locations>,
    queue: &impl Queue,
) -> Result<()>
where
    R: Into<ManagedRangeMut<'a>>,
{
    discard(&collect(ranges), Some(&to.into()), queue.stream(), true)
}

fn collect<'a, R: Into<ManagedRangeMut<'a>>>(ranges: impl IntoIterator<Item = R>) -> Vec<ManagedRange<'a>> {
    ranges.into_iter().map(|range| range.into().range).collect()
}

/// One call, about ranges that are borrowed exclusively.
fn discard(ranges: &[ManagedRange<'_>], to: Option<&Locations>, stream: &Stream, numbered: bool) -> Result<()> {
    let checked = Checked::new(WHAT, ranges, to, numbered)?;
    let function =
        if to.is_some() { Function::cuMemDiscardAndPrefetchBatchAsync } else { Function::cuMemDiscardBatchAsync };
    checked.check_batches(function, stream)?;
    checked.check_reached_by(stream)?;
    stream.refuse_captured(WHAT)?;
    let Some(mut batch) = checked.meet(stream)? else { return Ok(()) };
    for ManagedRange { allocation, .. } in ranges {
        allocation.managed().note_discard(allocation.reuses_memory());
    }
    let driver = stream.driver();
    let Batch { addresses, sizes, places, starts } = &mut batch;
    let (count, kinds) = (addresses.len(), places.len());
    let (addresses, sizes) = (addresses.as_mut_ptr(), sizes.as_mut_ptr());
    let (places_at, starts) = (places.as_mut_ptr(), starts.as_mut_ptr());
    // SAFETY: there are as many addresses as sizes, and as many places as starts; the driver reads them
    // during the call. The memory is managed, that long, and there in the order of the stream, which is
    // alive. It is borrowed exclusively, so that nobody looks at contents that go.
    let discarded = stream.outside_captures(|raw| unsafe {
        if to.is_some() {
            driver.cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, count, places_at, starts, kinds, 0, raw)
        } else {
            driver.cuMemDiscardBatchAsync(addresses, sizes, count, 0, raw)
        }
    })?;
    discarded.map_err(|error| refused_at(places, error))?;
    ranges.iter().for_each(|range| range.allocation.did(stream, Access::Write));
    Ok(())
}
