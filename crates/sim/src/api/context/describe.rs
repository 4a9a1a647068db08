//! Properties of a context: device, flags, identifier, API version, cache configuration.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint, c_ulonglong};

use warploom_sys::types::{
    CUctx_st, CUdevice, CUexecAffinityParam, CUexecAffinityParam_st__bindgen_ty_1, CUexecAffinitySmCount,
    CUexecAffinityType, CUfunc_cache, CUresult, CUsharedconfig,
};

use super::{ALL_FLAGS, Flags, named};
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::device::Device;
use crate::machine::stream::HIGHEST_PRIORITY;
use crate::topology::number;

/// The device whose primary context this is, active or not.
fn primary_of(devices: &[Device], context: ContextHandle) -> Option<usize> {
    devices.iter().position(|device| device.primary == Some(context))
}

pub(crate) fn cuCtxGetDevice(call: &Call<'_>, device: Ptr<CUdevice>) -> Status {
    cuCtxGetDevice_v2(call, device, Ptr::null())
}

/// A released primary context still knows its device.
pub(crate) fn cuCtxGetDevice_v2(call: &Call<'_>, device: Ptr<CUdevice>, context: Ptr<CUctx_st>) -> Status {
    device.required()?;
    let world = call.world();
    let handle = if context.is_null() { call.current()? } else { Handle::from_bits(context.address()) };
    let ordinal = match primary_of(world.devices(), handle) {
        Some(ordinal) => ordinal,
        None => {
            let code = if world.contexts().is_past(handle) { CONTEXT_IS_DESTROYED } else { INVALID_CONTEXT };
            usize::from(call.object(world.contexts(), handle, code)?.device)
        }
    };
    device.write(ordinal as CUdevice)
}

pub(crate) fn cuCtxGetFlags(call: &Call<'_>, flags: Ptr<c_uint>) -> Status {
    flags.required()?;
    let world = call.world();
    let current = call.current()?;
    if let Some(context) = world.contexts().get(current) {
        return flags.write(context.flags);
    }
    match primary_of(world.devices(), current) {
        Some(ordinal) => flags.write(world.devices()[ordinal].primary_flags),
        None => call.live_context(&world).map(|_| ()),
    }
}

/// Flags that cannot change in a running context are accepted and have no effect.
pub(crate) fn cuCtxSetFlags(call: &Call<'_>, flags: c_uint) -> Status {
    const FIXED: u32 = Flags::COREDUMP | Flags::USER_COREDUMP;
    let mut world = call.world();
    let current = call.live_context(&world)?;
    Flags(flags).check(call, ALL_FLAGS)?;
    if let Some(context) = world.contexts_mut().get_mut(current) {
        context.flags = flags & !FIXED | context.flags & (FIXED | Flags::MAP_HOST);
    }
    Ok(())
}

pub(crate) fn cuCtxGetId(call: &Call<'_>, context: Ptr<CUctx_st>, id: Ptr<c_ulonglong>) -> Status {
    id.required()?;
    let world = call.world();
    let handle = named(call, world.contexts(), context, CONTEXT_IS_DESTROYED)?;
    id.write(call.object(world.contexts(), handle, INVALID_CONTEXT)?.id)
}

pub(crate) fn cuCtxGetApiVersion(call: &Call<'_>, context: Ptr<CUctx_st>, version: Ptr<c_uint>) -> Status {
    version.required()?;
    let world = call.world();
    let handle = named(call, world.contexts(), context, INVALID_CONTEXT)?;
    version.write(call.object(world.contexts(), handle, INVALID_CONTEXT)?.api_version)
}

pub(crate) fn cuCtxGetCacheConfig(call: &Call<'_>, config: Ptr<CUfunc_cache>) -> Status {
    config.required()?;
    let world = call.world();
    let current = call.context(&world)?;
    config.write(call.object(world.contexts(), current, INVALID_CONTEXT)?.cache)
}

pub(crate) fn cuCtxSetCacheConfig(call: &Call<'_>, config: CUfunc_cache) -> Status {
    let mut world = call.world();
    let current = call.context(&world)?;
    if config.0 > CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0 {
        return Err(call.refuse(INVALID_VALUE, format!("cache preference {}: known are 0 to 3", config.0)));
    }
    if let Some(context) = world.contexts_mut().get_mut(current) {
        context.cache = config;
    }
    Ok(())
}

/// Shared memory banks are always four bytes wide; the setting is accepted and has no effect.
pub(crate) fn cuCtxSetSharedMemConfig(call: &Call<'_>, config: CUsharedconfig) -> Status {
    call.context(&call.world())?;
    check_banks(call, config)
}

/// Refuses an unknown width of shared memory banks.
pub(crate) fn check_banks(call: &Call<'_>, config: CUsharedconfig) -> Status {
    if config.0 > CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0 {
        return Err(call.refuse(INVALID_VALUE, format!("bank size {}: known are 0 to 2", config.0)));
    }
    Ok(())
}

pub(crate) fn cuCtxGetSharedMemConfig(call: &Call<'_>, config: Ptr<CUsharedconfig>) -> Status {
    config.required()?;
    call.context(&call.world())?;
    config.write(CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
}

pub(crate) fn cuCtxGetStreamPriorityRange(call: &Call<'_>, least: Ptr<c_int>, greatest: Ptr<c_int>) -> Status {
    let world = call.world();
    let current = call.context(&world)?;
    let device = usize::from(call.object(world.contexts(), current, INVALID_CONTEXT)?.device);
    let supported = call.core().topology.attribute(device, number::STREAM_PRIORITIES_SUPPORTED);
    least.write_if_wanted(0)?;
    greatest.write_if_wanted(if supported == Some(0) { 0 } else { HIGHEST_PRIORITY })
}

/// No cache with persisting lines is simulated.
pub(crate) fn cuCtxResetPersistingL2Cache(call: &Call<'_>) -> Status {
    call.context(&call.world()).map(|_| ())
}

/// Every context has all multiprocessors of its device.
pub(crate) fn cuCtxGetExecAffinity(
    call: &Call<'_>,
    affinity: Ptr<CUexecAffinityParam>,
    kind: CUexecAffinityType,
) -> Status {
    affinity.required()?;
    let world = call.world();
    let current = call.context(&world)?;
    if kind != CUexecAffinityType::CU_EXEC_AFFINITY_TYPE_SM_COUNT {
        let reason = format!("affinity {}: only 0, multiprocessors, is known", kind.0);
        return Err(call.refuse(CUresult::CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, reason));
    }
    let device = usize::from(call.object(world.contexts(), current, INVALID_CONTEXT)?.device);
    let all = call.core().topology.attribute(device, number::MULTIPROCESSOR_COUNT).unwrap_or(0);
    let count = CUexecAffinitySmCount { val: all.unsigned_abs() };
    affinity.write(CUexecAffinityParam { type_: kind, param: CUexecAffinityParam_st__bindgen_ty_1 { smCount: count } })
}
