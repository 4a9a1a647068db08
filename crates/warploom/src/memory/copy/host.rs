//! Copies from and to the host.
//!
//! No call keeps the caller's memory. Drivers from 12.8 on can be made to promise that they have read the
//! values when the call returns; a small upload to device memory relies on that, and does not wait for the
//! device. Drivers were seen to break the promise for more than 64 KiB, and for managed memory: an H200 read
//! the values when the stream got there. So more values go through [staging](crate::memory::staging) memory,
//! a few pieces at a time; a few values, through a copy. An upload to device memory returns when the values
//! are in staging memory, which is not used again before the device has read it; any other call returns when
//! the copy is done. If a wait fails, work may still be using such memory, now or later; then it is not used
//! again.
#![expect(unsafe_code, reason = "lends host memory to the driver")]

use super::batch::{submit, takes_batches};
use super::device::same_length;
use super::linear::{from_host, to_host};
use crate::memory::staging::{self, End, Pieces};
use crate::memory::uses::Access;
use crate::{CopyOptions, DeviceCopy, Queue, Result, Slice, SliceMut, SourceOrder, Stream};

/// The operation's name in errors: a graph would repeat it with memory that may be gone.
pub(super) const COPY: &str = "a copy from or to the host";

/// The most bytes that drivers are known to have read when the call returns. More go through staging memory.
pub(super) const READ_DURING_CALLS: usize = 64 << 10;

/// The fewest bytes that a download into a slice takes through staging memory: there it is faster than by a
/// vector.
const STAGED_DOWNLOAD: usize = 16 << 10;

/// The most bytes that the driver copies into a new vector itself: there it is faster than in pieces.
const DIRECT: usize = 1 << 20;

impl<T: DeviceCopy> SliceMut<'_, T> {
    /// Copies everything from the host, in the order of `queue`. Returns when the values are no longer
    /// needed, and may wait for the device until then: work of other queues that needs the values has to be
    /// ordered behind this one.
    ///
    /// More than 64 KiB go through a few MiB of page-locked memory that the context keeps, piece by piece: no
    /// copy of all values is made. The call waits for the device while all of that memory is in use. It waits
    /// until the copy is done if the destination is managed, page-locked or foreign memory. No more than 64
    /// KiB are passed to the driver; for these the call also waits if the driver is older than 12.8, or the
    /// queue is the legacy default stream.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if the lengths differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn copy_from_host(self, values: &[T], queue: &impl Queue) -> Result<()> {
        let (span, stream) = (self.span, queue.stream());
        self.receive(values, stream).map_err(|error| span.refused(error, Access::Write, stream))
    }

    /// The copy from the host, on a stream.
    fn receive(self, values: &[T], stream: &Stream) -> Result<()> {
        let context = self.context();
        same_length(values.len(), self.len())?;
        context.serves(stream)?;
        if self.size_in_bytes() == 0 {
            return Ok(());
        }
        stream.refuse_captured(COPY)?;
        self.span.allocation.meet(stream)?;
        let bytes = self.size_in_bytes();
        if bytes <= READ_DURING_CALLS && self.span.allocation.is_device() && takes_batches(stream) {
            let (to, from) = (self.span.address, values.as_ptr().expose_provenance() as u64);
            let attributes = CopyOptions::new().source_order(SourceOrder::DuringCall).to_raw();
            // SAFETY: both have that many bytes; the device's are there in the order of the stream, the
            // host's are borrowed during the call, in which they are read.
            unsafe { submit((&mut [to], &mut [from], &mut [bytes]), (&mut [attributes], &mut [0]), stream) }?;
            self.span.allocation.did(stream, Access::Write);
            return Ok(());
        }
        let driver = context.driver();
        let _current = self.span.allocation.current_for(stream)?;
        if bytes > READ_DURING_CALLS {
            // SAFETY: the values have all pieces. Each copy reads its piece from the address that it is
            // given, to memory of as many bytes that is there in the order of the stream.
            unsafe {
                let end = if self.span.allocation.is_device() { End::Read } else { End::Arrived };
                staging::upload(values.as_ptr().cast(), Pieces::linear(bytes), stream, end, |piece, from, raw| {
                    from_host(driver, self.span.at_byte(piece.start), from.cast(), piece.len(), raw)
                })
            }?;
            self.span.allocation.did(stream, Access::Write);
            return Ok(());
        }
        let lent = values.to_vec();
        // SAFETY: both have that many bytes; the device's are there in the order of the stream, the host's
        // until `finish` knows that they are no longer needed.
        let copy = |raw| unsafe { from_host(driver, self.span, lent.as_ptr().cast(), bytes, raw) };
        let enqueued = stream.outside_captures(copy);
        stream.finish(lent, enqueued).map(drop)
    }
}

impl<T: DeviceCopy> Slice<'_, T> {
    /// All values, on the host, when the work enqueued on `queue` so far is done.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn download(self, queue: &impl Queue) -> Result<Vec<T>> {
        let (span, stream) = (self.span, queue.stream());
        self.collect(stream).map_err(|error| span.refused(error, Access::Read, stream))
    }

    /// All values, by a copy on a stream.
    fn collect(self, stream: &Stream) -> Result<Vec<T>> {
        self.context().serves(stream)?;
        let (mut values, bytes) = (Vec::with_capacity(self.len()), self.size_in_bytes());
        if bytes > DIRECT {
            // SAFETY: there is room for as many values, which nothing else uses.
            unsafe { self.stage(values.as_mut_ptr(), stream) }?;
        } else if bytes > 0 {
            stream.refuse_captured(COPY)?;
            self.span.allocation.meet(stream)?;
            let (driver, to) = (stream.driver(), values.as_mut_ptr().cast());
            let _current = self.span.allocation.current_for(stream)?;
            // SAFETY: both have that many bytes; the device's are there in the order of the stream, and the
            // host's are nobody else's until `finish` knows that they are no longer needed.
            let enqueued = stream.outside_captures(|raw| unsafe { to_host(driver, to, self.span, bytes, raw) });
            values = stream.finish(values, enqueued)?;
        }
        // SAFETY: there is room for as many, all their bytes have been written, and any bytes are values
        // (`DeviceCopy`).
        unsafe { values.set_len(self.len()) };
        Ok(values)
    }

    /// Copies everything to the host when the work enqueued on `queue` so far is done. From 16 KiB on, that
    /// goes through a few MiB of page-locked memory that the context keeps, piece by piece.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if the lengths differ, and as
    /// [`Slice::download`]. Nothing is written then, unless the driver fails in the middle of more than
    /// 64 KiB.
    pub fn copy_to_host(self, values: &mut [T], queue: &impl Queue) -> Result<()> {
        same_length(self.len(), values.len())?;
        if self.size_in_bytes() >= STAGED_DOWNLOAD {
            let stream = queue.stream();
            self.context().serves(stream)?;
            // SAFETY: the slice has room for as many values, and is borrowed.
            let staged = unsafe { self.stage(values.as_mut_ptr(), stream) };
            return staged.map_err(|error| self.span.refused(error, Access::Read, stream));
        }
        values.copy_from_slice(&self.download(queue)?);
        Ok(())
    }

    /// Copies everything to the host through staging memory, on a stream of the context.
    ///
    /// # Safety
    ///
    /// `to` has room for as many values, and nothing else uses them.
    unsafe fn stage(self, to: *mut T, stream: &Stream) -> Result<()> {
        stream.refuse_captured(COPY)?;
        self.span.allocation.meet(stream)?;
        let (driver, pieces) = (stream.driver(), Pieces::linear(self.size_in_bytes()));
        let _current = self.span.allocation.current_for(stream)?;
        // SAFETY: the caller's memory has room for all pieces. Each copy writes its piece to the address that
        // it is given, from memory of as many bytes that is there in the order of the stream.
        unsafe {
            staging::download(to.cast(), pieces, stream, |piece, to, raw| {
                to_host(driver, to.cast(), self.span.at_byte(piece.start), piece.len(), raw)
            })
        }
    }
}
