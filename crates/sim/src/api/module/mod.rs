//! Code: modules, libraries, the kernels in them, and launches.
//!
//! ```text
//!   image ─▶ Binary (decoded) ─┬─▶ Module: in one context, with its variables ─▶ Function ─┐
//!                              │       ▲ created at first use                              ├─▶ launch ─▶ op
//!                              └─▶ Library: in no context ─▶ Kernel ───────────────────────┘
//! ```
//!
//! A library is loaded once for all contexts: each context that uses it gets its own module at first use. The
//! functions and variables of a module are destroyed with it, and a module with its context.

mod attributes;
mod clusters;
mod functions;
mod kernels;
mod launch;
mod libraries;
mod link;
mod load;
mod modules;
mod occupancy;
mod options;
mod variables;

use warploom_sys::types::CUresult;

pub(crate) use attributes::check_policy;
pub(crate) use clusters::{cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialClusterSize};
pub(crate) use functions::{
    cuFuncGetAttribute, cuFuncGetModule, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncIsLoaded,
    cuFuncLoad, cuFuncSetAttribute, cuFuncSetCacheConfig, cuFuncSetSharedMemConfig,
};
pub(crate) use kernels::{
    cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName, cuKernelGetParamCount,
    cuKernelGetParamInfo, cuKernelSetAttribute, cuKernelSetCacheConfig,
};
pub(crate) use launch::{
    LaunchedMemory, cuFuncSetBlockShape, cuFuncSetSharedSize, cuLaunch, cuLaunchCooperativeKernel,
    cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid, cuLaunchGridAsync, cuLaunchKernel, cuLaunchKernelEx,
    cuParamSetSize, cuParamSetf, cuParamSeti, cuParamSetv, kernel_node, reserve_stack, with_attributes,
};
pub(crate) use libraries::{
    cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount, cuLibraryGetManaged,
    cuLibraryGetModule, cuLibraryGetUnifiedFunction, cuLibraryLoadData, cuLibraryLoadFromFile, cuLibraryUnload,
};
pub(crate) use link::{cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy};
pub(crate) use modules::{
    cuModuleEnumerateFunctions, cuModuleGetFunction, cuModuleGetFunctionCount, cuModuleGetGlobal_v2, cuModuleLoad,
    cuModuleLoadData, cuModuleLoadDataEx, cuModuleLoadFatBinary, cuModuleUnload,
};
pub(crate) use occupancy::{
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxPotentialBlockSize,
    cuOccupancyMaxPotentialBlockSizeWithFlags,
};

const NOT_FOUND: CUresult = CUresult::CUDA_ERROR_NOT_FOUND;
