//! Memory annotations: blocks that a program hands out itself. They are no functions of a driver's; a program
//! finds them by `cuGetExportTable` on a machine that checks.

use warploom_engine::QueueId;
use warploom_sys::types::CUstream_st;

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;

/// Bytes of an allocation are handed out in the order of a stream.
pub(crate) fn lend(call: &Call<'_>, address: u64, bytes: usize, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = running_queue(call, &mut world, stream)?;
    let end = address.checked_add(bytes as u64).ok_or(INVALID_VALUE)?;
    let lent = world.lend_block(queue, &(address..end));
    let refused = || format!("{bytes} bytes at {address:#x} are not in one allocation, or in use as another block");
    lent.map_err(|code| if code == INVALID_VALUE { call.refuse(code, refused()) } else { code })?;
    call.submit(&mut world, queue, Work::Join)
}

/// A block goes back in the order of a stream.
pub(crate) fn release(call: &Call<'_>, address: u64, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = running_queue(call, &mut world, stream)?;
    let released = world.release_block(queue, address);
    let refused = || format!("no block in use starts at {address:#x}");
    released.map_err(|code| if code == INVALID_VALUE { call.refuse(code, refused()) } else { code })?;
    call.submit(&mut world, queue, Work::Join)
}

/// The queue of a stream that is not captured: a block that changes hands in a graph would do so at each
/// launch.
fn running_queue(call: &Call<'_>, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status<QueueId> {
    let queue = call.queue(world, stream)?;
    match world.captures().hold(queue) {
        true => Err(call.refuse(INVALID_VALUE, "a block cannot change hands on a captured stream")),
        false => Ok(queue),
    }
}
