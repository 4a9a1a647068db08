//! Properties of physical allocations in the headers of their shared objects.

use warploom_sys::types::{CUmemAllocationHandleType, CUmemLocation, CUmemLocationType};

use super::GRANULARITY;
use super::location::{self, Location};
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
pub(super) fn imported(call: &Call<'_>, header: &Header) -> Option<(Side, Properties)> {
    let [kind, id, compression, remote_access, ..] = header.details;
    let id = u32::try_from(id).ok()?.cast_signed();
    let location = CUmemLocation::new(CUmemLocationType(u32::try_from(kind).ok()?), id);
    let topology = &call.core().topology;
    let side = match Location::read(location)? {
        Location::Device(ordinal) => Side::Device(location::device(ordinal, topology.devices.len())?),
        Location::Node(node) if u32::try_from(node).ok()? < topology.numa_nodes => Side::Host,
        Location::Node(_) | Location::Host => return None,
    };
    let is_sound =
        header.size > 0 && header.size.is_multiple_of(GRANULARITY) && header.device == call.shared_device(side);
    let handle_types = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    let compression = u8::try_from(compression).ok().filter(|_| is_sound)?;
    let remote_access = u8::try_from(remote_access).ok()?;
    Some((side, Properties { handle_types, location, compression, remote_access }))
}
