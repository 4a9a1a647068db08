//! Codes that calls are made to fail with.

use warploom_driver::Function;
use warploom_sim::fault::Class;
use warploom_sys::types::CUresult;

/// A code that the function might well answer, and that does not say that all is lost.
pub(super) fn plausible(function: Function) -> CUresult {
    let is = |class: Class| class.contains(function);
    if is(Class::Create) {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY
    } else if is(Class::Init) {
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY
    } else if is(Class::Context) {
        CUresult::CUDA_ERROR_INVALID_CONTEXT
    } else {
        CUresult::CUDA_ERROR_UNKNOWN
    }
}
