//! Managed memory that other code allocated.
//!
//! Wrapping makes no driver call: the memory is checked to be managed when it is first used as such.
#![expect(unsafe_code, reason = "takes over memory that others made")]

use std::any::Any;

use warploom_driver::sys::types::CUdeviceptr;

use super::ManagedBuffer;
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
    /// As [`Buffer::from_ordered`].
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_ordered`].
    pub unsafe fn from_ordered(
        address: CUdeviceptr,
        len: usize,
        resource: &impl OrderedResource,
        queue: &impl Queue,
    ) -> Result<ManagedBuffer<T>> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { Buffer::from_ordered(address, len, resource, queue) }.map(ManagedBuffer::over)
    }

    /// Memory of a resource that frees at once, to be given back to it.
    ///
    /// # Errors
    ///
    /// As [`Buffer::from_synchronous`].
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_synchronous`].
    pub unsafe fn from_synchronous(
        address: CUdeviceptr,
        len: usize,
        resource: &impl SynchronousResource,
    ) -> Result<ManagedBuffer<T>> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { Buffer::from_synchronous(address, len, resource) }.map(ManagedBuffer::over)
    }
}
