//! Copies of volumes between device memory.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER};

use super::device::reachable;
use super::rows::Endpoint;
use crate::memory::uses::Access;
use crate::memory::volume::{Block, Volume, VolumeMut};
use crate::{CopyError, DeviceCopy, Queue, Result, Stream};

/// One end of a copy of planes.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    rows: Endpoint,
    /// Rows from plane to plane.
    height: usize,
}

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
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: from.rows.memory,
        srcHost: from.rows.host,
        srcDevice: from.rows.device,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: from.rows.pitch,
        srcHeight: from.height,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: to.rows.memory,
        dstHost: to.rows.host,
        dstDevice: to.rows.device,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: to.rows.pitch,
        dstHeight: to.height,
        WidthInBytes: width * size_of::<T>(),
        Height: height,
        Depth: depth,
    }
}

impl<T: DeviceCopy> Volume<'_, T> {
    /// Copies everything to a volume of the same extent elsewhere, which may be on another device, in the order
    /// of `queue`. The distances between rows and between planes may differ.
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
        copy::<T>(&to, &from, queue.stream())
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

fn copy<T>(to: &Block<'_>, from: &Block<'_>, stream: &Stream) -> Result<()> {
    reachable(to.allocation, from.allocation, stream)?;
    if from.shape.values() == 0 {
        return Ok(());
    }
    from.allocation.meet(stream)?;
    to.allocation.meet(stream)?;
    let (_source, _destination) = (from.allocation.current_for(stream)?, to.allocation.current_for(stream)?);
    enqueue::<T>(to, from, stream)?;
    from.allocation.did(stream, Access::Read);
    to.allocation.did(stream, Access::Write);
    Ok(())
}

/// Enqueues a checked copy that is not empty, of memory that the stream may use.
fn enqueue<T>(to: &Block<'_>, from: &Block<'_>, stream: &Stream) -> Result<()> {
    let (source, destination) = (from.allocation.context(), to.allocation.context());
    let driver = source.driver();
    let copy = descriptor::<T>(Planes::of::<T>(to), Planes::of::<T>(from), from);
    if source == destination {
        // SAFETY: both have these planes, and are there in the order of the stream, which is alive. They do not
        // overlap: a volume that can be written shares no byte with others.
        return stream.enqueue(|raw| unsafe { driver.cuMemcpy3DAsync_v2(&raw const copy, raw) });
    }
    let copy = CUDA_MEMCPY3D_PEER {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: null_mut(),
        srcContext: source.as_raw(),
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: null_mut(),
        dstContext: destination.as_raw(),
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
    };
    // SAFETY: as above; each address belongs to the context given with it, which is alive.
    stream.enqueue(|raw| unsafe { driver.cuMemcpy3DPeerAsync(&raw const copy, raw) })
}
