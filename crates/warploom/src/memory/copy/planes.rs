//! Ends of copies of rows and planes, and the driver's descriptors of such copies.
#![expect(unsafe_code, reason = "passes descriptors that were checked to the driver")]

use std::ffi::c_void;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use warploom_driver::sys::types::{CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUdeviceptr, CUmemorytype};

use super::device::reachable;
use crate::memory::allocation::Allocation;
use crate::memory::allocation_ref::AllocationRef;
use crate::memory::uses::Access;
use crate::{Context, Result, Stream};

/// One end of a copy of rows, as the driver takes it: all in bytes.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) memory: CUmemorytype,
    pub(super) device: CUdeviceptr,
    pub(super) host: *mut c_void,
    pub(super) pitch: usize,
}

impl Endpoint {
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

/// One end of a copy of planes.
#[derive(Clone, Copy)]
pub(super) struct Planes {
    pub(super) rows: Endpoint,
    /// Rows from plane to plane.
    pub(super) height: usize,
}

/// A copy of planes, given the bytes of a row, the rows of a plane, and the planes.
pub(super) fn descriptor(to: Planes, from: Planes, (width, height, depth): (usize, usize, usize)) -> CUDA_MEMCPY3D {
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
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    }
}

/// The same copy, between memory of two contexts.
fn peer_descriptor(copy: &CUDA_MEMCPY3D, to: &Context, from: &Context) -> CUDA_MEMCPY3D_PEER {
    CUDA_MEMCPY3D_PEER {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcLOD: copy.srcLOD,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcContext: from.as_raw(),
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstLOD: copy.dstLOD,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstContext: to.as_raw(),
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
    }
}

/// Enqueues a copy between memory of two contexts of one driver.
///
/// # Safety
///
/// Both ends have these planes, which do not overlap, and are there in the order of the stream. Each belongs
/// to the context given for it. If the stream is captured, its device has access to both.
pub(super) unsafe fn enqueue_between(
    copy: &CUDA_MEMCPY3D,
    to: &Context,
    from: &Context,
    stream: &Stream,
) -> Result<()> {
    if stream.is_captured() {
        // SAFETY: the caller's promise; the device of the stream has access to both ends.
        return stream.enqueue(|raw| unsafe { from.driver().cuMemcpy3DAsync_v2(copy, raw) });
    }
    let copy = peer_descriptor(copy, to, from);
    // SAFETY: the caller's promise; the contexts and the stream are borrowed.
    stream.enqueue(|raw| unsafe { from.driver().cuMemcpy3DPeerAsync(&raw const copy, raw) })
}

/// Calls `enqueue` for a copy of memory that the stream can reach, unless the copy is empty, and records both
/// accesses.
pub(super) fn copy(
    to: &AllocationRef,
    from: &AllocationRef,
    is_empty: bool,
    stream: &Stream,
    enqueue: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let _turn = stream.turn();
    reachable(to, from, stream)?;
    if is_empty {
        return Ok(());
    }
    from.meet(stream)?;
    to.meet(stream)?;
    let (_source, _destination) = (from.current_for(stream)?, to.current_for(stream)?);
    enqueue()?;
    from.did(stream, Access::Read);
    to.did(stream, Access::Write);
    Ok(())
}
