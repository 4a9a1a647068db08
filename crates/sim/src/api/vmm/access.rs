//! Access rights of mappings: cuMemSetAccess and cuMemGetAccess.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_sys::types::{CUdeviceptr, CUmemAccessDesc, CUmemLocation};

use super::location::{self, Location};
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Registry, Rights, Side};

impl World {
    /// Checks that work of a device may read, or write, every mapping in a range; other memory is ignored.
    /// Host memory that the host has access to is accepted: the driver then copies on the host.
    pub(crate) fn mapped_access(&self, address: u64, len: u64, device: u16, write: bool) -> Status {
        let needed = if write { Rights::ReadWrite } else { Rights::Read };
        let allowed = |allocation: &Allocation| match &allocation.backing {
            Backing::Mapped(mapping) => {
                let by_host = if allocation.side == Side::Host { mapping.host_rights() } else { Rights::None };
                mapping.rights_of(device).max(by_host) >= needed
            }
            _ => true,
        };
        let all = self.memory().touching(address, address.saturating_add(len)).all(allowed);
        if all { Ok(()) } else { Err(INVALID_VALUE) }
    }
}

/// The accessor that a descriptor names.
#[derive(Clone, Copy)]
enum Grantee {
    Device(u16),
    Host,
}

pub(crate) fn cuMemSetAccess(
    call: &Call<'_>,
    address: CUdeviceptr,
    size: usize,
    descriptions: ConstPtr<CUmemAccessDesc>,
    count: usize,
) -> Status {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    if count == 0 || size == 0 {
        return Err(refuse(format!("{count} descriptions for {size} bytes; both must be at least one")));
    }
    let devices = call.core().topology.devices.len();
    let mut grants = Vec::new();
    for index in 0..count {
        let CUmemAccessDesc { location, flags } = descriptions.read_at(index)?;
        let grantee = match Location::read(location) {
            Some(Location::Device(ordinal)) => location::device(ordinal, devices).map(Grantee::Device),
            Some(Location::Host | Location::Node(_)) => Some(Grantee::Host),
            None => None,
        };
        let (Some(grantee), Some(rights)) = (grantee, Rights::read(flags)) else {
            let (kind, id, flags) = (location.type_.0, location.id(), flags.0);
            return Err(refuse(format!("access {flags} for location {id} of type {kind}: one of them does not exist")));
        };
        grants.push((grantee, rights));
    }
    let mut guard = call.world();
    let world = &mut *guard;
    let bases = mappings_of(world.memory(), address, size as u64)
        .ok_or_else(|| refuse(format!("{size} bytes at {address:#x} are not one or more whole mappings")))?;
    // Descriptors take effect one by one: those before a refused one stay in force.
    for (grantee, rights) in grants {
        match grantee {
            Grantee::Device(device) => grant_device(call, world.memory_mut(), &bases, device, rights)?,
            Grantee::Host => grant_host(call, world, &bases, rights)?,
        }
    }
    Ok(())
}

/// The mappings in a range, if one begins at its start and one ends at its end. The driver does not detect a
/// gap, and stops there.
fn mappings_of(memory: &Registry, address: u64, size: u64) -> Option<Vec<u64>> {
    let end = address.checked_add(size)?;
    let is_mapping = |found: &&Allocation| matches!(found.backing, Backing::Mapped(_));
    let last_first: Vec<&Allocation> = memory.touching(address, end).filter(is_mapping).collect();
    if last_first.first()?.end() != end || last_first.last()?.base != address {
        return None;
    }
    let mut next = address;
    let joined = |mapping: &&&Allocation| std::mem::replace(&mut next, mapping.end()) == mapping.base;
    Some(last_first.iter().rev().take_while(joined).map(|mapping| mapping.base).collect())
}

fn grant_device(call: &Call<'_>, memory: &mut Registry, bases: &[u64], device: u16, rights: Rights) -> Status {
    for base in bases {
        let Some(Side::Device(owner)) = memory.at(*base).map(|mapping| mapping.side) else { continue };
        let peers = &call.core().topology.peers;
        if owner != device && !peers.can_access(usize::from(device), usize::from(owner)) {
            let reason = format!("device {device} cannot reach the memory of device {owner}");
            return Err(call.refuse(INVALID_DEVICE, reason));
        }
    }
    for base in bases {
        if let Some(Allocation { backing: Backing::Mapped(mapping), .. }) = memory.at_mut(*base) {
            mapping.grant_device(device, rights);
        }
    }
    Ok(())
}

fn grant_host(call: &Call<'_>, world: &mut World, bases: &[u64], rights: Rights) -> Status {
    if bases.iter().any(|base| world.memory().at(*base).is_some_and(|mapping| mapping.side != Side::Host)) {
        return Err(call.refuse(NOT_SUPPORTED, "the host cannot be given access to memory of a device"));
    }
    for base in bases {
        world.grant_host(*base, rights).map_err(|error| {
            let size = world.memory().at(*base).map_or(0, |mapping| mapping.size);
            call.refuse(OUT_OF_MEMORY, format!("the operating system could not map {size} bytes: {error}"))
        })?;
    }
    Ok(())
}

pub(crate) fn cuMemGetAccess(
    call: &Call<'_>,
    flags: Ptr<c_ulonglong>,
    location: ConstPtr<CUmemLocation>,
    address: CUdeviceptr,
) -> Status {
    flags.required()?;
    let raw = location.read()?;
    if address == 0 {
        return Err(call.refuse(INVALID_VALUE, "a null address"));
    }
    let devices = call.core().topology.devices.len();
    let unknown = || {
        let (kind, id) = (raw.type_.0, raw.id());
        call.refuse(INVALID_DEVICE, format!("location {id} of type {kind} does not exist"))
    };
    let location = Location::read(raw).ok_or_else(unknown)?;
    let device = match location {
        Location::Device(ordinal) => Some(location::device(ordinal, devices).ok_or_else(unknown)?),
        Location::Host | Location::Node(_) => None,
    };
    let world = call.world();
    let Some(allocation) = world.memory().containing(address) else {
        // The driver writes the value even though it fails.
        flags.write(0)?;
        return Err(call.refuse(INVALID_VALUE, format!("nothing is mapped at {address:#x}")));
    };
    let rights = match (&allocation.backing, device) {
        (Backing::Mapped(mapping), Some(device)) => mapping.rights_of(device),
        (Backing::Mapped(mapping), None) if location == Location::Host => mapping.least_rights(),
        (Backing::Mapped(mapping), None) => mapping.host_rights(),
        // Other memory has no settable access rights.
        _ => Rights::None,
    };
    flags.write(c_ulonglong::from(rights.flags().0))
}
