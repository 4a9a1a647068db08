//! Growing a buffer of virtual memory in place.
#![expect(unsafe_code, reason = "tells an allocation where its resource has it now")]

use std::fmt;
use std::sync::Arc;

use super::VirtualMemory;
use super::memory::Shared;
use super::range::Range;
use crate::memory::resource::{Synchronous as _, size};
use crate::{Buffer, DeviceCopy, Error, MemoryError, Result, VirtualMemoryError};

/// An error of growing a buffer, with the unchanged buffer. `?` makes an [`Error`] of it and drops the
/// buffer.
///
/// ```
/// use warploom::{Driver, VirtualMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let memory = VirtualMemory::new(&context)?;
/// let buffer = memory.upload(b"kept", &stream)?;
/// let refused = memory.grow(buffer, 1 << 50).unwrap_err();
/// assert!(refused.error.is_out_of_memory());
/// assert_eq!(refused.buffer.download(&stream)?, b"kept");
/// # Ok(())
/// # }
/// ```
pub struct GrowError<T: DeviceCopy> {
    /// The buffer.
    pub buffer: Buffer<T>,
    /// The error.
    pub error: Error,
}

impl<T: DeviceCopy> fmt::Debug for GrowError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GrowError").field("buffer", &self.buffer).field("error", &self.error).finish()
    }
}

impl<T: DeviceCopy> fmt::Display for GrowError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a buffer of {} values could not grow: {}", self.buffer.len(), self.error)
    }
}

impl<T: DeviceCopy> std::error::Error for GrowError<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<T: DeviceCopy> From<GrowError<T>> for Error {
    fn from(refused: GrowError<T>) -> Error {
        refused.error
    }
}

impl VirtualMemory {
    /// The same values in a larger buffer, followed by uninitialised values. Nothing is copied.
    ///
    /// If the addresses behind the buffer are free, it gets more memory there, and nothing waits. Otherwise
    /// it is moved to other addresses, with the same memory behind them; that waits for the streams that used
    /// the buffer, so that no work uses the old addresses. With no more values than before, only the access
    /// of devices is set again.
    ///
    /// The buffer is taken and given back, so that nothing borrowed from it, and none of its addresses, is
    /// used afterwards:
    ///
    /// ```compile_fail,E0505
    /// # use warploom::{Buffer, Queue, Result, VirtualMemory};
    /// fn stale(memory: &VirtualMemory, buffer: Buffer<u8>, queue: &impl Queue) -> Result<Vec<u8>> {
    ///     let old = buffer.as_slice();
    ///     let buffer = memory.grow(buffer, 1 << 30)?;
    ///     old.download(queue)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// With the buffer as it was: [`VirtualMemoryError::Shrinking`] for fewer values than it has,
    /// [`MemoryError::TooLarge`] for more than a size can say, [`MemoryError::OtherResource`] unless it was
    /// allocated here, [`MemoryError::Held`] while a graph or other work holds its memory, and the driver's
    /// error: `CUDA_ERROR_OUT_OF_MEMORY` for more than there is, or a failure of work that used the buffer.
    #[doc(alias = "cuMemMap")]
    pub fn grow<T: DeviceCopy>(&self, mut buffer: Buffer<T>, len: usize) -> Result<Buffer<T>, GrowError<T>> {
        match self.shared.grow(&mut buffer, len) {
            // SAFETY: its allocation has as many values now.
            Ok(()) => Ok(unsafe { buffer.with_len(len) }),
            Err(error) => Err(GrowError { buffer, error }),
        }
    }
}

impl Shared {
    fn grow<T: DeviceCopy>(self: &Arc<Self>, buffer: &mut Buffer<T>, len: usize) -> Result<()> {
        if len < buffer.len() {
            return Err(VirtualMemoryError::Shrinking { from: buffer.len(), to: len }.into());
        }
        let bytes = size::<T>(len)?;
        self.context.check_generation()?;
        if !buffer.allocation().is_from(self) {
            return Err(MemoryError::OtherResource.into());
        }
        if bytes == 0 {
            return Ok(());
        }
        let held = MemoryError::Held { address: buffer.as_raw(), bytes: buffer.size_in_bytes() };
        let allocation = buffer.allocation_mut().ok_or(held)?;
        if allocation.bytes() == 0 {
            let address = self.allocate_raw(bytes)?;
            // SAFETY: the resource has allocated as many bytes just now; before, there were none.
            unsafe { allocation.resize(address, bytes) };
            return Ok(());
        }
        let mut range = self.take(allocation.address()).ok_or(MemoryError::OtherResource)?;
        let grown = self.extend(&mut range, self.whole(bytes), || allocation.settle());
        if grown.is_ok() {
            // SAFETY: the range is mapped there now, and its resource keeps it under this address.
            unsafe { allocation.resize(range.address(), bytes) };
        }
        self.keep(range);
        grown
    }

    /// Gives a range so many bytes in all; `wait` waits for its uses. A range that cannot have them is as it
    /// was.
    fn extend(&self, range: &mut Range, bytes: usize, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let more = bytes - range.bytes();
        if more == 0 {
            return range.open(&self.access);
        }
        if let Some(mut next) = self.behind(range, more) {
            self.complete(&mut next)?;
            range.append(next);
            return Ok(());
        }
        wait()?;
        let mut moved = self.reserve(bytes)?;
        moved.map_again(range)?;
        self.complete(&mut moved)?;
        moved.adopt(range);
        // Only the addresses of the old range are left; a failure to free them does not fail the growth.
        *range = moved;
        Ok(())
    }

    /// Addresses right behind a range, if they can be had.
    fn behind(&self, range: &Range, bytes: usize) -> Option<Range> {
        let next = Range::reserve(self.context.device(), bytes, 0, range.end()).ok()?;
        (next.address() == range.end()).then_some(next)
    }
}
