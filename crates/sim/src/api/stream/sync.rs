//! Stream synchronisation: cuStreamQuery, cuStreamSynchronize and cuStreamWaitEvent.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_engine::QueueId;
use warploom_sys::types::{CUevent_st, CUresult, CUstream_st};

use crate::api::event;
use crate::ffi::Ptr;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, INVALID_VALUE, NOT_READY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::NodeWork;

pub(crate) fn cuStreamQuery(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    check_wait(call, &mut world, queue)?;
    let context = world.queue(queue).owner.context;
    let outstanding = world.outstanding(queue);
    let is_idle = call.core().query(&mut world, &outstanding);
    world.look(context)?;
    if !is_idle {
        return Err(NOT_READY);
    }
    let known = world.known_when_idle(queue);
    world.host_learns(&known);
    world.host_saw_idle(queue);
    Ok(())
}

pub(crate) fn cuStreamSynchronize(call: &Call<'_>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    check_wait(call, &mut world, queue)?;
    let context = world.queue(queue).owner.context;
    let (outstanding, known) = (world.outstanding(queue), world.known_when_idle(queue));
    call.wait(&mut world, &outstanding)?;
    world.host_learns(&known);
    world.host_saw_idle(queue);
    world.saw_queue(queue);
    world.look(context)
}

/// Refuses to wait for a captured stream, or for any stream if a capture forbids waits.
fn check_wait(call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId) -> Status {
    if world.captures().hold(queue) {
        world.captures_mut().spoil(queue);
        return Err(call.refuse(CAPTURE_UNSUPPORTED, "the stream is being captured, and its capture is invalid now"));
    }
    call.check_legacy(world, queue)?;
    call.check_unsafe(world)
}

/// `CU_EVENT_WAIT_EXTERNAL`: only while a stream is captured.
const EXTERNAL: u32 = 1;

pub(crate) fn cuStreamWaitEvent(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    event: Ptr<CUevent_st>,
    flags: c_uint,
) -> Status {
    if flags > EXTERNAL {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known")));
    }
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let event = event::find(call, &world, event.address())?;
    if flags == EXTERNAL {
        if world.captures().hold(queue) {
            return call.capture_node(&mut world, queue, NodeWork::WaitEvent(event));
        }
        let reason = "an external wait is a node of a captured graph, and the stream is not captured";
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    call.check_legacy(&mut world, queue)?;
    if call.wait_captured(&mut world, queue, event)? {
        return Ok(());
    }
    if world.wait_for_event(queue, event)? {
        call.get_going(&mut world, queue)?;
    }
    Ok(())
}
