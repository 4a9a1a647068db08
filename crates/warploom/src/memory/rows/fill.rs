//! Fills of rows: every value set to the same.
#![expect(unsafe_code, reason = "writes memory that was checked")]

use super::RowsMut;
use crate::memory::fill::{Pattern, pattern};
use crate::memory::uses::Access;
use crate::{DeviceCopy, MemoryError, Queue, Result};

impl<T: DeviceCopy> RowsMut<'_, T> {
    /// Sets every value, and nothing between the rows, in the order of `queue`. Which values can be repeated
    /// says [`SliceMut::fill`](crate::SliceMut::fill).
    ///
    /// # Errors
    ///
    /// [`MemoryError::Fill`] for a value that cannot be repeated,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    #[doc(alias = "cuMemsetD2D8Async")]
    #[doc(alias = "cuMemsetD2D16Async")]
    #[doc(alias = "cuMemsetD2D32Async")]
    pub fn fill(self, value: T, queue: &impl Queue) -> Result<()> {
        let pattern = pattern(&value).ok_or(MemoryError::Fill { size: size_of::<T>() })?;
        self.repeat(pattern, queue)
    }

    /// Sets every byte to 0, and nothing between the rows, in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    pub fn zero(self, queue: &impl Queue) -> Result<()> {
        self.repeat(Pattern::Bytes(0), queue)
    }

    fn repeat(self, pattern: Pattern, queue: &impl Queue) -> Result<()> {
        let (stream, context, grid) = (queue.stream(), self.context(), &self.grid);
        context.serves(stream)?;
        if grid.values() == 0 {
            return Ok(());
        }
        let _turn = stream.turn();
        grid.allocation.meet(stream)?;
        let (driver, at) = (context.driver(), grid.address);
        let (pitch, width, height) = (grid.pitch * size_of::<T>(), grid.width, grid.height);
        // SAFETY: the memory has these rows of values of the pattern's size, aligned for them, and is there
        // in the order of the stream, which is alive.
        let filled = stream.enqueue(|raw| unsafe {
            match pattern {
                Pattern::Bytes(byte) => driver.cuMemsetD2D8Async(at, pitch, byte, width * size_of::<T>(), height, raw),
                Pattern::Pairs(pair) => driver.cuMemsetD2D16Async(at, pitch, pair, width, height, raw),
                Pattern::Words(word) => driver.cuMemsetD2D32Async(at, pitch, word, width, height, raw),
            }
        });
        filled.map_err(|error| grid.allocation.refused(error, (at, Access::Write), stream))?;
        grid.allocation.did(stream, Access::Write);
        Ok(())
    }
}
