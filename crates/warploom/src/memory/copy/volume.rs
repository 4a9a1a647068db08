//! Copies of volumes between device memory.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use warploom_driver::sys::types::CUDA_MEMCPY3D;

use super::planes::{self, Endpoint, Planes, enqueue_between};
use crate::memory::volume::{Block, Volume, VolumeMut};
use crate::{CopyError, DeviceCopy, Queue, Result, Stream, capture};

impl Planes {
    /// Planes of an allocation.
    pub(super) fn of<T>(block: &Block<'_>) -> Planes {
        let rows = Endpoint::at(block.allocation, block.address, block.shape.pitch() * size_of::<T>());
        Planes { rows, height: block.shape.plane_height() }
    }

    /// Planes on the host, one directly behind the other.
    pub(super) fn packed<T>(host: *mut T, block: &Block<'_>) -> Planes {
        Planes { rows: Endpoint::packed(host, block.shape.width()), height: block.shape.height() }
    }
}

/// As many values as `block` has, from one end to the other.
pub(super) fn descriptor<T>(to: Planes, from: Planes, block: &Block<'_>) -> CUDA_MEMCPY3D {
    let (width, height, depth) = block.shape.extent();
    planes::descriptor(to, from, (width * size_of::<T>(), height, depth))
}

impl<T: DeviceCopy> Volume<'_, T> {
    /// Copies everything to a volume of the same extent elsewhere, which may be on another device, in the
    /// order of `queue`. The distances between rows and between planes may differ.
    ///
    /// # Errors
    ///
    /// [`CopyError::ExtentMismatch`] if width, height or depth differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to the context of
    /// neither, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if they belong to
    /// different drivers, and the driver's error: `CUDA_ERROR_INVALID_VALUE` for a pitch beyond the device's
    /// `MAX_PITCH`, which is 2 GiB on all there are.
    #[doc(alias = "cuMemcpy3DAsync")]
    #[doc(alias = "cuMemcpy3DPeerAsync")]
    pub fn copy_to(self, destination: VolumeMut<'_, T>, queue: &impl Queue) -> Result<()> {
        let (to, from) = (destination.block, self.block);
        let (source_extent, destination_extent) = (from.shape.extent(), to.shape.extent());
        if source_extent != destination_extent {
            return Err(CopyError::ExtentMismatch { source_extent, destination_extent }.into());
        }
        let (stream, is_empty) = (queue.stream(), from.shape.values() == 0);
        planes::copy(to.allocation, from.allocation, is_empty, stream, || enqueue::<T>(&to, &from, stream))
    }
}

impl<T: DeviceCopy> VolumeMut<'_, T> {
    /// Copies from a volume of the same extent elsewhere; see [`Volume::copy_to`].
    ///
    /// # Errors
    ///
    /// As [`Volume::copy_to`].
    pub fn copy_from<'s>(self, source: impl Into<Volume<'s, T>>, queue: &impl Queue) -> Result<()> {
        source.into().copy_to(self, queue)
    }
}

/// Enqueues a checked copy that is not empty, of memory that the stream may use.
fn enqueue<T: DeviceCopy>(to: &Block<'_>, from: &Block<'_>, stream: &Stream) -> Result<()> {
    capture::note_copy(stream, T::HAS_PADDING);
    let (source, destination) = (from.allocation.context(), to.allocation.context());
    let driver = source.driver();
    let copy = descriptor::<T>(Planes::of::<T>(to), Planes::of::<T>(from), from);
    if source == destination {
        // SAFETY: both have these planes, and are there in the order of the stream, which is alive. They do
        // not overlap: a volume that can be written shares no byte with others.
        return stream.enqueue(|raw| unsafe { driver.cuMemcpy3DAsync_v2(&raw const copy, raw) });
    }
    // SAFETY: as above; each end belongs to its context.
    unsafe { enqueue_between(&copy, destination, source, stream) }
}
