//! Memory that was allocated from a resource by its address, made a buffer that gives it back.
//!
//! Wrapping makes no driver call, and a wrap that fails frees nothing: the caller still owns the address.
#![expect(unsafe_code, reason = "takes over memory that others made")]

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation::Allocation;
use super::resource::{nonzero_size, refuse_padding};
use crate::{Buffer, DeviceCopy, MemoryError, OrderedResource, PinnedBuffer, Queue, Result, SynchronousResource};

impl<T: DeviceCopy> Buffer<T> {
    /// Memory of a stream-ordered resource, to be given back to it in the order of `queue`, unless
    /// [another stream](Buffer::set_free_stream) is named later.
    ///
    /// ```
    /// use warploom::{Buffer, DevicePool, Driver, OrderedResource};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    /// let address = pool.resource().allocate_raw(400, &stream)?;
    /// // SAFETY: allocated above, with this size and on this stream, and used by nothing else.
    /// let mut buffer = unsafe { Buffer::<u32>::from_ordered(address, 100, &pool, &stream) }?;
    /// buffer.fill(7, &stream)?;
    /// drop(buffer); // freed on `stream`
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`] for no bytes, [`MemoryError::TooLarge`] for more than a size can say, and
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context.
    /// Then nothing is freed: the address is still the caller's.
    ///
    /// # Safety
    ///
    /// The address came from the resource's [`allocate_raw`](crate::StreamOrdered::allocate_raw), with the
    /// size of `len` values. Nothing else uses it or gives it back, and everything that used it before is
    /// ordered before later work on `queue`.
    pub unsafe fn from_ordered(
        address: CUdeviceptr,
        len: usize,
        resource: &impl OrderedResource,
        queue: &impl Queue,
    ) -> Result<Buffer<T>> {
        let (bytes, stream, resource) = (nonzero_size::<T>(len)?, queue.stream(), resource.resource());
        resource.context().serves(stream)?;
        let is_pinned = resource.is_pinned();
        // SAFETY: the caller vouches for the memory, which has the size of `len` values.
        Ok(unsafe {
            Buffer::over(Allocation::ordered((address, bytes), is_pinned, resource.into(), stream.clone()), len)
        })
    }

    /// Memory of a resource that frees at once, to be given back to it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`] for no bytes, [`MemoryError::TooLarge`] for more than a size can say.
    /// Then nothing is freed: the address is still the caller's.
    ///
    /// # Safety
    ///
    /// The address came from the resource's [`allocate_raw`](crate::Synchronous::allocate_raw), with the size
    /// of `len` values. Nothing else uses it or gives it back.
    pub unsafe fn from_synchronous(
        address: CUdeviceptr,
        len: usize,
        resource: &impl SynchronousResource,
    ) -> Result<Buffer<T>> {
        let (bytes, resource) = (nonzero_size::<T>(len)?, resource.resource());
        // SAFETY: the caller vouches for the memory, which has the size of `len` values.
        Ok(unsafe { Buffer::over(Allocation::synchronous((address, bytes), resource), len) })
    }
}

impl<T: DeviceCopy> PinnedBuffer<T> {
    /// Page-locked memory of a stream-ordered resource, to be given back to it in the order of `queue`. Waits
    /// for the queue, since the memory may not be there before.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_ordered`], [`MemoryError::NotPinned`] if the resource has other memory,
    /// [`MemoryError::Cast`] if it is not aligned for the host, [`MemoryError::ReusedPadding`] if it is a cache
    /// and the values have padding, and the driver's error, which may be a failure of work before. Then nothing is freed: the address is still the caller's.
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_ordered`].
    pub unsafe fn from_ordered(
        address: CUdeviceptr,
        len: usize,
        resource: &impl OrderedResource,
        queue: &impl Queue,
    ) -> Result<PinnedBuffer<T>> {
        let (stream, resource) = (queue.stream(), resource.resource());
        check::<T>(address, len, resource.is_pinned())?;
        refuse_padding::<T>(resource.reuses_memory())?;
        resource.context().serves(stream)?;
        stream.synchronize()?;
        // SAFETY: the caller's promise is the one that is asked for.
        let buffer = unsafe { Buffer::from_ordered(address, len, &resource, stream) }?;
        Ok(PinnedBuffer::over(buffer))
    }

    /// Page-locked memory of a resource that frees at once, to be given back to it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_synchronous`], [`MemoryError::NotPinned`] if the resource has other memory, and
    /// [`MemoryError::Cast`] if it is not aligned for the host. Then nothing is freed: the address is still
    /// the caller's.
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_synchronous`].
    pub unsafe fn from_synchronous(
        address: CUdeviceptr,
        len: usize,
        resource: &impl SynchronousResource,
    ) -> Result<PinnedBuffer<T>> {
        let resource = resource.resource();
        check::<T>(address, len, resource.is_pinned())?;
        // SAFETY: the caller's promise is the one that is asked for.
        let buffer = unsafe { Buffer::from_synchronous(address, len, &resource) }?;
        Ok(PinnedBuffer::over(buffer))
    }
}

/// Refuses memory that the host cannot use as values of a type.
fn check<T: DeviceCopy>(address: CUdeviceptr, len: usize, is_pinned: bool) -> Result<()> {
    let (bytes, size, align) = (nonzero_size::<T>(len)?, size_of::<T>(), align_of::<T>());
    if !is_pinned {
        return Err(MemoryError::NotPinned.into());
    }
    if !address.is_multiple_of(align as CUdeviceptr) {
        return Err(MemoryError::Cast { bytes, address, size, align }.into());
    }
    Ok(())
}
