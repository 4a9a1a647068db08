//! Copies between device memory.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use super::linear::within;
use super::rows::copy_as_row;
use crate::device::same_driver;
use crate::memory::allocation::Allocation;
use crate::memory::operand::reach;
use crate::memory::slice::Span;
use crate::memory::uses::Access;
use crate::{CopyError, DeviceCopy, Error, Queue, Result, Slice, SliceMut, Stream, capture};

impl<T: DeviceCopy> Slice<'_, T> {
    /// Copies everything to as many values elsewhere, which may be on another device, in the order of
    /// `queue`.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`] if the lengths differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to the context of
    /// neither, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if they belong to
    /// different drivers, [`PeerError::NotEnabled`](crate::PeerError::NotEnabled) on a captured stream whose device
    /// has no access to one of the two, and the driver's error.
    #[doc(alias = "cuMemcpyDtoDAsync")]
    #[doc(alias = "cuMemcpyPeerAsync")]
    pub fn copy_to<'d>(self, destination: impl Into<SliceMut<'d, T>>, queue: &impl Queue) -> Result<()> {
        let (to, from, stream) = (destination.into().span, self.span, queue.stream());
        same_length(from.len, to.len)?;
        copy(to, from, self.size_in_bytes(), stream, T::HAS_PADDING)
    }
}

impl<T: DeviceCopy> SliceMut<'_, T> {
    /// Copies from as many values elsewhere; see [`Slice::copy_to`].
    ///
    /// # Errors
    ///
    /// As [`Slice::copy_to`].
    pub fn copy_from<'s>(self, source: impl Into<Slice<'s, T>>, queue: &impl Queue) -> Result<()> {
        source.into().copy_to(self, queue)
    }
}

/// Refuses ends of different drivers, ends whose context is over, and a stream that works in the context of
/// neither. A captured stream needs access to both ends.
#[inline]
pub(super) fn reachable(to: &Allocation, from: &Allocation, stream: &Stream) -> Result<()> {
    if to.context() == from.context() {
        return to.context().serves(stream);
    }
    reachable_from_either(to, from, stream)
}

#[inline(never)]
fn reachable_from_either(to: &Allocation, from: &Allocation, stream: &Stream) -> Result<()> {
    let (destination, source) = (to.context(), from.context());
    same_driver(source.driver(), destination.driver())?;
    source.check_generation()?;
    destination.check_generation()?;
    destination.serves(stream).or_else(|_| source.serves(stream))?;
    if stream.is_captured() { reachable_in_capture(to, from, stream) } else { Ok(()) }
}

/// Refuses memory that the device of a captured stream has no access to. The driver captures no copy that names
/// two contexts, which it could stage, but one between addresses.
#[cold]
pub(super) fn reachable_in_capture(to: &Allocation, from: &Allocation, stream: &Stream) -> Result<()> {
    reach(to, stream.context())?;
    reach(from, stream.context())
}

fn copy(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream, has_padding: bool) -> Result<()> {
    // Before the checks, which differ for a captured stream.
    let _turn = stream.turn();
    reachable(to.allocation, from.allocation, stream)?;
    if bytes == 0 {
        return Ok(());
    }
    from.allocation.meet(stream)?;
    to.allocation.meet(stream)?;
    capture::note_copy(stream, has_padding);
    enqueue(to, from, bytes, stream).map_err(|error| refused(error, (to, from), stream))?;
    from.allocation.did(stream, Access::Read);
    to.allocation.did(stream, Access::Write);
    Ok(())
}

/// The error of a copy: the access to an end that the stream's device lacks, or the driver's error.
#[cold]
fn refused(error: Error, (to, from): (Span<'_>, Span<'_>), stream: &Stream) -> Error {
    to.refused(from.refused(error, Access::Read, stream), Access::Write, stream)
}

/// Enqueues a checked copy that is not empty, of memory that the stream may use.
#[inline]
pub(in crate::memory) fn enqueue(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream) -> Result<()> {
    if from.allocation.is_pieced() || to.allocation.is_pieced() {
        let _current = stream.context().current()?;
        return enqueue_one(to, from, bytes, stream);
    }
    enqueue_one(to, from, bytes, stream)
}

#[inline]
fn enqueue_one(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream) -> Result<()> {
    let (source, destination) = (from.allocation.context(), to.allocation.context());
    let driver = source.driver();
    if source == destination {
        // SAFETY: both are that long, and there in the order of the stream, which is alive. They do not
        // overlap: a slice that can be written shares no byte with another.
        return stream.enqueue(|raw| unsafe { within(driver, to, from, bytes, raw) });
    }
    enqueue_between(to, from, bytes, stream)
}

/// The same between two contexts.
#[inline(never)]
fn enqueue_between(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream) -> Result<()> {
    let (source, destination) = (from.allocation.context(), to.allocation.context());
    if stream.is_captured() {
        // SAFETY: both are that long and do not overlap, and are there in the order of the stream, which is alive;
        // its device has access to both.
        return stream.enqueue(|raw| unsafe { within(source.driver(), to, from, bytes, raw) });
    }
    if to.allocation.is_pinned() || from.allocation.is_pinned() {
        // The call below refuses memory of the host's pools; the one for rows can be told whose memory it is.
        // If a pool has not been opened to the stream's device, a driver was seen to crash unless a context
        // is current.
        let _current = stream.context().current()?;
        return copy_as_row(to, from, bytes, stream);
    }
    let (to_context, from_context) = (destination.as_raw(), source.as_raw());
    // SAFETY: both are that long and do not overlap, and are there in the order of the stream, which is
    // alive; each address belongs to the context given with it, which is alive.
    stream.enqueue(|raw| unsafe {
        source.driver().cuMemcpyPeerAsync(to.address, to_context, from.address, from_context, bytes, raw)
    })
}

pub(super) fn same_length(source_len: usize, destination_len: usize) -> Result<()> {
    if source_len == destination_len {
        Ok(())
    } else {
        Err(CopyError::LengthMismatch { source_len, destination_len }.into())
    }
}
