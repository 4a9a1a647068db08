//! Creation and destruction of streams: cuStreamCreate and cuStreamDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_int, c_uint};

use warploom_sys::types::{CUstream, CUstream_st};

use super::{LEGACY, PER_THREAD, created};
use crate::ffi::Ptr;
use crate::ffi::handle::Handle;
use crate::ffi::status::{INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::stream::{LOWEST_PRIORITY, NON_BLOCKING, Stream, Traits};
use crate::machine::work::Owner;

pub(crate) fn cuStreamCreate(call: &Call<'_>, out: Ptr<CUstream>, flags: c_uint) -> Status {
    create(call, out, flags, LOWEST_PRIORITY)
}

pub(crate) fn cuStreamCreateWithPriority(
    call: &Call<'_>,
    out: Ptr<CUstream>,
    flags: c_uint,
    priority: c_int,
) -> Status {
    create(call, out, flags, priority)
}

fn create(call: &Call<'_>, out: Ptr<CUstream>, flags: u32, priority: i32) -> Status {
    out.required()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1 is known")));
    }
    let mut guard = call.world();
    let handle = call.context(&guard)?;
    let world = &mut *guard;
    let traits = Traits::new(world.next_stream_id(), flags, priority);
    let is_non_blocking = traits.is_non_blocking();
    let Some(context) = world.contexts.get_mut(handle) else { return Err(INVALID_CONTEXT) };
    let queue = world.engine.new_queue(context.device, Owner::new(handle, context.device, traits));
    let Some(stream) = world.streams.insert(Stream { queue, context: handle }) else {
        world.engine.retire_queue(queue);
        return Err(call.refuse(OUT_OF_MEMORY, "there are as many streams as handles"));
    };
    context.streams.insert(stream);
    if is_non_blocking { &mut context.independent } else { &mut context.blocking }.push(queue);
    out.write(stream.as_raw())
}

/// Returns at once. Pending work continues, and synchronising with the context waits for it.
pub(crate) fn cuStreamDestroy_v2(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    if matches!(stream.address(), 0 | LEGACY | PER_THREAD) {
        return Err(call.refuse(INVALID_HANDLE, "a default stream goes with its context"));
    }
    let mut guard = call.world();
    let (queue, context) = {
        let stream = created(call, &guard, stream.address())?;
        (stream.queue, stream.context)
    };
    guard.healthy(context)?;
    guard.leave_captures(|_, going| going == queue);
    let world = &mut *guard;
    let handle = Handle::from_bits(stream.address());
    world.streams.remove(handle);
    if let Some(context) = world.contexts.get_mut(context) {
        context.remember(world.engine.queue(queue));
    }
    world.engine.retire_queue(queue);
    if let Some(context) = world.contexts.get_mut(context) {
        context.streams.remove(&handle);
        let engine = &world.engine;
        context.blocking.retain(|queue| engine.is_live(*queue));
        context.independent.retain(|queue| engine.is_live(*queue));
    }
    call.end_user_objects(guard);
    Ok(())
}
