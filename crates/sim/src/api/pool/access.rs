//! Access to memory pools from devices and the host: cuMemPoolGetAccess and cuMemPoolSetAccess.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUmemPoolHandle_st};

use super::{home, named};
use crate::ffi::handle::PoolHandle;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::pool::Pool;
use crate::machine::world::World;
use crate::memory::Home;

/// Access rights to a pool's memory; the driver has no read-only access here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessLevel {
    None,
    ReadWrite,
}

impl AccessLevel {
    fn flags(self) -> CUmemAccess_flags {
        match self {
            AccessLevel::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
            AccessLevel::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        }
    }

    fn when(reachable: bool) -> Self {
        if reachable { AccessLevel::ReadWrite } else { AccessLevel::None }
    }
}

impl Pool {
    fn device_access(&self, device: u16) -> AccessLevel {
        let inherent = match self.home {
            Home::Device(own) => own == device,
            Home::Host(_) => false,
            Home::Managed(_) => true,
        };
        AccessLevel::when(inherent || self.peers.contains(&device))
    }

    fn host_access(&self) -> AccessLevel {
        AccessLevel::when(self.home.is_open())
    }
}

impl World {
    /// The access rights of a device to a pool's memory.
    pub(crate) fn pool_access(&self, pool: PoolHandle, device: u16) -> AccessLevel {
        self.pools().get(pool).map_or(AccessLevel::None, |pool| pool.device_access(device))
    }
}

pub(crate) fn cuMemPoolGetAccess(
    call: &Call<'_>,
    out: Ptr<CUmemAccess_flags>,
    pool: Ptr<CUmemPoolHandle_st>,
    location: Ptr<CUmemLocation>,
) -> Status {
    out.required()?;
    let location = location.read()?;
    let world = call.world();
    let handle = named(call, world.pools(), pool)?;
    let Some(pool) = world.pools().get(handle) else { return Err(INVALID_VALUE) };
    let level = match location.type_ {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => {
            let device = home::device(&call.core().topology, location.id());
            let missing = || call.refuse(INVALID_VALUE, format!("device {} does not exist", location.id()));
            pool.device_access(device.ok_or_else(missing)?)
        }
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA => {
            pool.host_access()
        }
        other => return Err(call.refuse(INVALID_VALUE, format!("location type {} accesses nothing", other.0))),
    };
    out.write(level.flags())
}

pub(crate) fn cuMemPoolSetAccess(
    call: &Call<'_>,
    pool: Ptr<CUmemPoolHandle_st>,
    map: ConstPtr<CUmemAccessDesc>,
    count: usize,
) -> Status {
    if map.is_null() {
        return Err(call.refuse(INVALID_VALUE, "the array of descriptors is null"));
    }
    let mut world = call.world();
    let handle = named(call, world.pools(), pool)?;
    let Some(pool) = world.pools_mut().get_mut(handle) else { return Err(INVALID_VALUE) };
    // All descriptors or none: the set is replaced after all of them have been checked.
    let mut peers = pool.peers.clone();
    for index in 0..count {
        let descriptor = map.read_at(index)?;
        if let Some((device, level)) = checked(call, pool, &descriptor)? {
            match level {
                AccessLevel::None => peers.remove(&device),
                AccessLevel::ReadWrite => peers.insert(device),
            };
        }
    }
    pool.peers = peers;
    // Kernels that run see the change.
    world.memory_mut().note_access_change();
    Ok(())
}

/// The change that one descriptor requests, if any.
fn checked(call: &Call<'_>, pool: &Pool, descriptor: &CUmemAccessDesc) -> Status<Option<(u16, AccessLevel)>> {
    let location = &descriptor.location;
    let level = match descriptor.flags {
        CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => Some(AccessLevel::None),
        CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Some(AccessLevel::ReadWrite),
        CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => None,
        other => return Err(call.refuse(INVALID_VALUE, format!("access flags are {:#x}", other.0))),
    };
    if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
        let reason = format!("access is set for devices, not for location type {}", location.type_.0);
        return Err(call.refuse(NOT_SUPPORTED, reason));
    }
    let topology = &call.core().topology;
    let device = home::device(topology, location.id())
        .ok_or_else(|| call.refuse(INVALID_DEVICE, format!("device {} does not exist", location.id())))?;
    let level = level.ok_or_else(|| call.refuse(NOT_SUPPORTED, "pools have no read-only access"))?;
    match pool.home {
        Home::Device(own) if own == device => match level {
            AccessLevel::None => Err(call.refuse(INVALID_DEVICE, "a device cannot lose access to its own pool")),
            AccessLevel::ReadWrite => Ok(None),
        },
        Home::Device(own)
            if level == AccessLevel::ReadWrite && !topology.peers.can_access(device.into(), own.into()) =>
        {
            Err(call.refuse(INVALID_DEVICE, format!("device {device} cannot reach the memory of device {own}")))
        }
        Home::Managed(_) => Ok(None),
        Home::Device(_) | Home::Host(_) => Ok(Some((device, level))),
    }
}
