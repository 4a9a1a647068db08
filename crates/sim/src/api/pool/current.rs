//! Default and current memory pools of devices and other locations.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{
    CUdevice, CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolHandle_st, CUmemoryPool,
};

use super::{home, own};
use crate::api::device::ordinal;
use crate::ffi::Ptr;
use crate::ffi::handle::PoolHandle;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::pool::{Current, Pool};
use crate::memory::Home;

/// The pools of a home; the default pool is created at first use.
fn pools_of(call: &Call<'_>, world: &mut Guard<'_>, home: Home) -> Status<Current> {
    if let Some(known) = world.current_pools(home) {
        return Ok(known);
    }
    home.check_support(call)?;
    Pool::default_of(call, home).and_then(|pool| world.add_default_pool(pool)).ok_or(OUT_OF_MEMORY)
}

/// The default pool of a home.
fn default_of(call: &Call<'_>, world: &mut Guard<'_>, home: Home) -> Status<PoolHandle> {
    Ok(pools_of(call, world, home)?.default)
}

/// The current pool of a home.
pub(super) fn of_home(call: &Call<'_>, world: &mut Guard<'_>, home: Home) -> Status<PoolHandle> {
    let pools = pools_of(call, world, home)?;
    Ok(pools.chosen.unwrap_or(pools.default))
}

fn choose(call: &Call<'_>, world: &mut Guard<'_>, home: Home, raw: Ptr<CUmemPoolHandle_st>) -> Status {
    let pool = own(call, world.pools(), raw)?;
    let its = world.pools().get(pool).map(|pool| pool.home);
    if its != Some(home) {
        return Err(call.refuse(INVALID_VALUE, format!("the pool's memory is {its:?}, not {home:?}")));
    }
    pools_of(call, world, home)?;
    world.choose_pool(home, pool);
    Ok(())
}

/// The home of a device's own memory. Only one of these functions answers `INVALID_DEVICE` for a missing
/// device.
fn device_home(call: &Call<'_>, device: CUdevice) -> Status<Home> {
    let found = home::device(&call.core().topology, device);
    found.map(Home::Device).ok_or_else(|| call.refuse(INVALID_VALUE, format!("device {device} does not exist")))
}

pub(crate) fn cuDeviceGetDefaultMemPool(call: &Call<'_>, out: Ptr<CUmemoryPool>, device: CUdevice) -> Status {
    out.required()?;
    ordinal(call, device)?;
    let home = device_home(call, device)?;
    let pool = default_of(call, &mut call.world(), home)?;
    out.write(pool.as_raw())
}

pub(crate) fn cuDeviceGetMemPool(call: &Call<'_>, out: Ptr<CUmemoryPool>, device: CUdevice) -> Status {
    out.required()?;
    let home = device_home(call, device)?;
    let pool = of_home(call, &mut call.world(), home)?;
    out.write(pool.as_raw())
}

pub(crate) fn cuDeviceSetMemPool(call: &Call<'_>, device: CUdevice, pool: Ptr<CUmemPoolHandle_st>) -> Status {
    let home = device_home(call, device)?;
    choose(call, &mut call.world(), home, pool)
}

/// The home of a caller's location. Locations that can have no pool are `NOT_SUPPORTED` rather than invalid.
fn location_home(call: &Call<'_>, location: Ptr<CUmemLocation>, kind: CUmemAllocationType) -> Status<Home> {
    let location = location.read()?;
    let known = matches!(
        location.type_,
        CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
            | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA
    );
    if !known {
        return Err(call.refuse(NOT_SUPPORTED, format!("location type {} has no pools", location.type_.0)));
    }
    Home::named(call, &location, kind)
}

pub(crate) fn cuMemGetDefaultMemPool(
    call: &Call<'_>,
    out: Ptr<CUmemoryPool>,
    location: Ptr<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Status {
    out.required()?;
    let home = location_home(call, location, kind)?;
    let pool = default_of(call, &mut call.world(), home)?;
    out.write(pool.as_raw())
}

pub(crate) fn cuMemGetMemPool(
    call: &Call<'_>,
    out: Ptr<CUmemoryPool>,
    location: Ptr<CUmemLocation>,
    kind: CUmemAllocationType,
) -> Status {
    out.required()?;
    let home = location_home(call, location, kind)?;
    let pool = of_home(call, &mut call.world(), home)?;
    out.write(pool.as_raw())
}

pub(crate) fn cuMemSetMemPool(
    call: &Call<'_>,
    location: Ptr<CUmemLocation>,
    kind: CUmemAllocationType,
    pool: Ptr<CUmemPoolHandle_st>,
) -> Status {
    let home = location_home(call, location, kind)?;
    choose(call, &mut call.world(), home, pool)
}
