//! Creation of contexts: cuCtxCreate.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use warploom_sys::types::{CUcontext, CUctxCreateParams, CUdevice, CUexecAffinityParam, CUresult};

use super::{ALL_FLAGS, Flags};
use crate::api::device::ordinal;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::process::thread;

/// `cuCtxGetApiVersion` of contexts whose device addresses have 32 bits.
const NARROW_VERSION: u32 = 3010;

/// A context for device addresses of 32 bits, for which no memory is simulated.
pub(crate) fn cuCtxCreate(call: &Call<'_>, out: Ptr<CUcontext>, flags: c_uint, device: CUdevice) -> Status {
    create(call, out, flags, device, Some(NARROW_VERSION))
}

pub(crate) fn cuCtxCreate_v2(call: &Call<'_>, out: Ptr<CUcontext>, flags: c_uint, device: CUdevice) -> Status {
    create(call, out, flags, device, None)
}

fn create(call: &Call<'_>, out: Ptr<CUcontext>, flags: c_uint, device: CUdevice, api_version: Option<u32>) -> Status {
    out.required()?;
    let device = ordinal(call, device)?;
    Flags(flags).check(call, ALL_FLAGS)?;
    let mut world = call.world();
    let handle = world.add_context(call, device, Flags(flags).shown())?;
    if let Some((context, version)) = world.contexts_mut().get_mut(handle).zip(api_version) {
        context.api_version = version;
        call.core().has_narrow_contexts.store(true, Ordering::Relaxed);
    }
    if flags & Flags::USER_COREDUMP != 0 {
        world.coredump_mut().listen();
    }
    thread::with_contexts(call.core().id, |stack| stack.push(handle));
    out.write(handle.as_raw())
}

pub(crate) fn cuCtxCreate_v3(
    call: &Call<'_>,
    out: Ptr<CUcontext>,
    affinities: Ptr<CUexecAffinityParam>,
    count: c_int,
    flags: c_uint,
    device: CUdevice,
) -> Status {
    no_affinity(call, affinities.is_null(), count)?;
    cuCtxCreate_v2(call, out, flags, device)
}

pub(crate) fn cuCtxCreate_v4(
    call: &Call<'_>,
    out: Ptr<CUcontext>,
    params: Ptr<CUctxCreateParams>,
    flags: c_uint,
    device: CUdevice,
) -> Status {
    if !params.is_null() {
        let params = params.read()?;
        no_affinity(call, params.execAffinityParams.is_null(), params.numExecAffinityParams)?;
        if !params.cigParams.is_null() {
            return Err(call.refuse(NOT_SUPPORTED, "no device shares itself with a graphics interface"));
        }
    }
    cuCtxCreate_v2(call, out, flags, device)
}

/// Execution affinity needs a multi-process server (MPS), which is not simulated.
fn no_affinity(call: &Call<'_>, missing: bool, count: c_int) -> Status {
    if count <= 0 {
        return Ok(());
    }
    if missing {
        return Err(call.refuse(INVALID_VALUE, format!("{count} affinities at a null pointer")));
    }
    Err(call.refuse(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the machine has no multi-process server"))
}
