//! Primary contexts, one per device and reference-counted: cuDevicePrimaryCtxRetain and its family.
//!
//! The first retain activates the context and the last release destroys it, with all objects in it. Its
//! handle never changes, so a thread that had it current has it current again after the next retain.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUcontext, CUdevice, CUresult};

use crate::api::context::{ALL_FLAGS, Flags, destroy, drain};
use crate::api::device::ordinal;
use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// The flags that the context reports: a primary context always maps host memory.
fn shown(flags: u32) -> u32 {
    Flags(flags).shown() | Flags::MAP_HOST
}

pub(crate) fn cuDevicePrimaryCtxRetain(call: &Call<'_>, context: Ptr<CUcontext>, device: CUdevice) -> Status {
    context.required()?;
    let device = ordinal(call, device)?;
    let mut world = call.world();
    let handle = match world.active_primary(device) {
        Some(handle) => handle,
        None => {
            let flags = shown(world.devices()[device].primary_flags);
            world.activate_primary(call, device, flags)?
        }
    };
    world.devices_mut()[device].retained += 1;
    context.write(handle.as_raw())
}

pub(crate) fn cuDevicePrimaryCtxRelease_v2(call: &Call<'_>, device: CUdevice) -> Status {
    let device = ordinal(call, device)?;
    let mut world = call.world();
    if world.devices()[device].retained == 0 {
        return Err(call.refuse(INVALID_CONTEXT, "the primary context is not retained"));
    }
    world.devices_mut()[device].retained -= 1;
    if world.devices()[device].retained > 0 {
        return Ok(());
    }
    let Some(handle) = world.active_primary(device) else { return Ok(()) };
    let drained = drain(call, &mut world, handle);
    // Another thread may have reset or retained the context during the wait.
    if world.active_primary(device).is_none() {
        return Ok(());
    }
    if let Err(code) = drained {
        world.devices_mut()[device].retained += 1;
        return Err(code);
    }
    if world.devices()[device].retained == 0 {
        deactivate(&mut world, device, handle);
    }
    call.run_destructors(&mut world);
    Ok(())
}

/// The form of CUDA 7.0: a release without a retain has no effect.
pub(crate) fn cuDevicePrimaryCtxRelease(call: &Call<'_>, device: CUdevice) -> Status {
    let index = ordinal(call, device)?;
    if call.world().devices()[index].retained == 0 {
        return Ok(());
    }
    cuDevicePrimaryCtxRelease_v2(call, device)
}

pub(crate) fn cuDevicePrimaryCtxReset_v2(call: &Call<'_>, device: CUdevice) -> Status {
    let device = ordinal(call, device)?;
    let mut world = call.world();
    if let Some(handle) = world.active_primary(device) {
        drain(call, &mut world, handle)?;
        // Retains stay counted: each one still needs its release.
        deactivate(&mut world, device, handle);
    }
    call.run_destructors(&mut world);
    Ok(())
}

fn deactivate(world: &mut Guard<'_>, device: usize, handle: ContextHandle) {
    destroy(world, handle);
    world.devices_mut()[device].primary_flags = 0;
}

pub(crate) fn cuDevicePrimaryCtxSetFlags_v2(call: &Call<'_>, device: CUdevice, flags: c_uint) -> Status {
    let device = ordinal(call, device)?;
    Flags(flags).check(call, ALL_FLAGS & !Flags::MAP_HOST)?;
    let mut world = call.world();
    world.devices_mut()[device].primary_flags = flags;
    if let Some(handle) = world.active_primary(device)
        && let Some(context) = world.contexts_mut().get_mut(handle)
    {
        context.flags = shown(flags);
    }
    Ok(())
}

/// The form of CUDA 7.0: the flags of an active context cannot be changed.
pub(crate) fn cuDevicePrimaryCtxSetFlags(call: &Call<'_>, device: CUdevice, flags: c_uint) -> Status {
    let index = ordinal(call, device)?;
    if call.world().active_primary(index).is_some() {
        let reason = "the primary context is active, and this form of the function cannot change its flags";
        return Err(call.refuse(CUresult::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, reason));
    }
    cuDevicePrimaryCtxSetFlags_v2(call, device, flags)
}

pub(crate) fn cuDevicePrimaryCtxGetState(
    call: &Call<'_>,
    device: CUdevice,
    flags: Ptr<c_uint>,
    is_active: Ptr<c_int>,
) -> Status {
    let device = ordinal(call, device)?;
    flags.required()?;
    is_active.required()?;
    let world = call.world();
    flags.write(world.devices()[device].primary_flags)?;
    is_active.write(c_int::from(world.active_primary(device).is_some()))
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use warploom_driver::Driver;
    use warploom_sys::types::CUresult;
    use warploom_testkit::{TestResult, answers, call};

    use crate::ffi::handle::Handle;
    use crate::{Machine, Mode};

    #[test]
    fn a_reset_after_a_fault_does_not_bring_the_device_back() -> TestResult {
        let machine = Machine::builder().mode(Mode::Sync).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let (mut context, mut flags, mut active) = (null_mut(), 0, 0);
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let handle = Handle::from_bits(context.addr() as u64);
        machine.core().world().poison(handle, CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        call!(driver.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        assert_eq!(active, 0);
        answers!(driver.cuDevicePrimaryCtxRetain(&mut context, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
        Ok(())
    }
}
