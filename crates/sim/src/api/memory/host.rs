//! Page-locked host memory: allocated by the driver, or registered by the program.
//!
//! Both are at the same address for the host and for every device.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_uint, c_void};

use warploom_sys::types::{CUdeviceptr, CUresult};

use crate::api::memory::device::not_a_start;
use crate::api::memory::release::release_when_idle;
use crate::ffi::Ptr;
use crate::ffi::host_memory::{Intent, is_own};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::memory::{Allocation, Backing, PageLocked, Side};
use crate::topology::number::READ_ONLY_HOST_REGISTER_SUPPORTED;

const PORTABLE: u32 = 1;
const DEVICE_MAP: u32 = 2;
const WRITE_COMBINED: u32 = 4;
const READ_ONLY: u32 = 8;

pub(crate) fn cuMemHostAlloc(call: &Call<'_>, out: Ptr<*mut c_void>, bytes: usize, flags: c_uint) -> Status {
    out.write(std::ptr::null_mut())?;
    let mut guard = call.world();
    let context = call.context(&guard)?;
    if flags & !(PORTABLE | DEVICE_MAP | WRITE_COMBINED) != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; 1, 2 and 4 are known")));
    }
    if bytes == 0 {
        return Ok(());
    }
    let (world, size) = (&mut *guard, bytes as u64);
    world.afford(call, Side::Host, size)?;
    let base = world
        .take_host_memory(size)
        .map_err(|error| call.refuse(OUT_OF_MEMORY, format!("the system has no {size} bytes to lock: {error}")))?;
    let id = world.memory_mut().next_id();
    let allocation = Allocation {
        base,
        size,
        host: base as usize,
        side: Side::Host,
        context: Some(context),
        id,
        backing: Backing::PageLocked(PageLocked { flags }),
        sync_memops: None,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    out.write(std::ptr::with_exposed_provenance_mut(base as usize))
}

pub(crate) fn cuMemAllocHost_v2(call: &Call<'_>, out: Ptr<*mut c_void>, bytes: usize) -> Status {
    cuMemHostAlloc(call, out, bytes, 0)
}

pub(crate) fn cuMemFreeHost(call: &Call<'_>, memory: Ptr<c_void>) -> Status {
    if memory.is_null() {
        return Ok(());
    }
    let mut world = call.world();
    let address = memory.address();
    match world.memory().at(address).map(|allocation| &allocation.backing) {
        Some(Backing::PageLocked(_)) => release_when_idle(call, &mut world, address),
        Some(_) => {
            call.found_bad_free(&world, address);
            Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not memory of cuMemHostAlloc")))
        }
        None => {
            call.found_bad_free(&world, address);
            Err(call.refuse(INVALID_VALUE, not_a_start(world.memory(), address)))
        }
    }
}

pub(crate) fn cuMemHostGetDevicePointer_v2(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    memory: Ptr<c_void>,
    flags: c_uint,
) -> Status {
    out.write(0)?;
    let world = call.world();
    call.context(&world)?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; none are known")));
    }
    let address = memory.address();
    match world.memory().containing(address).map(|allocation| &allocation.backing) {
        Some(Backing::PageLocked(_) | Backing::Registered { .. }) => out.write(address),
        _ => Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not page-locked"))),
    }
}

pub(crate) fn cuMemHostGetFlags(call: &Call<'_>, out: Ptr<c_uint>, memory: Ptr<c_void>) -> Status {
    out.required()?;
    let world = call.world();
    call.context(&world)?;
    let address = memory.address();
    // All host memory is mapped, even without the flag. Only registered memory reports the portable flag.
    match world.memory().containing(address).map(|allocation| &allocation.backing) {
        Some(Backing::PageLocked(PageLocked { flags })) => out.write(flags & WRITE_COMBINED | DEVICE_MAP),
        Some(Backing::Registered { flags }) => out.write(flags & PORTABLE | DEVICE_MAP),
        Some(Backing::Managed(_)) => out.write(DEVICE_MAP),
        _ => Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not page-locked"))),
    }
}

pub(crate) fn cuMemHostRegister_v2(call: &Call<'_>, memory: Ptr<c_void>, bytes: usize, flags: c_uint) -> Status {
    let (address, size) = (memory.address(), bytes as u64);
    let mut world = call.world();
    let context = call.context(&world)?;
    if address == 0 || size == 0 {
        return Err(call.refuse(INVALID_VALUE, format!("{size} bytes at {address:#x} are nothing to register")));
    }
    if flags & !(PORTABLE | DEVICE_MAP | READ_ONLY) != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; 1, 2 and 8 fit ordinary memory")));
    }
    let device = world.device_of(context)?;
    let attributes = &call.core().topology.devices[usize::from(device)].attributes;
    if flags & READ_ONLY != 0 && attributes.get(READ_ONLY_HOST_REGISTER_SUPPORTED) == Some(0) {
        return Err(call.refuse(NOT_SUPPORTED, format!("device {device} cannot register memory as read-only")));
    }
    if let Some(other) = world.memory().overlapping(address, size) {
        let code = match other.backing {
            Backing::Registered { .. } => CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            _ => INVALID_VALUE,
        };
        let (base, len) = (other.base, other.size);
        return Err(
            call.refuse(code, format!("it overlaps the {len} bytes at {base:#x}, which the driver knows already"))
        );
    }
    if !is_own(address, size, Intent::Read) {
        return Err(
            call.refuse(INVALID_VALUE, format!("not all of the {size} bytes at {address:#x} are the program's"))
        );
    }
    let id = world.memory_mut().next_id();
    let allocation = Allocation {
        base: address,
        size,
        host: address as usize,
        side: Side::Host,
        context: Some(context),
        id,
        backing: Backing::Registered { flags },
        sync_memops: None,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    Ok(())
}

pub(crate) fn cuMemHostUnregister(call: &Call<'_>, memory: Ptr<c_void>) -> Status {
    let mut world = call.world();
    let address = memory.address();
    let backing = world.memory().at(address).map(|allocation| &allocation.backing);
    if !matches!(backing, Some(Backing::Registered { .. })) {
        call.found_bad_free(&world, address);
    }
    match backing {
        Some(Backing::Registered { .. }) => release_when_idle(call, &mut world, address),
        Some(_) => Err(call.refuse(INVALID_VALUE, format!("{address:#x} was allocated, not registered"))),
        None if address == 0 || world.memory().containing(address).is_some() => {
            Err(call.refuse(INVALID_VALUE, not_a_start(world.memory(), address)))
        }
        None => {
            let code = CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
            Err(call.refuse(code, format!("{address:#x} is not, or no longer, registered")))
        }
    }
}
