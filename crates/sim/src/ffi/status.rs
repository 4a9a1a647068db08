//! Status codes: the answers of entry points.

use warploom_sys::types::CUresult;

/// The outcome of a body; `?` passes the driver's code on.
pub(crate) type Status<T = ()> = Result<T, CUresult>;

pub(crate) const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
pub(crate) const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
pub(crate) const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
pub(crate) const CONTEXT_IS_DESTROYED: CUresult = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
pub(crate) const INVALID_DEVICE: CUresult = CUresult::CUDA_ERROR_INVALID_DEVICE;
pub(crate) const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
pub(crate) const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;
pub(crate) const NOT_PERMITTED: CUresult = CUresult::CUDA_ERROR_NOT_PERMITTED;
pub(crate) const CAPTURE_UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
pub(crate) const MAP_FAILED: CUresult = CUresult::CUDA_ERROR_MAP_FAILED;
pub(crate) const OUT_OF_RESOURCES: CUresult = CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
pub(crate) const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
