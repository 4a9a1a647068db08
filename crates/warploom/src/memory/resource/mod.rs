//! Memory resources: the allocators of buffers.
//!
//! | | allocated and freed | trait to implement | trait to use |
//! |---|---|---|---|
//! | [`DevicePool`](crate::DevicePool), [`PinnedPool`](crate::PinnedPool), [`ManagedPool`](crate::ManagedPool) | in the order of a stream | [`StreamOrdered`] | [`OrderedResource`] |
//! | [`DeviceMemory`](crate::DeviceMemory), [`PinnedMemory`](crate::PinnedMemory), [`ManagedMemory`](crate::ManagedMemory), [`VirtualMemory`](crate::VirtualMemory) | at once | [`Synchronous`] | [`SynchronousResource`] |
//!
//! [`Limited`](crate::Limited), [`Counted`](crate::Counted) and [`Logged`](crate::Logged) stand on any of
//! them, and [`Cached`](crate::Cached) on those that allocate in the order of a stream.
//!
//! A resource of your own implements one of the first traits, on addresses; an `Arc` of it is then used like
//! the others, for buffers of any type. Generic code says which kind it needs: the two take different
//! arguments.
#![expect(unsafe_code, reason = "traits whose implementers answer for memory")]

mod any_ordered;
mod ordered;
mod synchronous;

use std::any::type_name;

pub(super) use any_ordered::AnyOrdered;
pub use ordered::{OrderedResource, StreamOrdered};
pub(super) use ordered::{allocate, refuse_captured};
pub use synchronous::{Synchronous, SynchronousResource};

use crate::memory::device_copy::bytes_of;
use crate::{DeviceCopy, MemoryError, Result};

/// The bytes of `len` values, if they can be allocated at all. For 0, no resource is asked.
#[inline]
pub(super) fn size<T>(len: usize) -> Result<usize> {
    Ok(bytes_of::<T>(len).ok_or(MemoryError::TooLarge { len, element: size_of::<T>() })?)
}

/// As [`size`], where there have to be bytes.
pub(super) fn nonzero_size<T>(len: usize) -> Result<usize> {
    match size::<T>(len)? {
        0 => Err(MemoryError::EmptyBuffer.into()),
        bytes => Ok(bytes),
    }
}

/// Refuses to have the host write values with padding to memory that goes from one buffer to the next without
/// a driver call: the next one would have uninitialised bytes.
pub(super) fn refuse_padding<T: DeviceCopy>(reuses_memory: bool) -> Result<()> {
    if T::HAS_PADDING && reuses_memory {
        return Err(MemoryError::ReusedPadding { padded: type_name::<T>() }.into());
    }
    Ok(())
}
