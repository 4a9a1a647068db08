//! Prefetch of one managed range: cuMemPrefetchAsync.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUdevice, CUdeviceptr, CUmemLocation, CUstream_st};

use super::requested_location::check_shares;
use super::{range, requested_location};
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::world::Work;
use crate::memory::{Migration, RequestedLocation, Residence};

fn prefetch(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    to: impl FnOnce() -> Status<RequestedLocation>,
    stream: Ptr<CUstream_st>,
) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let to = to()?;
    let range = range::managed(call, world.memory(), address, bytes)?;
    check_shares(call, to.place)?;
    check_shares(call, Residence::Device(world.queue(queue).owner.device))?;
    let at = range::place(world.memory(), &range)?;
    let migration = Migration::new(at, bytes as u64, Some(to.place), false);
    call.submit(&mut world, queue, Work::Migrate(Box::new(migration)))?;
    world.managed_memory_mut().pages_mut().update(&range, |page, _| page.prefetched = Some(to));
    Ok(())
}

pub(crate) fn cuMemPrefetchAsync(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    device: CUdevice,
    stream: Ptr<CUstream_st>,
) -> Status {
    prefetch(call, address, bytes, || requested_location::of_ordinal(call, device), stream)
}

pub(crate) fn cuMemPrefetchAsync_v2(
    call: &Call<'_>,
    address: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    flags: c_uint,
    stream: Ptr<CUstream_st>,
) -> Status {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there are none")));
    }
    prefetch(call, address, bytes, || requested_location::of_location(call, location, INVALID_DEVICE), stream)
}
