//! Physical allocations between processes: cuMemExportToShareableHandle and cuMemImportFromShareableHandle.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_ulonglong, c_void};

use warploom_sys::types::{CUmemAllocationHandleType, CUmemGenericAllocationHandle};

use super::physical::find;
use super::shared_properties;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::memory::SharedKind;

const DESCRIPTOR: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;

pub(crate) fn cuMemExportToShareableHandle(
    call: &Call<'_>,
    out: Ptr<c_void>,
    handle: CUmemGenericAllocationHandle,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Status {
    let out = out.typed::<i32>();
    out.required()?;
    let mut world = call.world();
    let (_, physical) = find(call, world.physical(), handle)?;
    let (offset, possible) = (physical.offset, physical.properties.handle_types.0);
    if kind.0 != DESCRIPTOR || kind.0 & possible == 0 {
        let reason = format!("handle type is {:#x}; the allocation was created for {possible:#x}", kind.0);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let object = world.virtual_memory_mut().export(offset).ok_or(INVALID_VALUE)?;
    call.give_descriptor(object, out)
}

pub(crate) fn cuMemImportFromShareableHandle(
    call: &Call<'_>,
    out: Ptr<CUmemGenericAllocationHandle>,
    handle: Ptr<c_void>,
    kind: CUmemAllocationHandleType,
) -> Status {
    out.required()?;
    let object = call.open_shared(handle, kind, SharedKind::Physical)?;
    let (side, properties) = shared_properties::imported(call, object.header())
        .ok_or_else(|| call.refuse(INVALID_VALUE, "the header of the shared object is damaged"))?;
    let mut world = call.world();
    let added = world.import_physical(object, side, properties);
    let handle = added.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "all handles of allocations are used"))?;
    out.write(handle.bits())
}
