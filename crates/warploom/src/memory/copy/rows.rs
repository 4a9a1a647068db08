//! Copies of rows between device memory.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use warploom_driver::sys::types::{CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUdeviceptr, CUmemorytype};

use super::device::reachable;
use crate::memory::allocation::Allocation;
use crate::memory::rows::{Grid, Rows, RowsMut};
use crate::memory::slice::Span;
use crate::memory::uses::Access;
use crate::{CopyError, DeviceCopy, Queue, Result, Stream};

/// One end of a copy of rows, as the driver takes it: all in bytes.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) memory: CUmemorytype,
    pub(super) device: CUdeviceptr,
    pub(super) host: *mut c_void,
    pub(super) pitch: usize,
}

impl Endpoint {
    /// Rows of an allocation.
    pub(super) fn of<T>(grid: &Grid<'_>) -> Endpoint {
        Endpoint::at(grid.allocation(), grid.address(), grid.pitch() * size_of::<T>())
    }

    /// Rows at an address of an allocation. Page-locked memory is named as the host's, since memory of the
    /// host's pools is refused otherwise.
    pub(super) fn at(allocation: &Allocation, address: CUdeviceptr, pitch: usize) -> Endpoint {
        if allocation.is_pinned() {
            let host = with_exposed_provenance_mut(address as usize);
            Endpoint { memory: CUmemorytype::CU_MEMORYTYPE_HOST, device: 0, host, pitch }
        } else {
            Endpoint { memory: CUmemorytype::CU_MEMORYTYPE_DEVICE, device: address, host: null_mut(), pitch }
        }
    }

    /// Rows on the host, one directly behind the other.
    pub(super) fn packed<T>(host: *mut T, width: usize) -> Endpoint {
        let (memory, pitch) = (CUmemorytype::CU_MEMORYTYPE_HOST, width * size_of::<T>());
        Endpoint { memory, device: 0, host: host.cast(), pitch }
    }
}

/// As many rows as `grid` has, from one end to the other.
pub(super) fn descriptor<T>(to: Endpoint, from: Endpoint, grid: &Grid<'_>) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from.memory,
        srcHost: from.host,
        srcDevice: from.device,
        srcArray: null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to.memory,
        dstHost: to.host,
        dstDevice: to.device,
        dstArray: null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: grid.width() * size_of::<T>(),
        Height: grid.height(),
    }
}

impl<T: DeviceCopy> Rows<'_, T> {
    /// Copies everything to rows of the same number and width elsewhere, which may be on another device, in
    /// the order of `queue`. The pitches may differ.
    ///
    /// # Errors
    ///
    /// [`CopyError::ShapeMismatch`] if number or width differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to the context of
    /// neither, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if they belong to
    /// different drivers, and the driver's error: `CUDA_ERROR_INVALID_VALUE` for a pitch beyond the device's
    /// `MAX_PITCH`, which is 2 GiB on all there are.
    #[doc(alias = "cuMemcpy2DAsync")]
    #[doc(alias = "cuMemcpy3DPeerAsync")]
    pub fn copy_to(self, destination: RowsMut<'_, T>, queue: &impl Queue) -> Result<()> {
        let (to, from) = (destination.grid, self.grid);
        if (to.width(), to.height()) != (from.width(), from.height()) {
            let (source, destination) = ((from.width(), from.height()), (to.width(), to.height()));
            return Err(CopyError::ShapeMismatch { source_shape: source, destination_shape: destination }.into());
        }
        copy::<T>(&to, &from, queue.stream())
    }
}

impl<T: DeviceCopy> RowsMut<'_, T> {
    /// Copies from rows of the same number and width elsewhere; see [`Rows::copy_to`].
    ///
    /// # Errors
    ///
    /// As [`Rows::copy_to`].
    pub fn copy_from<'s>(self, source: impl Into<Rows<'s, T>>, queue: &impl Queue) -> Result<()> {
        source.into().copy_to(self, queue)
    }
}

fn copy<T>(to: &Grid<'_>, from: &Grid<'_>, stream: &Stream) -> Result<()> {
    reachable(to.allocation(), from.allocation(), stream)?;
    if from.values() == 0 {
        return Ok(());
    }
    from.allocation().meet(stream)?;
    to.allocation().meet(stream)?;
    let (_source, _destination) = (from.allocation().current_for(stream)?, to.allocation().current_for(stream)?);
    enqueue::<T>(to, from, stream)?;
    from.allocation().did(stream, Access::Read);
    to.allocation().did(stream, Access::Write);
    Ok(())
}

/// Copies a checked range that is not empty, of memory that the stream may use.
pub(in crate::memory) fn copy_as_row(to: Span<'_>, from: Span<'_>, bytes: usize, stream: &Stream) -> Result<()> {
    let (to, from) = (Grid::of_bytes(to, bytes), Grid::of_bytes(from, bytes));
    enqueue::<u8>(&to, &from, stream)
}

/// Enqueues a checked copy that is not empty, of memory that the stream may use.
fn enqueue<T>(to: &Grid<'_>, from: &Grid<'_>, stream: &Stream) -> Result<()> {
    let (source, destination) = (from.allocation().context(), to.allocation().context());
    let driver = source.driver();
    let copy = descriptor::<T>(Endpoint::of::<T>(to), Endpoint::of::<T>(from), from);
    if source == destination {
        // SAFETY: both have these rows, and are there in the order of the stream, which is alive. They do not
        // overlap: rows that can be written share no byte with others.
        return stream.enqueue(|raw| unsafe { driver.cuMemcpy2DAsync_v2(&raw const copy, raw) });
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
        srcHeight: copy.Height,
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
        dstHeight: copy.Height,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: 1,
    };
    // SAFETY: as above; each address belongs to the context given with it, which is alive.
    stream.enqueue(|raw| unsafe { driver.cuMemcpy3DPeerAsync(&raw const copy, raw) })
}
