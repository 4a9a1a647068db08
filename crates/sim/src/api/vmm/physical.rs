//! Physical allocations: cuMemCreate, cuMemRelease and cuMemRetainAllocationHandle.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_ulonglong, c_void};

use warploom_sys::types::{CUmemAllocationGranularity_flags, CUmemAllocationProp, CUmemGenericAllocationHandle};

use super::{GRANULARITY, properties, shared_properties};
use crate::check::HandleProblem;
use crate::ffi::handle::{Handle, PhysicalHandle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::objects::Objects;
use crate::machine::physical::Physical;
use crate::memory::{Allocation, Backing};

/// The minimum and the recommended granularity are the same for all locations; the properties are not
/// checked.
pub(crate) fn cuMemGetAllocationGranularity(
    call: &Call<'_>,
    granularity: Ptr<usize>,
    properties: ConstPtr<CUmemAllocationProp>,
    option: CUmemAllocationGranularity_flags,
) -> Status {
    granularity.required()?;
    properties.read()?;
    match option {
        CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM
        | CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED => {
            granularity.write(GRANULARITY as usize)
        }
        other => Err(call.refuse(INVALID_VALUE, format!("option {} is neither minimum nor recommended", other.0))),
    }
}

pub(crate) fn cuMemCreate(
    call: &Call<'_>,
    out: Ptr<CUmemGenericAllocationHandle>,
    size: usize,
    properties: ConstPtr<CUmemAllocationProp>,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    let properties = properties.read()?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let size = size as u64;
    if size == 0 || !size.is_multiple_of(GRANULARITY) {
        return Err(
            call.refuse(INVALID_VALUE, format!("{size} bytes are no multiple of the granularity {GRANULARITY}"))
        );
    }
    let (side, properties) = properties::check(call, properties)?;
    let mut guard = call.world();
    let world = &mut *guard;
    world.afford(call, side, size)?;
    let shared = shared_properties::object_of(call, size, side, properties);
    let made = world.add_physical(size, side, properties, shared.as_ref());
    out.write(made.map_err(|reason| call.refuse(OUT_OF_MEMORY, reason))?.bits())
}

/// A physical allocation by the handle that a C caller passed.
pub(super) fn find<'o>(
    call: &Call<'_>,
    all: &'o Objects<Physical>,
    raw: u64,
) -> Status<(PhysicalHandle, &'o Physical)> {
    let handle = Handle::from_bits(raw);
    Ok((handle, call.object(all, handle, INVALID_VALUE)?))
}

pub(crate) fn cuMemRelease(call: &Call<'_>, handle: CUmemGenericAllocationHandle) -> Status {
    let mut world = call.world();
    let (handle, physical) = find(call, world.physical(), handle)?;
    if physical.references == 0 {
        call.report_misuse(world.physical(), handle, HandleProblem::Destroyed);
        let reason = format!("{handle:?} has been released as often as it was given out; only mappings keep it");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    world.release_physical(handle);
    Ok(())
}

pub(crate) fn cuMemRetainAllocationHandle(
    call: &Call<'_>,
    out: Ptr<CUmemGenericAllocationHandle>,
    address: Ptr<c_void>,
) -> Status {
    out.required()?;
    let mut world = call.world();
    let Some(Allocation { backing: Backing::Mapped(mapping), .. }) = world.memory().containing(address.address())
    else {
        return Err(call.refuse(INVALID_VALUE, format!("nothing is mapped at {:#x}", address.address())));
    };
    let handle = mapping.physical();
    world.retain_physical(handle);
    out.write(handle.bits())
}

pub(crate) fn cuMemGetAllocationPropertiesFromHandle(
    call: &Call<'_>,
    out: Ptr<CUmemAllocationProp>,
    handle: CUmemGenericAllocationHandle,
) -> Status {
    out.required()?;
    let world = call.world();
    let (_, physical) = find(call, world.physical(), handle)?;
    out.write(physical.properties.show())
}
