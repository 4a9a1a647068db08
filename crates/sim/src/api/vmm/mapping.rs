//! Mappings of physical allocations at reserved addresses: cuMemMap and cuMemUnmap.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_sys::types::{CUdeviceptr, CUmemGenericAllocationHandle};

use super::{GRANULARITY, physical};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::memory::{Allocation, Backing, Mapping};

pub(crate) fn cuMemMap(
    call: &Call<'_>,
    address: CUdeviceptr,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> Status {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    if flags != 0 {
        return Err(refuse(format!("flags are {flags:#x} and must be 0")));
    }
    let size = size as u64;
    if address == 0 || size == 0 {
        return Err(refuse(format!("{size} bytes at {address:#x} are nothing to map at")));
    }
    let mut guard = call.world();
    let world = &mut *guard;
    let (handle, physical) = physical::find(call, world.physical(), handle)?;
    if offset != 0 || size != physical.size {
        let whole = physical.size;
        let reason = format!("{size} bytes from {offset} on; only all {whole} of an allocation can be mapped");
        return Err(call.refuse(NOT_SUPPORTED, reason));
    }
    if !address.is_multiple_of(GRANULARITY) {
        return Err(refuse(format!("{address:#x} is no multiple of the granularity {GRANULARITY}")));
    }
    if address.checked_add(size).is_none_or(|end| !world.virtual_memory().is_reserved(address, end)) {
        return Err(refuse(format!("{size} bytes at {address:#x} are not all reserved")));
    }
    if world.memory().overlaps(address, size) {
        return Err(refuse(format!("something is mapped in the {size} bytes at {address:#x}")));
    }
    let (side, offset) = (physical.side, physical.offset);
    let host = world.virtual_memory_mut().map(address, offset).map_err(|error| {
        call.refuse(OUT_OF_MEMORY, format!("the operating system could not map {size} bytes: {error}"))
    })?;
    let allocation = Allocation {
        base: address,
        size,
        host,
        side,
        context: None,
        id: world.memory_mut().next_id(),
        backing: Backing::Mapped(Mapping::new(handle, offset)),
        sync_memops: None,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    world.track_shared_mapping(address, offset);
    Ok(())
}

/// Removes all mappings in a range. The range may have gaps and may extend beyond its last mapping, but must
/// not split one.
pub(crate) fn cuMemUnmap(call: &Call<'_>, address: CUdeviceptr, size: usize) -> Status {
    let size = size as u64;
    let mut guard = call.world();
    let world = &mut *guard;
    let end = address.checked_add(size).filter(|_| size > 0);
    let (Some(end), Some(_)) = (end, world.virtual_memory().reservation(address)) else {
        return Err(call.refuse(INVALID_VALUE, format!("{size} bytes at {address:#x} are not reserved")));
    };
    let inside = |mapping: &Allocation| mapping.base >= address && mapping.end() <= end;
    if let Some(cut) = world.memory().touching(address, end).find(|mapping| !inside(mapping)) {
        let reason = format!("the mapping of {} bytes at {:#x} ends or starts outside", cut.size, cut.base);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    let bases: Vec<u64> = world.memory().touching(address, end).map(|mapping| mapping.base).collect();
    for base in &bases {
        world.check_free(*base, None)?;
    }
    for base in bases {
        world.unmap(base).map_err(|error| {
            call.refuse(OUT_OF_MEMORY, format!("the operating system could not unmap {base:#x}: {error}"))
        })?;
    }
    Ok(())
}
