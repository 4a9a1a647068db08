//! C arguments on their way into a body: pointers become checked pointers, other values stay as they are.
#![expect(unsafe_code, reason = "takes the pointers that C callers pass")]

use warploom_sys::types::*;

use super::pointer::{ConstPtr, Ptr};

/// A C argument, and its checked form that a body takes.
pub(crate) trait Cross {
    type View;

    /// The checked form.
    ///
    /// # Safety
    ///
    /// A pointer must be null or good for what `cuda.h` says the function does with it, until the call
    /// returns.
    unsafe fn cross(self) -> Self::View;

    /// The value of a handle, an address or a number; 0 for other arguments.
    fn bits(_view: &Self::View) -> u64 {
        0
    }
}

impl<T> Cross for *mut T {
    type View = Ptr<T>;
    unsafe fn cross(self) -> Ptr<T> {
        // SAFETY: C's promise, as above.
        unsafe { Ptr::new(self) }
    }
    fn bits(view: &Ptr<T>) -> u64 {
        view.address()
    }
}
impl<T> Cross for *const T {
    type View = ConstPtr<T>;
    unsafe fn cross(self) -> ConstPtr<T> {
        // SAFETY: C's promise, as above.
        unsafe { ConstPtr::new(self) }
    }
}

macro_rules! as_is {
    ($($type:ty),* $(,)?) => { $(impl Cross for $type {
        type View = Self;
        unsafe fn cross(self) -> Self { self }
    })* };
}
as_is!(
    u8,
    u16,
    u32,
    usize,
    f32,
    CUGLDeviceList,
    CUaddress_mode,
    CUarray_format,
    CUcoredumpSettings,
    CUdevResourceType,
    CUdevice_attribute,
    CUdevice_P2PAttribute,
    CUeglFrame_st,
    CUexecAffinityType,
    CUfilter_mode,
    CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget,
    CUfunc_cache,
    CUfunction_attribute,
    CUgraphMem_attribute,
    CUipcEventHandle,
    CUipcMemHandle,
    CUjitInputType,
    CUkernelNodeAttrID,
    CUlimit,
    CUlogicalEndpointIpcHandleType,
    CUmem_advise,
    CUmem_range_attribute,
    CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType,
    CUmemAllocationType,
    CUmemLocation,
    CUmemPool_attribute,
    CUmemRangeHandleType,
    CUmulticastGranularity_flags,
    CUoutput_mode,
    CUpointer_attribute,
    CUresult,
    CUsharedconfig,
    CUstreamCaptureMode,
    CUtensorMapDataType,
    CUtensorMapFloatOOBfill,
    CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave,
    CUtensorMapL2promotion,
    CUtensorMapSwizzle,
);

impl Cross for i32 {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
    fn bits(view: &Self) -> u64 {
        u64::from(view.cast_unsigned())
    }
}
impl Cross for u64 {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
    fn bits(view: &Self) -> u64 {
        *view
    }
}

impl<F> Cross for Option<F> {
    type View = Self;
    unsafe fn cross(self) -> Self {
        self
    }
}
