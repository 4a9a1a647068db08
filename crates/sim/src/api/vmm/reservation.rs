//! Reservations of addresses: cuMemAddressReserve and cuMemAddressFree.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_sys::types::CUdeviceptr;

use super::GRANULARITY;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;

/// The end of the address space of programs.
const ADDRESSES: u64 = 1 << 47;
/// The largest supported alignment; a larger one fails with a different code.
const ALIGNMENT: u64 = 1 << 57;

pub(crate) fn cuMemAddressReserve(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    size: usize,
    alignment: usize,
    hint: CUdeviceptr,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    let (size, alignment) = (size as u64, alignment as u64);
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    if flags != 0 {
        return Err(refuse(format!("flags are {flags:#x} and must be 0")));
    }
    if size == 0 || !size.is_multiple_of(GRANULARITY) {
        return Err(refuse(format!("{size} bytes are no multiple of the granularity {GRANULARITY}")));
    }
    if alignment > ALIGNMENT || !(alignment == 0 || alignment.is_power_of_two()) {
        return Err(refuse(format!("the alignment is {alignment:#x}, which is no power of two up to {ALIGNMENT:#x}")));
    }
    let align = alignment.max(GRANULARITY);
    if !hint.is_multiple_of(align) {
        return Err(refuse(format!("the hint {hint:#x} is no multiple of {align:#x}")));
    }
    if hint >= ADDRESSES || size >= ADDRESSES || align >= ADDRESSES {
        return Err(call.refuse(OUT_OF_MEMORY, format!("addresses end at {ADDRESSES:#x}")));
    }
    let mut world = call.world();
    let reserved = world.virtual_memory_mut().reserve(size, align, hint);
    let base = reserved.map_err(|error| {
        call.refuse(OUT_OF_MEMORY, format!("no {size} bytes of address space, aligned to {align:#x}: {error}"))
    })?;
    out.write(base)
}

pub(crate) fn cuMemAddressFree(call: &Call<'_>, address: CUdeviceptr, size: usize) -> Status {
    let mut world = call.world();
    let size = size as u64;
    let found = world.virtual_memory().reservation(address);
    if found != Some((address, size)) {
        let reason = match found {
            Some((base, whole)) => format!("{size} bytes at {address:#x} are not the whole {whole} at {base:#x}"),
            None => format!("{address:#x} is in no reservation"),
        };
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    if world.memory().overlaps(address, size) {
        return Err(call.refuse(INVALID_VALUE, format!("something is still mapped in the reservation at {address:#x}")));
    }
    world.virtual_memory_mut().free_reservation(address);
    Ok(())
}
