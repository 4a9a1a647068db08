//! Primary contexts: one per device, shared by everyone who retains it.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUcontext, CUdevice};

use crate::call::Call;
use crate::context::Context;
use crate::device::ordinal;
use crate::ffi::Ptr;
use crate::handles::Handle;
use crate::status::{INVALID_CONTEXT, OUT_OF_MEMORY, Status};

pub(crate) fn cuDevicePrimaryCtxRetain(call: &Call<'_>, context: Ptr<CUcontext>, device: CUdevice) -> Status {
    context.required()?;
    let device = ordinal(call, device)?;
    let mut world = call.world();
    let handle = match world.devices[device].primary {
        Some(handle) => handle,
        None => {
            if !world.devices[device].memory.charge(call.core().topology.devices[device].context_memory) {
                return Err(call.refuse(OUT_OF_MEMORY, "the device has no memory left for a context"));
            }
            let id = world.next_context_id();
            let flags = world.devices[device].primary_flags;
            let made = world.contexts.insert(Context::new(device as u16, id, flags, true)).ok_or(OUT_OF_MEMORY)?;
            world.devices[device].primary = Some(made);
            made
        }
    };
    world.devices[device].retained += 1;
    context.write(Handle::as_raw(handle))
}

pub(crate) fn cuDevicePrimaryCtxRelease_v2(call: &Call<'_>, device: CUdevice) -> Status {
    let device = ordinal(call, device)?;
    let mut world = call.world();
    if world.devices[device].retained == 0 {
        return Err(call.refuse(INVALID_CONTEXT, "the primary context is not retained"));
    }
    world.devices[device].retained -= 1;
    Ok(())
}
