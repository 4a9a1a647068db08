//! Copies of volumes from and to the host, where they are packed without gaps.
//!
//! As with slices, no call keeps the caller's memory.
#![expect(unsafe_code, reason = "lends host memory to the driver")]

use super::device::same_length;
use super::host::{COPY, READ_DURING_CALLS};
use super::planes::Planes;
use super::volume::descriptor;
use crate::memory::staging::{self, End, Pieces};
use crate::memory::volume::{Block, Volume, VolumeMut};
use crate::{DeviceCopy, Queue, Result, Stream};

impl<T: DeviceCopy> VolumeMut<'_, T> {
    /// Copies everything from packed planes on the host, in the order of `queue`. Returns when the values are
    /// on the device.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if there are not as many values,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpy3DAsync")]
    pub fn copy_from_host(self, values: &[T], queue: &impl Queue) -> Result<()> {
        let (stream, context, block) = (queue.stream(), self.context(), &self.block);
        same_length(values.len(), block.shape.values())?;
        context.serves(stream)?;
        if values.is_empty() {
            return Ok(());
        }
        stream.refuse_captured(COPY)?;
        block.allocation.meet(stream)?;
        let _current = block.allocation.current_for(stream)?;
        if let Some(pieces) = pieces::<T>(block) {
            // SAFETY: the values have all pieces. Each copy reads its piece from the address that it is
            // given, to planes that are there in the order of the stream.
            return unsafe {
                staging::upload(values.as_ptr().cast(), pieces, stream, End::Arrived, |piece, from, raw| {
                    let part = block.piece::<T>(piece);
                    let from = Planes::packed(from.cast_mut(), &part);
                    let copy = descriptor::<u8>(Planes::of::<u8>(&part), from, &part);
                    context.driver().cuMemcpy3DAsync_v2(&raw const copy, raw)
                })
            };
        }
        let mut lent = values.to_vec();
        let copy = descriptor::<T>(Planes::of::<T>(block), Planes::packed(lent.as_mut_ptr(), block), block);
        // SAFETY: both have these planes; the device's are there in the order of the stream, the host's until
        // `finish` knows that they are no longer needed.
        let enqueued =
            stream.outside_captures(|raw| unsafe { context.driver().cuMemcpy3DAsync_v2(&raw const copy, raw) });
        stream.finish(lent, enqueued).map(drop)
    }
}

impl<T: DeviceCopy> Volume<'_, T> {
    /// All values, on the host and packed, when the work enqueued on `queue` so far is done.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemcpy3DAsync")]
    pub fn download(self, queue: &impl Queue) -> Result<Vec<T>> {
        let (stream, context, block) = (queue.stream(), self.context(), &self.block);
        context.serves(stream)?;
        let values = block.shape.values();
        let mut lent: Vec<T> = Vec::with_capacity(values);
        if let Some(pieces) = pieces::<T>(block) {
            // SAFETY: there is room for as many values, which nothing else uses.
            unsafe { self.stage(lent.as_mut_ptr(), pieces, stream) }?;
        } else if values > 0 {
            stream.refuse_captured(COPY)?;
            block.allocation.meet(stream)?;
            let copy = descriptor::<T>(Planes::packed(lent.as_mut_ptr(), block), Planes::of::<T>(block), block);
            let _current = block.allocation.current_for(stream)?;
            // SAFETY: both have these planes; the device's are there in the order of the stream, and the
            // host's are nobody else's until `finish` knows that they are no longer needed.
            let enqueued =
                stream.outside_captures(|raw| unsafe { context.driver().cuMemcpy3DAsync_v2(&raw const copy, raw) });
            lent = stream.finish(lent, enqueued)?;
        }
        // SAFETY: there is room for as many, all their bytes have been written, and any bytes are values
        // (`DeviceCopy`).
        unsafe { lent.set_len(values) };
        Ok(lent)
    }

    /// Copies everything to packed planes on the host when the work enqueued on `queue` so far is done.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if there is not room for as many
    /// values, and as [`Volume::download`]. Nothing is written then, unless the driver fails in the middle of
    /// more than 64 KiB.
    pub fn copy_to_host(self, values: &mut [T], queue: &impl Queue) -> Result<()> {
        same_length(self.block.shape.values(), values.len())?;
        if let Some(pieces) = pieces::<T>(&self.block) {
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
        let (driver, block) = (stream.driver(), &self.block);
        stream.refuse_captured(COPY)?;
        block.allocation.meet(stream)?;
        let _current = block.allocation.current_for(stream)?;
        // SAFETY: the caller's memory has room for all pieces. Each copy writes its piece to the address that
        // it is given, from planes that are there in the order of the stream.
        unsafe {
            staging::download(to.cast(), pieces, stream, |piece, to, raw| {
                let part = block.piece::<T>(piece);
                let copy = descriptor::<u8>(Planes::packed(to, &part), Planes::of::<u8>(&part), &part);
                driver.cuMemcpy3DAsync_v2(&raw const copy, raw)
            })
        }
    }
}

/// The pieces of a copy that goes through staging memory; `None` for a small one.
fn pieces<T>(block: &Block<'_>) -> Option<Pieces> {
    let bytes = block.shape.values() * size_of::<T>();
    let row = block.shape.width() * size_of::<T>();
    (bytes > READ_DURING_CALLS).then(|| Pieces::planes(row, row * block.shape.height(), bytes))
}
