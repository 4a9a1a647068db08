//! Attachment of managed memory to streams: cuStreamAttachMemAsync.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUdeviceptr, CUstream_st};

use super::LEGACY;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::world::Work;
use crate::memory::Backing;

/// `CU_MEM_ATTACH_GLOBAL`.
const GLOBAL: u32 = 1;
/// `CU_MEM_ATTACH_HOST`.
const HOST: u32 = 2;
/// `CU_MEM_ATTACH_SINGLE`.
const SINGLE: u32 = 4;

/// Takes effect in stream order. With concurrent managed access the attachment is only a hint; the simulator
/// keeps its position in the stream and has no other effect.
pub(crate) fn cuStreamAttachMemAsync(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    address: CUdeviceptr,
    length: usize,
    flags: c_uint,
) -> Status {
    if !matches!(flags, GLOBAL | HOST | SINGLE) {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; one of 1, 2 and 4 is needed")));
    }
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let size = match world.memory().at(address) {
        Some(allocation) if matches!(allocation.backing, Backing::Managed(_)) => allocation.size,
        _ => return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of managed memory"))),
    };
    if length != 0 && length as u64 != size {
        let reason = format!("the length is {length}; it must be 0 or the {size} bytes that were allocated");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    let is_legacy = stream.address() == LEGACY || (stream.is_null() && !call.is_per_thread());
    if flags == SINGLE && is_legacy {
        return Err(call.refuse(INVALID_VALUE, "memory cannot be attached to the legacy default stream alone"));
    }
    call.submit(&mut world, queue, Work::Join)?;
    Ok(())
}
