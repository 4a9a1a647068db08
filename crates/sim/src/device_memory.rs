//! Plain device memory.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUdeviceptr;

use crate::call::Call;
use crate::engine::Side;
use crate::ffi::Ptr;
use crate::memory::{Allocation, Backing};
use crate::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};

pub(crate) fn cuMemAlloc_v2(call: &Call<'_>, out: Ptr<CUdeviceptr>, bytes: usize) -> Status {
    out.required()?;
    let mut world = call.world();
    let context = call.context(&world)?;
    if bytes == 0 {
        return Err(call.refuse(INVALID_VALUE, "an allocation has at least one byte"));
    }
    let device = world.contexts.get(context).map_or(0, |context| context.device);
    let size = bytes as u64;
    let memory = &mut world.devices[usize::from(device)].memory;
    let base = memory.take(size).ok_or_else(|| {
        call.refuse(OUT_OF_MEMORY, format!("{size} bytes do not fit the {} that are free", memory.free_bytes()))
    })?;
    let host = memory.window().host_of(base);
    let id = world.memory.next_id();
    world.memory.insert(Allocation {
        base,
        size,
        host,
        side: Side::Device(device),
        context: Some(context),
        id,
        backing: Backing::Device,
        sync_memops: false,
    });
    out.write(base)
}

pub(crate) fn cuMemFree_v2(call: &Call<'_>, address: CUdeviceptr) -> Status {
    let mut world = call.world();
    let Some(Allocation { backing: Backing::Device, side: Side::Device(device), size, context: Some(context), .. }) =
        world.memory.at(address)
    else {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of an allocation")));
    };
    let (device, size, context) = (*device, *size, *context);
    call.wait_for_context(&mut world, context)?;
    world.memory.remove(address);
    world.devices[usize::from(device)].memory.give(address, size);
    Ok(())
}
