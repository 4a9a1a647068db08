//! Implemented functions, family by family.
//!
//! A function that is not named here answers `NOT_SUPPORTED` and says so in the log; naming it without a
//! body, or with the wrong arguments, does not compile.

// Every function, as not supported; the names below shadow it.
pub(crate) use super::unsupported::*;

pub(crate) use crate::api::capture::{
    cuStreamBeginCapture, cuStreamBeginCapture_v2, cuStreamBeginCaptureToGraph, cuStreamEndCapture,
    cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v3, cuStreamIsCapturing,
    cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2, cuThreadExchangeStreamCaptureMode,
};
pub(crate) use crate::api::context::{
    cuCtxAttach, cuCtxCreate, cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4, cuCtxDestroy_v2, cuCtxDetach,
    cuCtxGetApiVersion, cuCtxGetCacheConfig, cuCtxGetCurrent, cuCtxGetDevice, cuCtxGetDevice_v2, cuCtxGetExecAffinity,
    cuCtxGetFlags, cuCtxGetId, cuCtxGetLimit, cuCtxGetSharedMemConfig, cuCtxGetStreamPriorityRange, cuCtxPopCurrent_v2,
    cuCtxPushCurrent, cuCtxPushCurrent_v2, cuCtxRecordEvent, cuCtxResetPersistingL2Cache, cuCtxSetCacheConfig,
    cuCtxSetCurrent, cuCtxSetFlags, cuCtxSetLimit, cuCtxSetSharedMemConfig, cuCtxSynchronize, cuCtxSynchronize_v2,
    cuCtxWaitEvent,
};
pub(crate) use crate::api::copy::{
    cuMemcpy, cuMemcpy2D_v2, cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2, cuMemcpy3D_v2, cuMemcpy3DAsync_v2,
    cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, cuMemcpy3DPeer, cuMemcpy3DPeerAsync, cuMemcpy3DWithAttributesAsync,
    cuMemcpyAsync, cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuMemcpyDtoH_v2,
    cuMemcpyDtoHAsync_v2, cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, cuMemcpyPeer, cuMemcpyPeerAsync,
    cuMemcpyWithAttributesAsync,
};
pub(crate) use crate::api::coredump::{
    cuCoredumpGetAttribute, cuCoredumpGetAttributeGlobal, cuCoredumpSetAttribute, cuCoredumpSetAttributeGlobal,
};
pub(crate) use crate::api::device::{
    cuDeviceComputeCapability, cuDeviceGet, cuDeviceGetAttribute, cuDeviceGetByPCIBusId, cuDeviceGetCount,
    cuDeviceGetExecAffinitySupport, cuDeviceGetHostAtomicCapabilities, cuDeviceGetLuid, cuDeviceGetName,
    cuDeviceGetPCIBusId, cuDeviceGetProperties, cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGetUuid,
    cuDeviceGetUuid_v2, cuDeviceTotalMem, cuDeviceTotalMem_v2,
};
pub(crate) use crate::api::event::{
    cuEventCreate, cuEventDestroy_v2, cuEventElapsedTime, cuEventElapsedTime_v2, cuEventQuery, cuEventRecord,
    cuEventRecordWithFlags, cuEventSynchronize,
};
pub(crate) use crate::api::fill::{
    cuMemsetD2D8_v2, cuMemsetD2D8Async, cuMemsetD2D16_v2, cuMemsetD2D16Async, cuMemsetD2D32_v2, cuMemsetD2D32Async,
    cuMemsetD8_v2, cuMemsetD8Async, cuMemsetD16_v2, cuMemsetD16Async, cuMemsetD32_v2, cuMemsetD32Async,
};
pub(crate) use crate::api::graph::{
    cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute, cuGraphAddBatchMemOpNode,
    cuGraphAddChildGraphNode, cuGraphAddDependencies, cuGraphAddDependencies_v2, cuGraphAddEmptyNode,
    cuGraphAddEventRecordNode, cuGraphAddEventWaitNode, cuGraphAddHostNode, cuGraphAddKernelNode,
    cuGraphAddKernelNode_v2, cuGraphAddMemAllocNode, cuGraphAddMemFreeNode, cuGraphAddMemcpyNode, cuGraphAddMemsetNode,
    cuGraphAddNode, cuGraphAddNode_v2, cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeSetParams,
    cuGraphChildGraphNodeGetGraph, cuGraphClone, cuGraphConditionalHandleCreate, cuGraphCreate, cuGraphDebugDotPrint,
    cuGraphDestroy, cuGraphDestroyNode, cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeSetEvent,
    cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeSetEvent, cuGraphExecBatchMemOpNodeSetParams,
    cuGraphExecChildGraphNodeSetParams, cuGraphExecDestroy, cuGraphExecEventRecordNodeSetEvent,
    cuGraphExecEventWaitNodeSetEvent, cuGraphExecGetFlags, cuGraphExecGetId, cuGraphExecHostNodeSetParams,
    cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, cuGraphExecMemcpyNodeSetParams,
    cuGraphExecMemsetNodeSetParams, cuGraphExecNodeSetParams, cuGraphExecUpdate, cuGraphExecUpdate_v2, cuGraphGetEdges,
    cuGraphGetEdges_v2, cuGraphGetId, cuGraphGetNodes, cuGraphGetRootNodes, cuGraphHostNodeGetParams,
    cuGraphHostNodeSetParams, cuGraphInstantiate, cuGraphInstantiateWithFlags, cuGraphInstantiateWithParams,
    cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetParams,
    cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetParams,
    cuGraphKernelNodeSetParams_v2, cuGraphLaunch, cuGraphMemAllocNodeGetParams, cuGraphMemFreeNodeGetParams,
    cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeSetParams, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams,
    cuGraphNodeFindInClone, cuGraphNodeGetContainingGraph, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetEnabled, cuGraphNodeGetLocalId,
    cuGraphNodeGetParams, cuGraphNodeGetToolsId, cuGraphNodeGetType, cuGraphNodeSetEnabled, cuGraphNodeSetParams,
    cuGraphReleaseUserObject, cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2, cuGraphRetainUserObject,
    cuGraphUpload, cuUserObjectCreate, cuUserObjectRelease, cuUserObjectRetain,
};
pub(crate) use crate::api::init::{
    cuDriverGetVersion, cuFlushGPUDirectRDMAWrites, cuGetErrorName, cuGetErrorString, cuGetExportTable,
    cuGetProcAddress, cuGetProcAddress_v2, cuInit, cuModuleGetLoadingMode,
};
pub(crate) use crate::api::ipc::{
    cuIpcCloseMemHandle, cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle, cuIpcOpenMemHandle,
    cuIpcOpenMemHandle_v2,
};
pub(crate) use crate::api::logs::{
    cuLogsCurrent, cuLogsDumpToFile, cuLogsDumpToMemory, cuLogsRegisterCallback, cuLogsUnregisterCallback,
};
pub(crate) use crate::api::managed::{
    cuMemAdvise, cuMemAdvise_v2, cuMemAllocManaged, cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardBatchAsync,
    cuMemPrefetchAsync, cuMemPrefetchAsync_v2, cuMemPrefetchBatchAsync, cuMemRangeGetAttribute,
    cuMemRangeGetAttributes,
};
pub(crate) use crate::api::memory::device::{
    cuMemAlloc_v2, cuMemAllocPitch_v2, cuMemFree_v2, cuMemGetAddressRange_v2, cuMemGetInfo_v2,
};
pub(crate) use crate::api::memory::host::{
    cuMemAllocHost_v2, cuMemFreeHost, cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags,
    cuMemHostRegister_v2, cuMemHostUnregister,
};
pub(crate) use crate::api::module::{
    cuFuncGetAttribute, cuFuncGetModule, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncIsLoaded,
    cuFuncLoad, cuFuncSetAttribute, cuFuncSetBlockShape, cuFuncSetCacheConfig, cuFuncSetSharedMemConfig,
    cuFuncSetSharedSize, cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName,
    cuKernelGetParamCount, cuKernelGetParamInfo, cuKernelSetAttribute, cuKernelSetCacheConfig, cuLaunch,
    cuLaunchCooperativeKernel, cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid, cuLaunchGridAsync, cuLaunchKernel,
    cuLaunchKernelEx, cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount,
    cuLibraryGetManaged, cuLibraryGetModule, cuLibraryGetUnifiedFunction, cuLibraryLoadData, cuLibraryLoadFromFile,
    cuLibraryUnload, cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy,
    cuModuleEnumerateFunctions, cuModuleGetFunction, cuModuleGetFunctionCount, cuModuleGetGlobal_v2, cuModuleLoad,
    cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary, cuModuleUnload,
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveClusters,
    cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyMaxPotentialClusterSize,
    cuParamSetSize, cuParamSetf, cuParamSeti, cuParamSetv,
};
pub(crate) use crate::api::notification::{cuDeviceRegisterAsyncNotification, cuDeviceUnregisterAsyncNotification};
pub(crate) use crate::api::peer::{
    cuCtxDisablePeerAccess, cuCtxEnablePeerAccess, cuDeviceCanAccessPeer, cuDeviceGetP2PAtomicCapabilities,
    cuDeviceGetP2PAttribute,
};
pub(crate) use crate::api::pointer::{cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute};
pub(crate) use crate::api::pool::{
    cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemAllocAsync, cuMemAllocFromPoolAsync,
    cuMemFreeAsync, cuMemGetDefaultMemPool, cuMemGetMemPool, cuMemPoolCreate, cuMemPoolDestroy, cuMemPoolExportPointer,
    cuMemPoolExportToShareableHandle, cuMemPoolGetAccess, cuMemPoolGetAttribute, cuMemPoolImportFromShareableHandle,
    cuMemPoolImportPointer, cuMemPoolSetAccess, cuMemPoolSetAttribute, cuMemPoolTrimTo, cuMemSetMemPool,
};
pub(crate) use crate::api::primary::{
    cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxReset_v2,
    cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2,
};
pub(crate) use crate::api::profiler::{cuProfilerInitialize, cuProfilerStart, cuProfilerStop};
pub(crate) use crate::api::stream::{
    cuLaunchHostFunc, cuLaunchHostFunc_v2, cuStreamAddCallback, cuStreamAttachMemAsync, cuStreamBatchMemOp,
    cuStreamBatchMemOp_v2, cuStreamCopyAttributes, cuStreamCreate, cuStreamCreateWithPriority, cuStreamDestroy_v2,
    cuStreamGetAttribute, cuStreamGetCtx, cuStreamGetCtx_v2, cuStreamGetDevice, cuStreamGetFlags, cuStreamGetId,
    cuStreamGetPriority, cuStreamQuery, cuStreamSetAttribute, cuStreamSynchronize, cuStreamWaitEvent,
    cuStreamWaitValue32, cuStreamWaitValue32_v2, cuStreamWaitValue64, cuStreamWaitValue64_v2, cuStreamWriteValue32,
    cuStreamWriteValue32_v2, cuStreamWriteValue64, cuStreamWriteValue64_v2,
};
pub(crate) use crate::api::vmm::{
    cuMemAddressFree, cuMemAddressReserve, cuMemCreate, cuMemExportToShareableHandle, cuMemGetAccess,
    cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle, cuMemImportFromShareableHandle, cuMemMap,
    cuMemRelease, cuMemRetainAllocationHandle, cuMemSetAccess, cuMemUnmap,
};

// Superseded ABIs that do what their successors do.
pub(crate) use crate::api::context::{cuCtxDestroy_v2 as cuCtxDestroy, cuCtxPopCurrent_v2 as cuCtxPopCurrent};
pub(crate) use crate::api::event::cuEventDestroy_v2 as cuEventDestroy;
pub(crate) use crate::api::graph::cuGraphInstantiate as cuGraphInstantiate_v2;
pub(crate) use crate::api::memory::host::cuMemHostRegister_v2 as cuMemHostRegister;
pub(crate) use crate::api::module::{
    cuLinkAddData_v2 as cuLinkAddData, cuLinkAddFile_v2 as cuLinkAddFile, cuLinkCreate_v2 as cuLinkCreate,
};
pub(crate) use crate::api::primary::cuDevicePrimaryCtxReset_v2 as cuDevicePrimaryCtxReset;
pub(crate) use crate::api::stream::cuStreamDestroy_v2 as cuStreamDestroy;

// ABIs of 13.4 that the header describes as it does those before them.
pub(crate) use crate::api::graph::{
    cuGraphAddNode_v2 as cuGraphAddNode_v3, cuGraphNodeSetParams as cuGraphNodeSetParams_v2,
};
