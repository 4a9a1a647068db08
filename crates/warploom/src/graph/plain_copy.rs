//! The parameters of copies between two addresses.
#![expect(unsafe_code, reason = "parameters that are sent between threads")]

use std::mem::zeroed;

use warploom_driver::sys::types::{CUDA_MEMCPY3D_v2, CUdeviceptr, CUmemorytype};

/// The driver's parameters of a copy of one row, between addresses whose kind of memory the driver finds out.
///
/// They are made once for each hierarchy and changed for each node. There are 200 bytes of them, of which a node
/// differs from the one before in five words: the code that fills in the rest would be fetched again for each node,
/// since each driver call evicts it from the instruction cache.
pub(super) struct PlainCopy(CUDA_MEMCPY3D_v2);

// SAFETY: its pointers are null, always.
unsafe impl Send for PlainCopy {}

impl PlainCopy {
    pub(super) fn new() -> PlainCopy {
        // SAFETY: all of it are numbers and pointers, for which 0 is a value.
        let mut params: CUDA_MEMCPY3D_v2 = unsafe { zeroed() };
        params.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
        params.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_UNIFIED;
        (params.srcHeight, params.dstHeight) = (1, 1);
        (params.Height, params.Depth) = (1, 1);
        PlainCopy(params)
    }

    /// The parameters of a copy of so many bytes.
    #[inline]
    pub(super) fn of(&mut self, from: CUdeviceptr, to: CUdeviceptr, bytes: usize) -> &CUDA_MEMCPY3D_v2 {
        let params = &mut self.0;
        (params.srcDevice, params.dstDevice) = (from, to);
        (params.srcPitch, params.dstPitch, params.WidthInBytes) = (bytes, bytes, bytes);
        params
    }
}
