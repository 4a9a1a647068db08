//! Allocation of managed memory: cuMemAllocManaged.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::CUdeviceptr;

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::managed_pages::NoManaged;
use crate::memory::{Allocation, Backing, Managed, Side};
use crate::topology::number::{CONCURRENT_MANAGED_ACCESS, MANAGED_MEMORY};

/// The granularity of managed memory on a device that keeps all of it.
const KEPT: u64 = 64 << 10;

const ATTACH_GLOBAL: u32 = 1;
const ATTACH_HOST: u32 = 2;

pub(crate) fn cuMemAllocManaged(call: &Call<'_>, out: Ptr<CUdeviceptr>, bytes: usize, flags: c_uint) -> Status {
    out.write(0)?;
    let mut guard = call.world();
    let context = call.context(&guard)?;
    if bytes == 0 {
        return Err(call.refuse(INVALID_VALUE, "an allocation has at least one byte"));
    }
    if flags != ATTACH_GLOBAL && flags != ATTACH_HOST {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; it takes 1 (global) or 2 (host)")));
    }
    let (world, size) = (&mut *guard, bytes as u64);
    let device = world.device_of(context)?;
    let attributes = &call.core().topology.devices[usize::from(device)].attributes;
    if attributes.get(MANAGED_MEMORY) == Some(0) {
        return Err(call.refuse(NOT_SUPPORTED, format!("device {device} has no managed memory")));
    }
    world.afford(call, Side::Device(device), size)?;
    let shares = attributes.get(CONCURRENT_MANAGED_ACCESS) != Some(0);
    let charged = if shares { 0 } else { size.checked_next_multiple_of(KEPT).unwrap_or(u64::MAX) };
    let base = world.take_managed_memory(device, size, charged).map_err(|reason| {
        let reason = match reason {
            NoManaged::Device { free } => {
                format!("device {device} must keep all {size} bytes of managed memory; {free} are free")
            }
            NoManaged::Addresses(error) => format!("no address space for {size} managed bytes: {error}"),
        };
        call.refuse(OUT_OF_MEMORY, reason)
    })?;
    let id = world.memory_mut().next_id();
    let allocation = Allocation {
        base,
        size,
        host: base as usize,
        side: Side::Device(device),
        context: Some(context),
        id,
        backing: Backing::Managed(Managed { charged }),
        sync_memops: None,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    out.write(base)
}
