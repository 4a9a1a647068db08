//! Managed memory that other code allocated.
//!
//! Wrapping makes no driver call: the memory is checked to be managed when it is first used as such.
#![expect(unsafe_code, reason = "takes over memory that others made")]

use std::any::Any;

use warploom_driver::sys::types::CUdeviceptr;

use super::ManagedBuffer;
use crate::memory::allocation::Allocation;
use crate::memory::resource::nonzero_size;
use crate::{Buffer, Context, DeviceCopy, OrderedResource, Queue, Result, SynchronousResource};

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// Memory of other code, whose owner is kept until the buffer is gone and every stream that used it
    /// through the buffer is done.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_owner`].
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_owner`].
    pub unsafe fn from_owner(
        address: CUdeviceptr,
        len: usize,
        context: &Context,
        owner: impl Any + Send + Sync,
    ) -> Result<ManagedBuffer<T>> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { Buffer::from_owner(address, len, context, owner) }.map(ManagedBuffer::over)
    }

    /// Memory of other code.
    ///
    /// # Errors
    ///
    /// As [`Buffer::borrowed`].
    ///
    /// # Safety
    ///
    /// As [`Buffer::borrowed`].
    pub unsafe fn borrowed(address: CUdeviceptr, len: usize, context: &Context) -> Result<ManagedBuffer<T>> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { Buffer::borrowed(address, len, context) }.map(ManagedBuffer::over)
    }

    /// Memory of a stream-ordered resource, to be given back to it in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`](crate::MemoryError::EmptyBuffer) for no bytes, and as
    /// [`OrderedResource::allocate`], but for the driver's error: it is not asked.
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
    ) -> Result<ManagedBuffer<T>> {
        let (bytes, stream, resource) = (nonzero_size::<T>(len)?, queue.stream(), resource.resource());
        resource.context().serves(stream)?;
        let is_pinned = resource.is_pinned();
        // SAFETY: the caller vouches for the memory, which has the size of `len` values.
        let buffer = unsafe {
            Buffer::over(Allocation::ordered((address, bytes), is_pinned, resource.into(), stream.clone()), len)
        };
        Ok(ManagedBuffer::over(buffer))
    }

    /// Memory of a resource that frees at once, to be given back to it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyBuffer`](crate::MemoryError::EmptyBuffer) for no bytes, and as
    /// [`SynchronousResource::allocate`], but for the driver's error: it is not asked.
    ///
    /// # Safety
    ///
    /// The address came from the resource's [`allocate_raw`](crate::Synchronous::allocate_raw), with the size
    /// of `len` values. Nothing else uses it or gives it back.
    pub unsafe fn from_synchronous(
        address: CUdeviceptr,
        len: usize,
        resource: &impl SynchronousResource,
    ) -> Result<ManagedBuffer<T>> {
        let (bytes, resource) = (nonzero_size::<T>(len)?, resource.resource());
        // SAFETY: the caller vouches for the memory, which has the size of `len` values.
        let buffer = unsafe { Buffer::over(Allocation::synchronous((address, bytes), resource), len) };
        Ok(ManagedBuffer::over(buffer))
    }
}
