//! Answers of driver calls around the fault of a kernel, as an H200 gave them.
//!
//! Before the fault is known every call answers as if there were none. Afterwards [`After`] tells those that answer the
//! fault from those that still work.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::call;
use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::*;

use crate::rig::Rig;

/// The answer once the fault is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Fault,
    Works,
}
use After::{Fault, Works};

/// A call, its answer before the fault is known, and that afterwards.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) ask: fn(&Rig) -> Result<(), Error>,
    pub(crate) before: CUresult,
    pub(crate) after: After,
}

const OK: CUresult = CUresult::CUDA_SUCCESS;
const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;

extern "C" fn nothing(_: *mut c_void) {}

macro_rules! rows {
    ($($name:literal $before:ident $after:ident |$rig:ident, $driver:ident| $ask:expr;)*) => {
        pub(crate) const ROWS: &[Row] = &[$(Row {
            name: $name,
            ask: |$rig| { let $driver = &$rig.driver; $ask },
            before: $before,
            after: $after,
        }),*];
    };
}

rows! {
    "cuLaunchKernel" OK Fault |rig, driver| call!(driver.cuLaunchKernel(rig.nothing, 1, 1, 1, 1, 1, 1, 0, rig.faulting, null_mut(), null_mut()));
    "cuLaunchKernel on another stream" OK Fault |rig, driver| call!(driver.cuLaunchKernel(rig.nothing, 1, 1, 1, 1, 1, 1, 0, rig.other, null_mut(), null_mut()));
    "cuLaunchHostFunc" OK Fault |rig, driver| call!(driver.cuLaunchHostFunc(rig.other, Some(nothing), null_mut()));
    "cuMemcpyHtoD" OK Fault |rig, driver| call!(driver.cuMemcpyHtoD_v2(rig.memory, rig.pinned, 64));
    "cuMemcpyDtoH" OK Fault |rig, driver| call!(driver.cuMemcpyDtoH_v2(rig.pinned, rig.memory, 64));
    "cuMemcpyDtoD" OK Fault |rig, driver| call!(driver.cuMemcpyDtoD_v2(rig.memory, rig.memory + 512, 64));
    "cuMemcpyHtoDAsync" OK Fault |rig, driver| call!(driver.cuMemcpyHtoDAsync_v2(rig.memory, rig.pinned, 64, rig.faulting));
    "cuMemcpyDtoHAsync" OK Fault |rig, driver| call!(driver.cuMemcpyDtoHAsync_v2(rig.pinned, rig.memory, 64, rig.faulting));
    "cuMemcpyAsync" OK Fault |rig, driver| call!(driver.cuMemcpyAsync(rig.memory, rig.memory + 512, 64, rig.faulting));
    "cuMemsetD8" OK Fault |rig, driver| call!(driver.cuMemsetD8_v2(rig.memory, 1, 64));
    "cuMemsetD8Async" OK Fault |rig, driver| call!(driver.cuMemsetD8Async(rig.memory, 1, 64, rig.faulting));
    "cuMemAlloc" OK Fault |_rig, driver| call!(driver.cuMemAlloc_v2(&mut 0, 64));
    "cuMemAllocManaged" OK Fault |_rig, driver| call!(driver.cuMemAllocManaged(&mut 0, 64, 1));
    "cuMemAllocAsync" OK Fault |rig, driver| call!(driver.cuMemAllocAsync(&mut 0, 64, rig.faulting));
    "cuMemAllocFromPoolAsync" OK Fault |rig, driver| call!(driver.cuMemAllocFromPoolAsync(&mut 0, 64, rig.pool, rig.other));
    "cuMemHostAlloc" OK Fault |_rig, driver| call!(driver.cuMemHostAlloc(&mut null_mut(), 64, 0));
    "cuMemHostGetDevicePointer" OK Fault |rig, driver| call!(driver.cuMemHostGetDevicePointer_v2(&mut 0, rig.pinned, 0));
    "cuMemGetInfo" OK Fault |_rig, driver| call!(driver.cuMemGetInfo_v2(&mut 0, &mut 0));
    "cuMemGetAddressRange" OK Fault |rig, driver| call!(driver.cuMemGetAddressRange_v2(&mut 0, &mut 0, rig.memory));
    "cuEventCreate" OK Fault |_rig, driver| call!(driver.cuEventCreate(&mut null_mut(), 0));
    "cuEventRecord" OK Fault |rig, driver| call!(driver.cuEventRecord(rig.spare, rig.faulting));
    "cuEventRecord on another stream" OK Fault |rig, driver| call!(driver.cuEventRecord(rig.spare, rig.other));
    "cuEventQuery, reached" OK Fault |rig, driver| call!(driver.cuEventQuery(rig.reached));
    "cuEventQuery, pending" NOT_READY Fault |rig, driver| call!(driver.cuEventQuery(rig.pending));
    "cuEventSynchronize, reached" OK Fault |rig, driver| call!(driver.cuEventSynchronize(rig.reached));
    "cuEventElapsedTime, reached" OK Fault |rig, driver| call!(driver.cuEventElapsedTime(&mut 0.0, rig.reached, rig.reached));
    "cuEventElapsedTime, pending" NOT_READY Fault |rig, driver| call!(driver.cuEventElapsedTime(&mut 0.0, rig.reached, rig.pending));
    "cuEventDestroy" OK Fault |rig, driver| call!(driver.cuEventDestroy_v2(rig.doomed()));
    "cuStreamCreate" OK Fault |_rig, driver| call!(driver.cuStreamCreate(&mut null_mut(), 1));
    "cuStreamWaitEvent" OK Fault |rig, driver| call!(driver.cuStreamWaitEvent(rig.other, rig.reached, 0));
    "cuStreamQuery" NOT_READY Fault |rig, driver| call!(driver.cuStreamQuery(rig.faulting));
    "cuStreamGetFlags" OK Fault |rig, driver| call!(driver.cuStreamGetFlags(rig.faulting, &mut 0));
    "cuStreamGetPriority" OK Fault |rig, driver| call!(driver.cuStreamGetPriority(rig.faulting, &mut 0));
    "cuStreamGetId" OK Fault |rig, driver| call!(driver.cuStreamGetId(rig.faulting, &mut 0));
    "cuStreamGetCtx" OK Fault |rig, driver| call!(driver.cuStreamGetCtx(rig.faulting, &mut null_mut()));
    "cuCtxGetCurrent" OK Works |_rig, driver| call!(driver.cuCtxGetCurrent(&mut null_mut()));
    "cuCtxGetDevice" OK Works |_rig, driver| call!(driver.cuCtxGetDevice(&mut 0));
    "cuCtxGetFlags" OK Works |_rig, driver| call!(driver.cuCtxGetFlags(&mut 0));
    "cuCtxGetLimit" OK Fault |_rig, driver| call!(driver.cuCtxGetLimit(&mut 0, CUlimit::CU_LIMIT_STACK_SIZE));
    "cuCtxGetStreamPriorityRange" OK Fault |_rig, driver| call!(driver.cuCtxGetStreamPriorityRange(&mut 0, &mut 0));
    "cuModuleGetFunction" OK Fault |rig, driver| call!(driver.cuModuleGetFunction(&mut null_mut(), rig.module, c"nothing".as_ptr()));
    "cuModuleGetGlobal" OK Fault |rig, driver| call!(driver.cuModuleGetGlobal_v2(&mut 0, &mut 0, rig.module, c"word".as_ptr()));
    "cuFuncGetAttribute" OK Fault |rig, driver| call!(driver.cuFuncGetAttribute(&mut 0, CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS, rig.nothing));
    "cuOccupancyMaxActiveBlocksPerMultiprocessor" OK Fault |rig, driver| call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, rig.nothing, 32, 0));
    "cuGraphCreate" OK Works |_rig, driver| call!(driver.cuGraphCreate(&mut null_mut(), 0));
    "cuGraphAddEmptyNode" OK Works |rig, driver| call!(driver.cuGraphAddEmptyNode(&mut null_mut(), rig.graph, std::ptr::null(), 0));
    "cuGraphInstantiateWithFlags" OK Fault |rig, driver| call!(driver.cuGraphInstantiateWithFlags(&mut null_mut(), rig.graph, 0));
    "cuGraphLaunch" OK Fault |rig, driver| call!(driver.cuGraphLaunch(rig.executable, rig.other));
    "cuPointerGetAttribute" OK Works |rig, driver| call!(driver.cuPointerGetAttribute(std::ptr::from_mut(&mut [0_u64; 2]).cast(), CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, rig.memory));
    "cuMemPoolGetAttribute" OK Works |rig, driver| call!(driver.cuMemPoolGetAttribute(rig.pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, std::ptr::from_mut(&mut [0_u64; 2]).cast()));
    "cuMemPoolTrimTo" OK Works |rig, driver| call!(driver.cuMemPoolTrimTo(rig.pool, 0));
    "cuDeviceGetDefaultMemPool" OK Works |_rig, driver| call!(driver.cuDeviceGetDefaultMemPool(&mut null_mut(), 0));
    "cuDevicePrimaryCtxGetState" OK Works |_rig, driver| call!(driver.cuDevicePrimaryCtxGetState(0, &mut 0, &mut 0));
    "cuDevicePrimaryCtxRetain" OK Works |_rig, driver| call!(driver.cuDevicePrimaryCtxRetain(&mut null_mut(), 0));
    "cuDeviceGet" OK Works |_rig, driver| call!(driver.cuDeviceGet(&mut 0, 0));
    "cuDeviceGetCount" OK Works |_rig, driver| call!(driver.cuDeviceGetCount(&mut 0));
    "cuDriverGetVersion" OK Works |_rig, driver| call!(driver.cuDriverGetVersion(&mut 0));
    "cuGetErrorString" OK Works |_rig, driver| call!(driver.cuGetErrorString(CUresult::CUDA_ERROR_LAUNCH_FAILED, &mut std::ptr::null()));
}
