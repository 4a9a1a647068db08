//! Streams: ordered queues of work, and the default streams of a context.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUresult, CUstream, CUstream_st};

use crate::call::Call;
use crate::context::Context;
use crate::core::Guard;
use crate::engine::QueueId;
use crate::ffi::Ptr;
use crate::handles::{Handle, Kind, Object};
use crate::status::{INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::thread;

/// A created stream.
pub(crate) struct Stream {
    pub(crate) queue: QueueId,
    pub(crate) context: Handle<Context>,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// What `cuStreamGetId` shows.
    pub(crate) id: u64,
}

impl Object for Stream {
    const KIND: Kind = Kind::Stream;
    const ORPHANED: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
}

/// `CU_STREAM_LEGACY`.
pub(crate) const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`.
pub(crate) const PER_THREAD: u64 = 2;

/// The queue behind a stream argument. A default stream is made when it is first used.
pub(crate) fn queue_of(call: &Call<'_>, world: &mut Guard<'_>, raw: u64) -> Status<QueueId> {
    match raw {
        0 if call.is_per_thread() => per_thread_queue(call, world),
        0 | LEGACY => legacy_queue(call, world),
        PER_THREAD => per_thread_queue(call, world),
        bits => {
            let stream = call.object(&world.streams, Handle::from_bits(bits), INVALID_HANDLE)?;
            let (queue, context) = (stream.queue, stream.context);
            if world.contexts.get(context).is_none() {
                return Err(call.refuse(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED, "the stream's context is gone"));
            }
            Ok(queue)
        }
    }
}

fn legacy_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let handle = call.context(world)?;
    let world = &mut **world;
    let Some(context) = world.contexts.get_mut(handle) else { return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) };
    let device = context.device;
    Ok(*context.legacy.get_or_insert_with(|| world.engine.new_queue(handle, device)))
}

fn per_thread_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let handle = call.context(world)?;
    let world = &mut **world;
    let Some(context) = world.contexts.get_mut(handle) else { return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) };
    let device = context.device;
    if let Some(queue) = context.per_thread.get(&thread::key()) {
        return Ok(*queue);
    }
    let queue = world.engine.new_queue(handle, device);
    context.per_thread.insert(thread::key(), queue);
    context.blocking.push(queue);
    Ok(queue)
}

const NON_BLOCKING: u32 = 1;

pub(crate) fn cuStreamCreate(call: &Call<'_>, out: Ptr<CUstream>, flags: c_uint) -> Status {
    out.required()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 1 is known")));
    }
    let mut guard = call.world();
    let handle = call.context(&guard)?;
    let world = &mut *guard;
    let id = world.next_stream_id();
    let Some(context) = world.contexts.get_mut(handle) else { return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) };
    let queue = world.engine.new_queue(handle, context.device);
    let stream = Stream { queue, context: handle, flags, priority: 0, id };
    let stream = world.streams.insert(stream).ok_or(OUT_OF_MEMORY)?;
    context.streams.insert(stream);
    if flags & NON_BLOCKING == 0 { &mut context.blocking } else { &mut context.independent }.push(queue);
    out.write(stream.as_raw())
}

pub(crate) fn cuStreamDestroy_v2(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    let mut guard = call.world();
    let handle = Handle::from_bits(stream.address());
    call.object(&guard.streams, handle, INVALID_HANDLE)?;
    let world = &mut *guard;
    let Some(stream) = world.streams.remove(handle) else { return Err(INVALID_HANDLE) };
    if let Some(context) = world.contexts.get_mut(stream.context) {
        context.streams.remove(&handle);
        context.blocking.retain(|queue| *queue != stream.queue);
        context.independent.retain(|queue| *queue != stream.queue);
    }
    world.engine.retire_queue(stream.queue);
    Ok(())
}

pub(crate) fn cuStreamSynchronize(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let context = world.engine.queue(queue).context;
    let tail = world.engine.tail(queue);
    call.wait(&mut world, tail.as_slice())?;
    world.saw_queue(queue);
    world.healthy(context)
}
