//! Functions that answer the fault of the current context's device before they look at their arguments.

use warploom_sys::Function;

/// `true` if a call answers a known fault first, as an H200 does. Functions that use a context, a stream or
/// an event answer it when they look that up; those of devices, libraries, pools, graphs without kernels, and
/// current contexts never do.
pub(crate) const fn fails_after_fault(function: Function) -> bool {
    use Function as F;
    matches!(
        function,
        F::cuStreamGetFlags
            | F::cuStreamGetPriority
            | F::cuStreamGetId
            | F::cuStreamGetCtx
            | F::cuStreamGetAttribute
            | F::cuStreamIsCapturing
            | F::cuStreamGetCaptureInfo_v2
            | F::cuStreamEndCapture
            | F::cuEventRecord
            | F::cuMemsetD8Async
            | F::cuMemFree_v2
            | F::cuModuleGetFunction
            | F::cuModuleGetGlobal_v2
            | F::cuModuleGetFunctionCount
            | F::cuGraphUpload
            | F::cuProfilerStart
    )
}
