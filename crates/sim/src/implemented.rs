//! What the simulator implements, family by family. A function that is not named here answers `NOT_SUPPORTED` and says
//! so in the log; naming it without a body, or with the wrong arguments, does not compile.

// Everything, as not supported; the names below shadow it.
pub(crate) use crate::shims::unsupported::*;

pub(crate) use crate::context::{cuCtxGetCurrent, cuCtxSetCurrent, cuCtxSynchronize};
pub(crate) use crate::copy::{cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
pub(crate) use crate::device::{cuDeviceGet, cuDeviceGetCount};
pub(crate) use crate::device_memory::{
    cuMemAlloc_v2, cuMemAllocPitch_v2, cuMemFree_v2, cuMemGetAddressRange_v2, cuMemGetInfo_v2,
};
pub(crate) use crate::host_memory::{
    cuMemAllocHost_v2, cuMemFreeHost, cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags,
    cuMemHostRegister_v2, cuMemHostUnregister,
};
pub(crate) use crate::init::{
    cuDriverGetVersion, cuGetErrorName, cuGetErrorString, cuGetExportTable, cuGetProcAddress, cuGetProcAddress_v2,
    cuInit,
};
pub(crate) use crate::managed::cuMemAllocManaged;
pub(crate) use crate::pointer::{cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute};
pub(crate) use crate::primary::{cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRetain};
pub(crate) use crate::stream::{cuStreamCreate, cuStreamDestroy_v2, cuStreamSynchronize};
