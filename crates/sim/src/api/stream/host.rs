//! Host functions and callbacks in streams: cuLaunchHostFunc and cuStreamAddCallback.
//!
//! They run one at a time, on a thread of the driver or, on a machine without threads, on the thread that
//! runs the work. Inside one, only calls with a stream or an event argument succeed.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_uint, c_void};

use warploom_engine::Known;
use warploom_sys::types::{CUhostFn, CUresult, CUstream_st, CUstreamCallback};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::world::Work;

pub(crate) fn cuLaunchHostFunc(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    function: CUhostFn,
    data: Ptr<c_void>,
) -> Status {
    if function.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the host function is null"));
    }
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    call.submit(
        &mut world,
        queue,
        Work::HostFunction { function, data: data.raw(), known: Known::default(), slept: 0 },
    )?;
    Ok(())
}

/// `CU_HOST_TASK_SPINWAIT`, the highest mode.
const SPIN_WAIT: u32 = 1;

/// The mode selects the wait of the driver's thread between functions, which programs cannot observe.
pub(crate) fn cuLaunchHostFunc_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    function: CUhostFn,
    data: Ptr<c_void>,
    sync_mode: c_uint,
) -> Status {
    if sync_mode > SPIN_WAIT {
        return Err(call.refuse(INVALID_VALUE, format!("the mode is {sync_mode}; only 0 and 1 are known")));
    }
    cuLaunchHostFunc(call, stream, function, data)
}

pub(crate) fn cuStreamAddCallback(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    callback: CUstreamCallback,
    data: Ptr<c_void>,
    flags: c_uint,
) -> Status {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    if callback.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the callback is null"));
    }
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    // The callback receives the stream handle that the caller passed.
    let named = std::ptr::without_provenance_mut(stream.address() as usize);
    let status = CUresult::CUDA_SUCCESS;
    let work = Work::Callback { function: callback, stream: named, status, data: data.raw(), known: Known::default() };
    call.submit(&mut world, queue, work)?;
    Ok(())
}
