//! Properties of memory pools.

use std::ptr::null_mut;

use warploom_sys::types::{CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemPoolProps};

/// A pool of pinned memory at a location that cannot be exported, as `cuMemPoolCreate` takes it.
pub fn pool_properties(location: CUmemLocation) -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location,
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        gpuDirectRDMACapable: 0,
        reserved: [0; 53],
    }
}
