//! Device memory: cuMemAlloc, cuMemFree and cuMemGetInfo.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUdeviceptr, CUresult};

use crate::api::memory::release::release_when_idle;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::memory::{Allocation, Backing, Registry, Side};

/// Alignment of the rows of pitched memory.
const PITCH: usize = 512;

pub(crate) fn cuMemGetInfo_v2(call: &Call<'_>, free: Ptr<usize>, total: Ptr<usize>) -> Status {
    let world = call.world();
    let context = call.context(&world)?;
    let device = world.device_of(context)?;
    let memory = &world.devices()[usize::from(device)].memory;
    free.write_if_wanted(memory.free_bytes() as usize)?;
    total.write_if_wanted(memory.capacity() as usize)
}

/// Allocates device memory on the device of the current context.
fn allocate(call: &Call<'_>, world: &mut Guard<'_>, bytes: u64) -> Status<u64> {
    let context = call.context(world)?;
    if bytes == 0 {
        return Err(call.refuse(INVALID_VALUE, "an allocation has at least one byte"));
    }
    let device = world.device_of(context)?;
    world.afford(call, Side::Device(device), bytes)?;
    let (base, host) = world.take_device_memory(device, bytes).map_err(|free| {
        call.refuse(OUT_OF_MEMORY, format!("{bytes} bytes do not fit the {free} that are free on device {device}"))
    })?;
    let id = world.memory_mut().next_id();
    let allocation = Allocation {
        base,
        size: bytes,
        host,
        side: Side::Device(device),
        context: Some(context),
        id,
        backing: Backing::Device,
        sync_memops: None,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    Ok(base)
}

pub(crate) fn cuMemAlloc_v2(call: &Call<'_>, out: Ptr<CUdeviceptr>, bytes: usize) -> Status {
    // The driver clears the out pointer before any other check, as do all its allocating functions.
    out.write(0)?;
    let mut world = call.world();
    out.write(allocate(call, &mut world, bytes as u64)?)
}

pub(crate) fn cuMemAllocPitch_v2(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    pitch: Ptr<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Status {
    pitch.required()?;
    out.write(0)?;
    pitch.write(0)?;
    let mut world = call.world();
    call.context(&world)?;
    if !matches!(element, 4 | 8 | 16) {
        return Err(call.refuse(INVALID_VALUE, format!("elements have 4, 8 or 16 bytes, not {element}")));
    }
    if width == 0 || height == 0 {
        return Err(call.refuse(INVALID_VALUE, format!("{width} bytes in {height} rows are nothing to allocate")));
    }
    let too_large =
        || call.refuse(INVALID_VALUE, format!("{height} rows of {width} bytes are more than a size can say"));
    let stride = width.checked_next_multiple_of(PITCH).ok_or_else(too_large)?;
    pitch.write(stride)?;
    let bytes = stride.checked_mul(height).ok_or_else(too_large)?;
    out.write(allocate(call, &mut world, bytes as u64)?)
}

pub(crate) fn cuMemFree_v2(call: &Call<'_>, address: CUdeviceptr) -> Status {
    if address == 0 {
        return Ok(());
    }
    let mut world = call.world();
    let backing = world.memory().at(address).map(|allocation| &allocation.backing);
    if !matches!(backing, Some(Backing::Device | Backing::Managed(_) | Backing::Pool(_) | Backing::Graph(_))) {
        call.found_bad_free(&world, address);
    }
    match backing {
        Some(Backing::Device | Backing::Managed(_)) => release_when_idle(call, &mut world, address),
        // Pool memory is freed without a wait: the caller guarantees that its uses are complete.
        Some(Backing::Pool(_) | Backing::Graph(_)) => {
            world.check_free(address, None)?;
            world.release_allocation(address);
            Ok(())
        }
        Some(Backing::PageLocked(_)) => Err(call.refuse(INVALID_VALUE, "page-locked memory is freed by cuMemFreeHost")),
        Some(Backing::Registered { .. }) => {
            Err(call.refuse(INVALID_VALUE, "registered memory is the program's own; see cuMemHostUnregister"))
        }
        Some(Backing::Variable(_)) => Err(call.refuse(INVALID_VALUE, "a variable goes with its module")),
        Some(Backing::Mapped(_)) => Err(call.refuse(INVALID_VALUE, "a mapping is undone by cuMemUnmap")),
        Some(Backing::Imported(_)) => {
            Err(call.refuse(INVALID_VALUE, "memory of another process is closed by cuIpcCloseMemHandle"))
        }
        None => Err(call.refuse(INVALID_VALUE, not_a_start(world.memory(), address))),
    }
}

/// The reason why an address cannot be freed, with the allocation around it, if any.
pub(crate) fn not_a_start(memory: &Registry, address: u64) -> String {
    match memory.containing(address) {
        Some(allocation) => format!(
            "{address:#x} is {} bytes into an allocation of {} bytes",
            address - allocation.base,
            allocation.size
        ),
        None => format!("{address:#x} is not, or no longer, allocated"),
    }
}

pub(crate) fn cuMemGetAddressRange_v2(
    call: &Call<'_>,
    base: Ptr<CUdeviceptr>,
    size: Ptr<usize>,
    address: CUdeviceptr,
) -> Status {
    base.write_if_wanted(0)?;
    size.write_if_wanted(0)?;
    let world = call.world();
    call.context(&world)?;
    let allocation = world.memory().containing(address).ok_or_else(|| {
        call.refuse(CUresult::CUDA_ERROR_NOT_FOUND, format!("{address:#x} is in no allocation of this driver"))
    })?;
    base.write_if_wanted(allocation.base)?;
    size.write_if_wanted(allocation.size as usize)
}
