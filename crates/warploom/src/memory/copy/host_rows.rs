//! Copies of rows from and to the host, where they are packed without gaps.
//!
//! As with slices, no call keeps the caller's memory.
#![expect(unsafe_code, reason = "lends host memory to the driver")]

use super::device::same_length;
use super::host::{COPY, READ_DURING_CALLS};
use super::planes::Endpoint;
use super::rows::descriptor;
use crate::memory::rows::{Grid, Rows, RowsMut};
use crate::memory::staging::{self, End, Pieces};
use crate::{DeviceCopy, Queue, Result, Stream};

impl<T: DeviceCopy> RowsMut<'_, T> {
    /// Copies everything from packed rows on the host, in the order of `queue`. Returns when the values are
    /// on the device.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if there are not as many values,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpy2DAsync")]
    pub fn copy_from_host(self, values: &[T], queue: &impl Queue) -> Result<()> {
        let (stream, context, grid) = (queue.stream(), self.context(), &self.grid);
        same_length(values.len(), grid.values())?;
        context.serves(stream)?;
        if grid.values() == 0 {
            return Ok(());
        }
        stream.refuse_captured(COPY)?;
        grid.allocation().meet(stream)?;
        let _current = grid.allocation().current_for(stream)?;
        if let Some(pieces) = pieces::<T>(grid) {
            // SAFETY: the values have all pieces. Each copy reads its piece from the address that it is
            // given, to rows that are there in the order of the stream.
            return unsafe {
                staging::upload(values.as_ptr().cast(), pieces, stream, End::Arrived, |piece, from, raw| {
                    let part = grid.piece::<T>(piece);
                    let from = Endpoint::packed(from.cast_mut(), part.width());
                    let copy = descriptor::<u8>(Endpoint::of::<u8>(&part), from, &part);
                    context.driver().cuMemcpy2DAsync_v2(&raw const copy, raw)
                })
            };
        }
        let mut lent = values.to_vec();
        let copy = descriptor::<T>(Endpoint::of::<T>(grid), Endpoint::packed(lent.as_mut_ptr(), grid.width()), grid);
        // SAFETY: both have these rows; the device's are there in the order of the stream, the host's until
        // `finish` knows that they are no longer needed.
        let enqueued =
            stream.outside_captures(|raw| unsafe { context.driver().cuMemcpy2DAsync_v2(&raw const copy, raw) });
        stream.finish(lent, enqueued).map(drop)
    }
}

impl<T: DeviceCopy> Rows<'_, T> {
    /// All values, on the host and packed, when the work enqueued on `queue` so far is done.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpy2DAsync")]
    pub fn download(self, queue: &impl Queue) -> Result<Vec<T>> {
        let (stream, context, grid) = (queue.stream(), self.context(), &self.grid);
        context.serves(stream)?;
        let mut values: Vec<T> = Vec::with_capacity(grid.values());
        if let Some(pieces) = pieces::<T>(grid) {
            // SAFETY: there is room for as many values, which nothing else uses.
            unsafe { self.stage(values.as_mut_ptr(), pieces, stream) }?;
        } else if grid.values() > 0 {
            stream.refuse_captured(COPY)?;
            grid.allocation().meet(stream)?;
            let copy =
                descriptor::<T>(Endpoint::packed(values.as_mut_ptr(), grid.width()), Endpoint::of::<T>(grid), grid);
            let _current = grid.allocation().current_for(stream)?;
            // SAFETY: both have these rows; the device's are there in the order of the stream, and the host's
            // are nobody else's until `finish` knows that they are no longer needed.
            let enqueued =
                stream.outside_captures(|raw| unsafe { context.driver().cuMemcpy2DAsync_v2(&raw const copy, raw) });
            values = stream.finish(values, enqueued)?;
        }
        // SAFETY: there is room for as many, all their bytes have been written, and any bytes are values
        // (`DeviceCopy`).
        unsafe { values.set_len(grid.values()) };
        Ok(values)
    }

    /// Copies everything to packed rows on the host when the work enqueued on `queue` so far is done.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if there is not room for as many
    /// values, and as [`Rows::download`]. Nothing is written then, unless the driver fails in the middle of
    /// more than 64 KiB.
    pub fn copy_to_host(self, values: &mut [T], queue: &impl Queue) -> Result<()> {
        same_length(self.grid.values(), values.len())?;
        if let Some(pieces) = pieces::<T>(&self.grid) {
            let stream = queue.stream();
            self.context().serves(stream)?;
            // SAFETY: the slice has room for as many values, and is borrowed.
            return unsafe { self.stage(values.as_mut_ptr(), pieces, stream) };
        }
        values.copy_from_slice(&self.download(queue)?);
        Ok(())
    }

    /// Copies everything to the host through staging memory, on a stream of the context.
    ///
    /// # Safety
    ///
    /// `to` has room for as many values, and nothing else uses them.
    unsafe fn stage(self, to: *mut T, pieces: Pieces, stream: &Stream) -> Result<()> {
        let (driver, grid) = (stream.driver(), &self.grid);
        stream.refuse_captured(COPY)?;
        grid.allocation().meet(stream)?;
        let _current = grid.allocation().current_for(stream)?;
        // SAFETY: the caller's memory has room for all pieces. Each copy writes its piece to the address that
        // it is given, from rows that are there in the order of the stream.
        unsafe {
            staging::download(to.cast(), pieces, stream, |piece, to, raw| {
                let part = grid.piece::<T>(piece);
                let copy = descriptor::<u8>(Endpoint::packed(to, part.width()), Endpoint::of::<u8>(&part), &part);
                driver.cuMemcpy2DAsync_v2(&raw const copy, raw)
            })
        }
    }
}

/// The pieces of a copy that goes through staging memory; `None` for a small one.
fn pieces<T>(grid: &Grid<'_>) -> Option<Pieces> {
    let bytes = grid.values() * size_of::<T>();
    (bytes > READ_DURING_CALLS).then(|| Pieces::rows(grid.width() * size_of::<T>(), bytes))
}
