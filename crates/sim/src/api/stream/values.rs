//! Stream memory operations: cuStreamWaitValue, cuStreamWriteValue and cuStreamBatchMemOp.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;
use std::sync::Arc;

use warploom_sys::types::{CUdeviceptr, CUstream_st, CUstreamBatchMemOpParams};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{NodeWork, ValuesNode};
use crate::machine::world::Work;
use crate::memory::{Backing, Compare, MemoryOp, SimAddress};
use crate::topology::number;

/// `CU_STREAM_WAIT_VALUE_FLUSH`.
const FLUSH: u32 = 1 << 30;

/// A word for stream memory operations: aligned, and in memory that devices access without faults.
fn word(call: &Call<'_>, world: &Guard<'_>, (address, wide): (u64, bool), writes: bool) -> Status<SimAddress> {
    let size = if wide { 8 } else { 4 };
    if !address.is_multiple_of(size) {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not a multiple of {size}")));
    }
    let place = world.memory().place(address, size).map_err(|code| {
        call.found_outside(world, address, size, writes);
        call.refuse(code, format!("{address:#x} is not in device memory or in page-locked host memory"))
    })?;
    match world.memory().containing(address).map(|allocation| &allocation.backing) {
        Some(Backing::Managed(_)) => {
            Err(call.refuse(INVALID_VALUE, format!("{address:#x} is managed memory, which may be on the move")))
        }
        _ => Ok(place),
    }
}

fn device_can(call: &Call<'_>, device: u16, number: i32) -> bool {
    let attributes = call.core().topology.devices.get(usize::from(device)).map(|device| &device.attributes);
    attributes.and_then(|attributes| attributes.get(number)).is_some_and(|value| value != 0)
}

fn flush(call: &Call<'_>, device: u16) -> Status {
    if !device_can(call, device, number::CAN_FLUSH_REMOTE_WRITES) {
        return Err(call.refuse(NOT_SUPPORTED, "the device cannot flush remote writes"));
    }
    Ok(())
}

fn waiting(
    call: &Call<'_>,
    world: &Guard<'_>,
    device: u16,
    (address, wide): (u64, bool),
    value: u64,
    flags: u32,
) -> Status<MemoryOp> {
    let at = word(call, world, (address, wide), false)?;
    let compare = match flags & !FLUSH {
        0 => Compare::AtLeast,
        1 => Compare::Equal,
        2 => Compare::And,
        3 if device_can(call, device, number::CAN_USE_STREAM_WAIT_VALUE_NOR) => Compare::Nor,
        3 => return Err(call.refuse(NOT_SUPPORTED, "the device cannot wait for a bit that is not set")),
        _ => return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; there is no such comparison"))),
    };
    if flags & FLUSH != 0 {
        flush(call, device)?;
    }
    Ok(MemoryOp::WaitValue { at, value, wide, compare })
}

fn writing(
    call: &Call<'_>,
    world: &Guard<'_>,
    (address, wide): (u64, bool),
    value: u64,
    flags: u32,
) -> Status<MemoryOp> {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let to = word(call, world, (address, wide), true)?;
    Ok(MemoryOp::WriteValue { to, value, wide })
}

fn wait(call: &Call<'_>, stream: Ptr<CUstream_st>, at: (u64, bool), value: u64, flags: u32) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let device = world.queue(queue).owner.device;
    let op = waiting(call, &world, device, at, value, flags)?;
    call.submit(&mut world, queue, op.into())?;
    Ok(())
}

fn write(call: &Call<'_>, stream: Ptr<CUstream_st>, at: (u64, bool), value: u64, flags: u32) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let op = writing(call, &world, at, value, flags)?;
    call.submit(&mut world, queue, op.into())?;
    Ok(())
}

/// The first ABI of these functions must be enabled when the kernel module is loaded; by default it is not.
fn first_abi(call: &Call<'_>) -> Status {
    Err(call.refuse(NOT_SUPPORTED, "the first ABI of memory operations is switched off; use the second"))
}

macro_rules! values {
    ($($name:ident $old:ident $body:ident $value:ty, $wide:literal;)*) => {$(
        pub(crate) fn $name(
            call: &Call<'_>,
            stream: Ptr<CUstream_st>,
            address: CUdeviceptr,
            value: $value,
            flags: c_uint,
        ) -> Status {
            $body(call, stream, (address, $wide), value.into(), flags)
        }

        pub(crate) fn $old(call: &Call<'_>, _: Ptr<CUstream_st>, _: CUdeviceptr, _: $value, _: c_uint) -> Status {
            first_abi(call)
        }
    )*};
}
values! {
    cuStreamWaitValue32_v2 cuStreamWaitValue32 wait u32, false;
    cuStreamWaitValue64_v2 cuStreamWaitValue64 wait u64, true;
    cuStreamWriteValue32_v2 cuStreamWriteValue32 write u32, false;
    cuStreamWriteValue64_v2 cuStreamWriteValue64 write u64, true;
}

/// Upper bound, exclusive, on the operations of a batch.
const MOST: u32 = 256;
/// The first driver version with reductions in batches.
const REDUCTIONS_SINCE: i32 = 13_010;

/// Refuses a batch for its flags or its length.
pub(crate) fn check_batch(call: &Call<'_>, count: u32, flags: u32) -> Status {
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    if count >= MOST {
        return Err(
            call.refuse(INVALID_VALUE, format!("{count} operations are too many; a batch has fewer than {MOST}"))
        );
    }
    Ok(())
}

/// The operations of a batch, in the order of the array.
pub(crate) fn batch(
    call: &Call<'_>,
    world: &Guard<'_>,
    device: u16,
    operations: Ptr<CUstreamBatchMemOpParams>,
    count: u32,
) -> Status<Vec<MemoryOp>> {
    let mut batch = Vec::with_capacity(count as usize);
    for index in 0..count as usize {
        batch.extend(operation(call, world, device, operations.part().read_at(index)?)?);
    }
    Ok(batch)
}

/// All operations or none, in the order of the array, and contiguous in the stream.
pub(crate) fn cuStreamBatchMemOp_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    count: c_uint,
    operations: Ptr<CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Status {
    check_batch(call, count, flags)?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let owner = &world.queue(queue).owner;
    let (context, device) = (owner.context, owner.device);
    let ops = batch(call, &world, device, operations, count)?;
    if ops.is_empty() {
        return Ok(());
    }
    if world.captures().hold(queue) {
        let shown = (0..count as usize).map(|index| operations.read_at(index)).collect::<Status<_>>()?;
        let node = ValuesNode { ops, shown, flags, context };
        return call.capture_node(&mut world, queue, NodeWork::Values(Arc::new(node)));
    }
    let works: Vec<Work> = ops.into_iter().map(Work::from).collect();
    call.check_legacy(&mut world, queue)?;
    world.check_ahead(queue, &works)?;
    for work in works {
        world.enqueue(queue, work)?;
    }
    call.get_going(&mut world, queue)
}

/// One element of a batch, which is a union of structs that begin with the number of the operation.
fn operation(call: &Call<'_>, world: &Guard<'_>, device: u16, words: [u64; 6]) -> Status<Option<MemoryOp>> {
    let [head, address, value, flags, ..] = words;
    let (number, short_flags, flags) = (head as u32, (head >> 32) as u32, flags as u32);
    let narrow = u64::from(value as u32);
    match number {
        1 => waiting(call, world, device, (address, false), narrow, flags).map(Some),
        4 => waiting(call, world, device, (address, true), value, flags).map(Some),
        2 => writing(call, world, (address, false), narrow, flags).map(Some),
        5 => writing(call, world, (address, true), value, flags).map(Some),
        3 => flush(call, device).map(|()| None),
        // A barrier has no effect, because ops of one stream see each other's writes.
        6 if short_flags <= 1 => Ok(None),
        6 => Err(call.refuse(INVALID_VALUE, format!("there is no barrier of type {short_flags}"))),
        8 if call.core().topology.driver_version >= REDUCTIONS_SINCE => {
            Err(call.refuse(NOT_SUPPORTED, "reductions in a batch are not simulated"))
        }
        _ => Err(call.refuse(INVALID_VALUE, format!("{number} is not an operation"))),
    }
}

pub(crate) fn cuStreamBatchMemOp(
    call: &Call<'_>,
    _: Ptr<CUstream_st>,
    _: c_uint,
    _: Ptr<CUstreamBatchMemOpParams>,
    _: c_uint,
) -> Status {
    first_abi(call)
}
