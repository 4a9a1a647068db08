//! Record, query and synchronisation of events: cuEventRecord, cuEventQuery, cuEventSynchronize.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;
use std::sync::atomic::Ordering;

use warploom_engine::QueueId;
use warploom_sys::types::{CUevent_st, CUresult, CUstream_st};

use super::find;
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, NOT_READY, OUT_OF_RESOURCES, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::event::Event;
use crate::machine::world::World;

pub(crate) fn cuEventRecord(call: &Call<'_>, event: Ptr<CUevent_st>, stream: Ptr<CUstream_st>) -> Status {
    record(call, event, stream, false)
}

fn record(call: &Call<'_>, event: Ptr<CUevent_st>, stream: Ptr<CUstream_st>, is_external: bool) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let handle = find(call, &world, event.address())?;
    let context = world.queue(queue).owner.context;
    if world.events().get(handle).is_none_or(|event| event.context != context) {
        return Err(call.refuse(INVALID_HANDLE, "the event and the stream are of different contexts"));
    }
    if world.captures().hold(queue) {
        return call.record_captured(&mut world, queue, handle, is_external);
    }
    if is_external {
        let reason = "an external record is a node of a captured graph, and the stream is not captured";
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    record_after_work(call, &mut world, (queue, stream), handle)
}

/// Records an event behind all work of a stream that is not captured.
pub(crate) fn record_after_work(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    (queue, stream): (QueueId, Ptr<CUstream_st>),
    handle: EventHandle,
) -> Status {
    call.check_legacy(world, queue)?;
    match world.record_event(queue, handle) {
        Err(OUT_OF_RESOURCES) => {
            // As many records are in flight as other processes can see; the oldest are waited for.
            let pending = world.events().get(handle).and_then(|event| event.record?.op);
            call.wait(world, pending.as_slice())?;
            let queue = call.queue(world, stream)?;
            let again = world.record_event(queue, handle);
            again.map_err(|code| call.refuse(code, "other processes have too many records of the event in flight"))?;
        }
        recorded => recorded?,
    }
    call.get_going(world, queue)?;
    call.publish_record(world, handle);
    Ok(())
}

/// `CU_EVENT_RECORD_EXTERNAL`: only while a stream is captured.
pub(crate) const EXTERNAL: u32 = 1;

pub(crate) fn cuEventRecordWithFlags(
    call: &Call<'_>,
    event: Ptr<CUevent_st>,
    stream: Ptr<CUstream_st>,
    flags: c_uint,
) -> Status {
    match flags {
        0 | EXTERNAL => record(call, event, stream, flags == EXTERNAL),
        _ => Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known"))),
    }
}

pub(crate) fn cuEventQuery(call: &Call<'_>, event: Ptr<CUevent_st>) -> Status {
    let mut world = call.world();
    let handle = find(call, &world, event.address())?;
    call.check_event(&mut world, handle, true)?;
    call.check_unsafe(&mut world)?;
    let Some(Event { context, record, .. }) = world.events().get(handle) else { return Err(INVALID_HANDLE) };
    let (context, pending) = (*context, record.filter(|record| record.time.is_none()).and_then(|record| record.op));
    let is_reached = pending.is_none_or(|op| call.core().query(&mut world, &[op]));
    let is_pending_elsewhere = world.is_pending_elsewhere(handle);
    if is_pending_elsewhere && pending.is_none() {
        // Another handle of this process may have made the record.
        call.core().query(&mut world, &[]);
    }
    learn(&mut world, context, handle, pending.is_some())?;
    if !is_reached || is_pending_elsewhere {
        return Err(NOT_READY);
    }
    world.learn_from_others(handle);
    world.host_saw_event(handle);
    world.host_learns_event(handle);
    Ok(())
}

pub(crate) fn cuEventSynchronize(call: &Call<'_>, event: Ptr<CUevent_st>) -> Status {
    let mut world = call.world();
    let handle = find(call, &world, event.address())?;
    call.check_event(&mut world, handle, true)?;
    call.check_unsafe(&mut world)?;
    if let Some((op, given_up)) = world.await_others_or_flag(handle) {
        let waited = call.wait(&mut world, &[op]);
        given_up.store(true, Ordering::Relaxed);
        waited?;
    }
    world.learn_from_others(handle);
    let Some(Event { context, record, clock, .. }) = world.events().get(handle) else { return Err(INVALID_HANDLE) };
    let (context, op, known) = (*context, record.and_then(|record| record.op), clock.known.clone());
    call.wait(&mut world, op.as_slice())?;
    world.host_learns(&known);
    world.host_saw_event(handle);
    world.saw_event(handle);
    learn(&mut world, context, handle, op.is_some())
}

/// Fails with the fault of an event's context, if the host knows of it, or learns of it now: by waiting for
/// the event, or by seeing it reached after the fault.
fn learn(world: &mut World, context: ContextHandle, event: EventHandle, waits: bool) -> Status {
    let record = world.events().get(event).and_then(|event| event.record);
    if waits || record.is_some_and(|record| record.follows_fault) {
        world.look(context)
    } else {
        world.healthy(context)
    }
}
