//! Properties of a stream: flags, priority, identifier, context, device.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint, c_ulonglong};

use warploom_sys::types::{CUcontext, CUdevice, CUgreenCtx, CUstream_st};

use crate::ffi::status::Status;
use crate::ffi::{Plain, Ptr};
use crate::machine::call::Call;
use crate::machine::world::Queue;

/// Writes a property of a stream.
fn tell<T: Plain>(call: &Call<'_>, stream: Ptr<CUstream_st>, out: Ptr<T>, what: impl Fn(&Queue) -> T) -> Status {
    out.required()?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    out.write(what(world.queue(queue)))
}

pub(crate) fn cuStreamGetFlags(call: &Call<'_>, stream: Ptr<CUstream_st>, flags: Ptr<c_uint>) -> Status {
    tell(call, stream, flags, |queue| queue.owner.traits.flags)
}

pub(crate) fn cuStreamGetPriority(call: &Call<'_>, stream: Ptr<CUstream_st>, priority: Ptr<c_int>) -> Status {
    tell(call, stream, priority, |queue| queue.owner.traits.attributes.priority)
}

/// The driver refuses to report the id of a captured stream, and invalidates the capture.
pub(crate) fn cuStreamGetId(call: &Call<'_>, stream: Ptr<CUstream_st>, id: Ptr<c_ulonglong>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(&mut world, queue, "the question for a stream's number"));
    }
    drop(world);
    tell(call, stream, id, |queue| queue.owner.traits.id)
}

pub(crate) fn cuStreamGetCtx(call: &Call<'_>, stream: Ptr<CUstream_st>, context: Ptr<CUcontext>) -> Status {
    tell(call, stream, context, |queue| queue.owner.context.as_raw())
}

/// The second ABI distinguishes green contexts, which are not simulated.
pub(crate) fn cuStreamGetCtx_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    context: Ptr<CUcontext>,
    green: Ptr<CUgreenCtx>,
) -> Status {
    tell(call, stream, context, |queue| queue.owner.context.as_raw())?;
    green.write_if_wanted(std::ptr::null_mut())
}

pub(crate) fn cuStreamGetDevice(call: &Call<'_>, stream: Ptr<CUstream_st>, device: Ptr<CUdevice>) -> Status {
    tell(call, stream, device, |queue| CUdevice::from(queue.owner.device))
}
