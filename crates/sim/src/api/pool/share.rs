//! Interprocess sharing of memory pools: argument checks only; the sharing itself is not simulated.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_ulonglong, c_void};

use warploom_sys::types::{
    CUdeviceptr, CUmemAllocationHandleType, CUmemPoolHandle_st, CUmemPoolPtrExportData, CUmemoryPool,
};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::memory::{Allocation, Backing};

pub(crate) fn cuMemPoolExportToShareableHandle(
    call: &Call<'_>,
    out: Ptr<c_void>,
    pool: Ptr<CUmemPoolHandle_st>,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Status {
    out.typed::<u8>().required()?;
    let world = call.world();
    let handle = named(call, world.pools(), pool)?;
    let possible = world.pools().get(handle).map_or(0, |pool| pool.handle_types);
    if !kind.0.is_power_of_two() || kind.0 & possible == 0 {
        let reason = format!("handle type is {:#x}; the pool was created for {possible:#x}", kind.0);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
    }
    call.unsupported()
}

pub(crate) fn cuMemPoolImportFromShareableHandle(
    call: &Call<'_>,
    out: Ptr<CUmemoryPool>,
    _handle: Ptr<c_void>,
    _kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
    }
    call.unsupported()
}

pub(crate) fn cuMemPoolExportPointer(
    call: &Call<'_>,
    out: Ptr<CUmemPoolPtrExportData>,
    address: CUdeviceptr,
) -> Status {
    out.required()?;
    let world = call.world();
    let pool = match world.memory().at(address) {
        Some(Allocation { backing: Backing::Pool(block), .. }) => world.pools().get(block.pool),
        _ => None,
    };
    if pool.is_none_or(|pool| pool.handle_types == 0) {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not memory of a pool that can be exported")));
    }
    call.unsupported()
}

pub(crate) fn cuMemPoolImportPointer(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    pool: Ptr<CUmemPoolHandle_st>,
    data: Ptr<CUmemPoolPtrExportData>,
) -> Status {
    out.required()?;
    data.given()?;
    named(call, call.world().pools(), pool)?;
    call.unsupported()
}
