//! Physical allocations between processes: cuMemExportToShareableHandle and cuMemImportFromShareableHandle.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_ulonglong, c_void};

use warploom_sys::types::{CUmemAllocationHandleType, CUmemGenericAllocationHandle, CUmemLocation, CUmemLocationType};

use super::physical::find;
use super::{GRANULARITY, location};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::physical::Properties;
use crate::memory::{Details, Header, NewObject, SharedKind, Side};

const DESCRIPTOR: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;

/// The shared object that a new allocation needs, if it can be exported as a file descriptor.
pub(super) fn object_of(call: &Call<'_>, size: u64, side: Side, properties: Properties) -> Option<NewObject> {
    if properties.handle_types.0 & DESCRIPTOR == 0 {
        return None;
    }
    let Properties { location, compression, remote_access, .. } = properties;
    let location = [u64::from(location.type_.0), u64::from(location.id().cast_unsigned())];
    let mut details = Details::default();
    details[..4].copy_from_slice(&[location[0], location[1], compression.into(), remote_access.into()]);
    let device = call.shared_device(side);
    Some(NewObject { kind: SharedKind::Physical, size, words: 0, machine: call.core().digest(), device, details })
}

/// The side and the properties of an imported allocation, if a machine of this description has such memory.
/// It cannot be exported again.
fn imported(call: &Call<'_>, header: &Header) -> Option<(Side, Properties)> {
    let [kind, id, compression, remote_access, ..] = header.details;
    let id = u32::try_from(id).ok()?.cast_signed();
    let location = CUmemLocation::new(CUmemLocationType(u32::try_from(kind).ok()?), id);
    let topology = &call.core().topology;
    let side = match location::Location::read(location)? {
        location::Location::Device(ordinal) => Side::Device(location::device(ordinal, topology.devices.len())?),
        location::Location::Node(node) if u32::try_from(node).ok()? < topology.numa_nodes => Side::Host,
        location::Location::Node(_) | location::Location::Host => return None,
    };
    let is_sound =
        header.size > 0 && header.size.is_multiple_of(GRANULARITY) && header.device == call.shared_device(side);
    let handle_types = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    let compression = u8::try_from(compression).ok().filter(|_| is_sound)?;
    let remote_access = u8::try_from(remote_access).ok()?;
    Some((side, Properties { handle_types, location, compression, remote_access }))
}

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
    let (side, properties) = imported(call, object.header())
        .ok_or_else(|| call.refuse(INVALID_VALUE, "the header of the shared object is damaged"))?;
    let mut world = call.world();
    let added = world.import_physical(object, side, properties);
    let handle = added.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "all handles of allocations are used"))?;
    out.write(handle.bits())
}
