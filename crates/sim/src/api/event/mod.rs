//! Events: points in a queue, and the virtual time at which they were reached.
//!
//! A record is an op like any other, unless its queue is idle: then it is done on the spot. A wait captures the newest
//! record when the wait is called; recording again, or destroying the event, changes nothing for those who already wait.

mod elapsed;
mod record;

pub(crate) use elapsed::{cuEventElapsedTime, cuEventElapsedTime_v2};
pub(crate) use record::{
    cuEventCreate, cuEventDestroy_v2, cuEventQuery, cuEventRecord, cuEventRecordWithFlags, cuEventSynchronize,
};

use smallvec::SmallVec;
use warploom_engine::{OpId, Period, QueueId, settle};
use warploom_sys::types::CUresult;

use crate::check::HandleProblem;
use crate::ffi::handle::{EventHandle, Handle, Kind};
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::clock::Clock;
use crate::machine::event::Record;
use crate::machine::world::{Work, World};
use crate::trace::Activity;

/// The event behind an argument, if its context is alive. The driver says of an event that is destroyed, and of a handle
/// to something else, that its context is.
pub(crate) fn find(call: &Call<'_>, world: &World, bits: u64) -> Status<EventHandle> {
    let handle = Handle::from_bits(bits);
    let gone = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;
    match world.events.get(handle) {
        Some(event) if world.contexts.get(event.context).is_some() => Ok(handle),
        Some(_) => {
            call.report_misuse(&world.events, handle, HandleProblem::Orphaned);
            Err(call.refuse(gone, format!("the context of event {handle:?} has been destroyed")))
        }
        None => {
            let was_something = Kind::ALL.into_iter().any(|kind| handle.names_some(kind));
            Err(call
                .refuse(if was_something { gone } else { INVALID_HANDLE }, call.found_misuse(&world.events, handle)))
        }
    }
}

impl World {
    /// Records an event behind everything a queue has.
    pub(crate) fn record_event(&mut self, queue: QueueId, handle: EventHandle) -> Status {
        let context = self.engine.queue(queue).owner.context;
        self.healthy(context)?;
        let before = self.what_comes_before(context, queue);
        let now = self.clock.host_call();
        let Some(event) = self.events.get_mut(handle) else { return Err(INVALID_HANDLE) };
        let serial = event.next_serial();
        event.captured = None;
        let is_idle = self.engine.tail(queue).is_none() && before.iter().all(|op| self.engine.is_done(*op));
        let record = if is_idle && self.engine.finishes_instants_at_once() && !self.planned_failures.is_planned() {
            let start = self.engine.busy_until(queue).max(now);
            let time = Clock::record(start);
            self.engine.pass(queue, time);
            if let Some(trace) = &self.trace {
                let queue = self.engine.queue(queue);
                let activity = Activity::Record { event: handle.bits(), serial };
                trace.passed(queue.owner.device, queue.owner.traits.id, Period { start, end: time }, activity);
            }
            Record { op: None, serial, time: Some(time) }
        } else {
            let op = self.add(queue, &before, Work::Record { event: handle, serial }, now);
            Record { op: Some(op), serial, time: None }
        };
        let Some(event) = self.events.get_mut(handle) else { return Err(INVALID_HANDLE) };
        event.record = Some(record);
        event.clock.copy_from(&self.engine.queue(queue).clock);
        settle(self);
        Ok(())
    }

    /// Puts everything that comes next in a queue behind the newest record of an event; whether that took an op.
    ///
    /// In the legacy default stream a wait is work like any other: it comes after everything in the blocking streams, and
    /// they after it. In another stream it holds up what comes next there, and is not held up by the legacy stream itself.
    pub(crate) fn wait_for_event(&mut self, queue: QueueId, handle: EventHandle) -> Status<bool> {
        let context = self.engine.queue(queue).owner.context;
        self.healthy(context)?;
        let Some(event) = self.events.get(handle) else { return Err(INVALID_HANDLE) };
        let Some(record) = event.record else { return Ok(false) };
        self.engine.queue_mut(queue).clock.join(&event.clock);
        let pending = record.op.filter(|_| record.time.is_none());
        // What is in the queue already is waited for anyway.
        let other = pending.filter(|op| self.engine.op(*op).is_some_and(|op| op.queue != queue));
        let activity = Activity::Wait { event: handle.bits(), serial: record.serial };
        if let (Some(trace), Some(reached)) = (&self.trace, record.time) {
            let start = self.engine.busy_until(queue).max(self.clock.now());
            let queue = self.engine.queue(queue);
            trace.passed(queue.owner.device, queue.owner.traits.id, Period { start, end: reached }, activity);
        }
        self.engine.delay(queue, record.time.unwrap_or(0));
        let legacy = self.contexts.get(context).and_then(|context| context.legacy);
        if legacy == Some(queue) || other.is_none() && self.planned_failures.is_planned() {
            let join = self.add_after(queue, other.as_slice(), Work::Join)?;
            self.note_wait(join, other, activity);
            settle(self);
            return Ok(true);
        }
        let now = self.clock.host_call();
        if let Some(op) = other {
            let mut before = SmallVec::new();
            self.order_behind_gates(context, queue, &mut before);
            before.push(op);
            let join = self.add(queue, &before, Work::Join, now);
            self.note_wait(join, other, activity);
        }
        if let Some(legacy) = legacy.filter(|_| !self.engine.queue(queue).owner.traits.is_non_blocking()) {
            self.engine.note_recent(legacy, queue);
        }
        Ok(other.is_some())
    }

    /// Tells the trace that an op is a wait for another, if it is.
    fn note_wait(&self, join: OpId, other: Option<OpId>, activity: Activity) {
        if let (Some(trace), Some(_), Some(op)) = (&self.trace, other, self.engine.op(join)) {
            trace.waits(join, activity, op.earliest);
        }
    }
}
