//! `PinnedBuffer`: page-locked memory as a slice of the host.
#![expect(unsafe_code, reason = "reads and writes memory that a resource answers for")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, with_exposed_provenance_mut};

use crate::memory::host_borrows::HostBorrow;
use crate::memory::resource::refuse_padding;
use crate::{Buffer, CastError, DeviceCopy, MemoryError, Result, SynchronousResource};

/// Page-locked values that the host reads and writes, and no stream uses: it is a `[T]`.
///
/// To be used by a stream it has to be given away: to a copy, which gives it back when it is done
/// ([`SliceMut::copy_from_pinned`](crate::SliceMut::copy_from_pinned),
/// [`Slice::copy_to_pinned`](crate::Slice::copy_to_pinned)), or for good, as a [`Buffer`] like any other
/// ([`PinnedBuffer::into_buffer`]), from which it is made again when its streams are done
/// ([`Buffer::into_pinned`]).
///
/// ```
/// use warploom::{Driver, PinnedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = PinnedMemory::new(&context).buffer_of(&[1_u32, 2, 3])?.into_buffer();
/// buffer.slice_mut(1..)?.fill(7, &stream)?; // by the device, in memory of the host
/// assert_eq!(buffer.into_pinned()?.as_slice(), [1, 7, 7]);
/// # Ok(())
/// # }
/// ```
///
/// A graph keeps memory that its nodes use, but cannot be launched while the memory is a `PinnedBuffer`
/// ([`MemoryError::HostBorrowed`]): write the next input, make it a [`Buffer`] again, and launch.
pub struct PinnedBuffer<T: DeviceCopy = u8> {
    /// Page-locked, aligned, used by no stream, and counted as borrowed by the host.
    buffer: ManuallyDrop<Buffer<T>>,
}

impl<T: DeviceCopy> PinnedBuffer<T> {
    /// `len` values from a resource of page-locked memory, all of whose bytes are 0.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`], and [`MemoryError::NotPinned`] if the resource has other memory.
    pub fn zeroed(len: usize, from: &impl SynchronousResource) -> Result<PinnedBuffer<T>> {
        let pinned = Self::allocate(len, from)?;
        // SAFETY: the memory has room for that many values, and nothing else uses it.
        unsafe { pinned.start().write_bytes(0, len) };
        Ok(pinned)
    }

    /// These values, in memory of a resource of page-locked memory.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`], and [`MemoryError::NotPinned`] if the resource has other memory.
    pub fn copied(values: &[T], from: &impl SynchronousResource) -> Result<PinnedBuffer<T>> {
        let pinned = Self::allocate(values.len(), from)?;
        // SAFETY: the memory has room for that many values, and nothing else uses it.
        unsafe { pinned.start().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        Ok(pinned)
    }

    fn allocate(len: usize, from: &impl SynchronousResource) -> Result<PinnedBuffer<T>> {
        let resource = from.resource();
        if !resource.is_pinned() {
            return Err(MemoryError::NotPinned.into());
        }
        resource.allocate(len)?.into_pinned()
    }

    /// The first value, for the host.
    fn start(&self) -> *mut T {
        if self.buffer.size_in_bytes() == 0 {
            return NonNull::dangling().as_ptr();
        }
        // The host uses page-locked memory at the address that it has on devices.
        with_exposed_provenance_mut(self.buffer.as_raw() as usize)
    }

    /// The values.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: there are that many values at the address, aligned, for as long as the buffer lives; of no
        // bytes, the address is not null. No stream uses them, and to write them on the host takes the buffer
        // alone. The memory comes from outside the program, and the host writes no padding where a cache
        // reuses it; so it has bytes, and any bytes are values (`DeviceCopy`).
        unsafe { std::slice::from_raw_parts(self.start(), self.buffer.len()) }
    }

    /// The values, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and the buffer is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.buffer.len()) }
    }

    /// The same memory, to be used on streams.
    #[must_use]
    pub fn into_buffer(self) -> Buffer<T> {
        let mut this = ManuallyDrop::new(self);
        HostBorrow::end(this.buffer.allocation());
        // SAFETY: `this` is not used again, and does not drop the buffer.
        unsafe { ManuallyDrop::take(&mut this.buffer) }
    }

    /// The memory, counted as borrowed by the host from now on. Waits until launches of graphs that use it
    /// are enqueued, but for nothing to run.
    pub(in crate::memory) fn over(buffer: Buffer<T>) -> PinnedBuffer<T> {
        HostBorrow::begin(buffer.allocation());
        PinnedBuffer { buffer: ManuallyDrop::new(buffer) }
    }

    /// The same memory with values of another type; see [`Buffer::cast`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::cast`].
    pub fn cast<U: DeviceCopy>(self) -> Result<PinnedBuffer<U>, CastError<PinnedBuffer<T>>> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, and does not drop the buffer. It stays borrowed by the host.
        match unsafe { ManuallyDrop::take(&mut this.buffer) }.cast() {
            Ok(buffer) => Ok(PinnedBuffer { buffer: ManuallyDrop::new(buffer) }),
            Err(CastError { buffer, error }) => {
                Err(CastError { buffer: PinnedBuffer { buffer: ManuallyDrop::new(buffer) }, error })
            }
        }
    }

    /// The memory, for a copy that has taken it along.
    pub(in crate::memory) fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// The memory of a copy that is done, and was its only user.
    pub(in crate::memory) fn given_back(self) -> PinnedBuffer<T> {
        self.buffer.allocation().forget_users();
        self
    }
}

impl<T: DeviceCopy> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        HostBorrow::end(self.buffer.allocation());
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.buffer) };
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// The same memory, for the host to read and write. Waits until the streams that used it are done,
    /// launches of graphs included.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NotPinned`] unless the memory is page-locked, [`MemoryError::Cast`] if it is not
    /// aligned for the host, [`MemoryError::ReusedPadding`] if a cache has the memory and the values have
    /// padding, and the driver's error, which may be a failure of that work; then the buffer is dropped.
    pub fn into_pinned(self) -> Result<PinnedBuffer<T>> {
        let allocation = self.allocation();
        if !allocation.is_pinned() {
            return Err(MemoryError::NotPinned.into());
        }
        let (address, bytes, size, align) = (self.as_raw(), self.size_in_bytes(), size_of::<T>(), align_of::<T>());
        if !address.is_multiple_of(align as u64) {
            return Err(MemoryError::Cast { bytes, address, size, align }.into());
        }
        refuse_padding::<T>(allocation.reuses_memory())?;
        // Counted first, so that no graph is launched between the wait and the borrow.
        let pinned = PinnedBuffer::over(self);
        pinned.buffer.allocation().settle()?;
        Ok(pinned)
    }
}

impl<T: DeviceCopy> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: DeviceCopy> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: DeviceCopy> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.buffer.as_raw());
        formatter.debug_struct("PinnedBuffer").field("address", &address).field("len", &self.len()).finish()
    }
}
