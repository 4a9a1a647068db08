//! Buffers of managed memory.

use std::fmt;
use std::ops::{Deref, RangeBounds};

use crate::{Buffer, DeviceCopy, Error, ManagedError, Queue, Result, Slice, SliceMut, Stream};

/// Values in managed memory, owned: a [`Buffer`] that the host can use, too, and whose location can be
/// advised.
///
/// It comes from [`ManagedMemory`](crate::ManagedMemory) or from a [`ManagedPool`](crate::ManagedPool); a
/// [`Buffer`] of managed memory, from any resource, becomes one with `try_from`. Every call that reads a
/// buffer is there by dereferencing.
///
/// ```
/// use warploom::{Driver, ManagedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut table = ManagedMemory::new(&context)?.zeroed::<u32>(4, &stream)?;
/// table.host_mut()?[2] = 7; // by the host …
/// table.slice_mut(..2)?.fill(1, &stream)?; // … by the device …
/// assert_eq!(table.host()?, [1, 1, 7, 0]); // … and by the host again, once the device is done
/// # Ok(())
/// # }
/// ```
pub struct ManagedBuffer<T: DeviceCopy = u8> {
    buffer: Buffer<T>,
}

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// A buffer that is managed, or will be found out when it is first used as one.
    pub(in crate::memory) fn over(buffer: Buffer<T>) -> ManagedBuffer<T> {
        ManagedBuffer { buffer }
    }

    /// The same memory, as a buffer like any other.
    #[must_use]
    pub fn into_buffer(self) -> Buffer<T> {
        self.buffer
    }

    /// All of it, to be written.
    pub fn as_slice_mut(&mut self) -> SliceMut<'_, T> {
        self.buffer.as_slice_mut()
    }

    /// A part of it, to be written.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`](crate::MemoryError::OutOfRange) if the range is not inside.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T>> {
        self.buffer.slice_mut(range)
    }

    /// Sets every value; see [`SliceMut::fill`].
    ///
    /// # Errors
    ///
    /// As [`SliceMut::fill`].
    pub fn fill(&mut self, value: T, queue: &impl Queue) -> Result<()> {
        self.buffer.fill(value, queue)
    }

    /// Sets every byte to 0.
    ///
    /// # Errors
    ///
    /// As [`SliceMut::zero`].
    pub fn zero(&mut self, queue: &impl Queue) -> Result<()> {
        self.buffer.zero(queue)
    }

    /// Copies everything from the host; see [`SliceMut::copy_from_host`].
    ///
    /// # Errors
    ///
    /// As [`SliceMut::copy_from_host`].
    pub fn copy_from_host(&mut self, values: &[T], queue: &impl Queue) -> Result<()> {
        self.buffer.copy_from_host(values, queue)
    }

    /// Another buffer with the same values, from the same resource; see [`Buffer::duplicate`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::duplicate`].
    pub fn duplicate(&self, queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        self.buffer.duplicate(queue).map(ManagedBuffer::over)
    }

    /// Frees the memory in the order of another stream; see [`Buffer::set_free_stream`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::set_free_stream`].
    pub fn set_free_stream(&mut self, stream: &Stream) -> Result<()> {
        self.buffer.set_free_stream(stream)
    }

    /// Frees the memory, and returns the error; see [`Buffer::close`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::close`].
    pub fn close(self) -> Result<()> {
        self.buffer.close()
    }

    /// Frees the memory in the order of another stream; see [`Buffer::close_on`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::close_on`].
    pub fn close_on(self, stream: &Stream) -> Result<()> {
        self.buffer.close_on(stream)
    }
}

impl<T: DeviceCopy> TryFrom<Buffer<T>> for ManagedBuffer<T> {
    type Error = Error;

    /// [`ManagedError::NotManaged`] unless the memory is managed; then the buffer is dropped. The driver is
    /// asked only about memory whose resource does not say so.
    fn try_from(buffer: Buffer<T>) -> Result<ManagedBuffer<T>> {
        if buffer.allocation().is_managed()? {
            return Ok(ManagedBuffer { buffer });
        }
        Err(Error::Managed(ManagedError::NotManaged { what: "ManagedBuffer", index: None }))
    }
}

impl<T: DeviceCopy> Deref for ManagedBuffer<T> {
    type Target = Buffer<T>;

    fn deref(&self) -> &Buffer<T> {
        &self.buffer
    }
}

impl<T: DeviceCopy> From<ManagedBuffer<T>> for Buffer<T> {
    fn from(managed: ManagedBuffer<T>) -> Buffer<T> {
        managed.buffer
    }
}

impl<'a, T: DeviceCopy> From<&'a ManagedBuffer<T>> for Slice<'a, T> {
    fn from(managed: &'a ManagedBuffer<T>) -> Self {
        managed.as_slice()
    }
}

impl<'a, T: DeviceCopy> From<&'a mut ManagedBuffer<T>> for SliceMut<'a, T> {
    fn from(managed: &'a mut ManagedBuffer<T>) -> Self {
        managed.as_slice_mut()
    }
}

impl<T: DeviceCopy> fmt::Debug for ManagedBuffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, device) = (format_args!("{:#x}", self.as_raw()), self.context().device());
        let mut text = formatter.debug_struct("ManagedBuffer");
        text.field("address", &address).field("len", &self.len()).field("device", device).finish()
    }
}
