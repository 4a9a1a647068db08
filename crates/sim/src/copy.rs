//! Copies.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_sys::types::CUdeviceptr;

use crate::call::Call;
use crate::engine::{Place, Side, Work};
use crate::ffi::{ConstPtr, Ptr};
use crate::status::{INVALID_VALUE, Status};

/// Host memory that a C caller vouches for.
fn host_place(address: u64) -> Status<Place> {
    if address == 0 {
        return Err(INVALID_VALUE);
    }
    Ok(Place { address, host: address as usize, side: Side::Host })
}

pub(crate) fn cuMemcpyHtoD_v2(call: &Call<'_>, to: CUdeviceptr, from: ConstPtr<c_void>, bytes: usize) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    let to = world.memory.place(to, bytes as u64)?;
    let from = host_place(from.address())?;
    call.submit_and_wait(&mut world, queue, Work::Copy { to, from, bytes: bytes as u64 })
}

pub(crate) fn cuMemcpyDtoH_v2(call: &Call<'_>, to: Ptr<c_void>, from: CUdeviceptr, bytes: usize) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    let from = world.memory.place(from, bytes as u64)?;
    let to = host_place(to.address())?;
    call.submit_and_wait(&mut world, queue, Work::Copy { to, from, bytes: bytes as u64 })
}
