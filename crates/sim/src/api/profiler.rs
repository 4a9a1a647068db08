//! Profiler: cuProfilerStart and cuProfilerStop, which tell tools where to look and have no other effect.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_char;

use warploom_sys::types::CUoutput_mode;

use crate::ffi::ConstPtr;
use crate::ffi::status::{NOT_SUPPORTED, Status};
use crate::machine::call::Call;

/// Drivers since CUDA 11 have no profiler of their own.
pub(crate) fn cuProfilerInitialize(
    call: &Call<'_>,
    _config: ConstPtr<c_char>,
    _output: ConstPtr<c_char>,
    _mode: CUoutput_mode,
) -> Status {
    Err(call.refuse(NOT_SUPPORTED, "the driver has no profiler of its own, as the real one"))
}

pub(crate) fn cuProfilerStart(call: &Call<'_>) -> Status {
    call.context(&call.world()).map(drop)
}

pub(crate) fn cuProfilerStop(call: &Call<'_>) -> Status {
    call.context(&call.world()).map(drop)
}
