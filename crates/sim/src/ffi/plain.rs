//! Plain data: types that a C caller may pass to be read or written as bytes.

use warploom_sys::types::*;

/// A type whose values a C caller may pass as plain data; the opaque structs behind handles are not.
pub(crate) trait Plain: Copy {}
impl<T> Plain for *mut T {}
impl<T> Plain for *const T {}

impl<T: Plain, const N: usize> Plain for [T; N] {}

macro_rules! plain {
    ($($type:ty),* $(,)?) => { $(impl Plain for $type {})* };
}
plain!(
    u8,
    i8,
    u16,
    u32,
    i32,
    u64,
    i64,
    f32,
    usize,
    CUuuid,
    CUdevprop,
    CUmemLocation,
    CUmemAccessDesc,
    CUmemPoolProps,
    CUmemPoolPtrExportData,
    CUipcEventHandle,
    CUipcMemHandle,
    CUmemAllocationProp,
    CUDA_MEMCPY2D,
    CUDA_MEMCPY3D,
    CUDA_MEMCPY3D_PEER,
    CUmemcpyAttributes,
    CUstreamBatchMemOpParams,
    CUlaunchAttributeValue,
    CUctxCreateParams,
    CUexecAffinityParam,
    CUpointer_attribute,
    CUmem_range_attribute,
    CUfunc_cache,
    CUsharedconfig,
    CUdriverProcAddressQueryResult,
    CUmemAccess_flags,
    CUmoduleLoadingMode,
    CUDA_MEMCPY3D_BATCH_OP,
    CUmemRangeHandleType,
    CUstreamCaptureMode,
    CUstreamCaptureStatus,
    CUatomicOperation,
    CUjit_option,
    CUlibraryOption,
    CUlaunchConfig,
    CUlaunchAttribute,
    CUfunctionLoadingState,
    CUgraphEdgeData,
    CUgraphNodeType,
    CUgraphNodeParams,
    CUgraphExecUpdateResultInfo,
    CUgraphInstantiateResult,
    CUgraphExecUpdateResult,
    CUDA_GRAPH_INSTANTIATE_PARAMS,
    CUDA_LAUNCH_PARAMS,
    CUDA_KERNEL_NODE_PARAMS_v1,
    CUDA_KERNEL_NODE_PARAMS_v2,
    CUDA_KERNEL_NODE_PARAMS_v3,
    CUDA_MEMCPY_NODE_PARAMS,
    CUDA_MEMSET_NODE_PARAMS,
    CUDA_MEMSET_NODE_PARAMS_v2,
    CUDA_HOST_NODE_PARAMS,
    CUDA_HOST_NODE_PARAMS_v2,
    CUDA_CHILD_GRAPH_NODE_PARAMS,
    CUDA_EVENT_RECORD_NODE_PARAMS,
    CUDA_EVENT_WAIT_NODE_PARAMS,
    CUDA_MEM_ALLOC_NODE_PARAMS,
    CUDA_MEM_ALLOC_NODE_PARAMS_v2,
    CUDA_MEM_FREE_NODE_PARAMS,
    CUDA_BATCH_MEM_OP_NODE_PARAMS,
    CUDA_BATCH_MEM_OP_NODE_PARAMS_v2,
    CUDA_CONDITIONAL_NODE_PARAMS,
);
