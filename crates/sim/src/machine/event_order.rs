//! Event ordering: records after all work of a queue, and waits for the newest record.

use smallvec::SmallVec;
use warploom_engine::{OpId, Period, QueueId, settle};

use crate::ffi::handle::EventHandle;
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::clock::Clock;
use crate::machine::event::{Event, Record};
use crate::machine::objects::Objects;
use crate::machine::world::{Work, World};
use crate::memory::RecordToken;
use crate::trace::Activity;

impl World {
    /// The events.
    pub(crate) fn events(&self) -> &Objects<Event> {
        &self.events
    }

    /// The events, for changes of a single one.
    pub(crate) fn events_mut(&mut self) -> &mut Objects<Event> {
        &mut self.events
    }

    /// Records an event behind all work of a queue.
    pub(crate) fn record_event(&mut self, queue: QueueId, handle: EventHandle) -> Status {
        let context = self.engine.queue(queue).owner.context;
        self.healthy(context)?;
        self.publish_clock(queue, handle);
        let shared = self.begin_shared_record(handle)?;
        let token = shared.as_ref().map_or(RecordToken::NONE, |record| record.token());
        let before = self.dependencies_of_next(context, queue);
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
            Record {
                op: None,
                serial,
                time: Some(time),
                follows_fault: self.fault_of(context).is_some(),
                token,
                is_foreign: false,
            }
        } else {
            let op = self.add(queue, &before, Work::Record { event: handle, serial, shared }, now);
            Record { op: Some(op), serial, time: None, follows_fault: false, token, is_foreign: false }
        };
        let Some(event) = self.events.get_mut(handle) else { return Err(INVALID_HANDLE) };
        event.record = Some(record);
        event.clock.copy_from(&self.engine.queue(queue).clock);
        settle(self);
        Ok(())
    }

    /// Orders later work of a queue behind the newest record of an event. Returns true if that took an op.
    ///
    /// In the legacy default stream a wait is an op like any other: it comes after all work in the blocking
    /// streams, and they come after it. In another stream it delays later work of that stream only, and does
    /// not itself wait for the legacy stream.
    pub(crate) fn wait_for_event(&mut self, queue: QueueId, handle: EventHandle) -> Status<bool> {
        let context = self.engine.queue(queue).owner.context;
        self.healthy(context)?;
        self.adopt_foreign_record(handle);
        let Some(event) = self.events.get(handle) else { return Err(INVALID_HANDLE) };
        let Some(record) = event.record else { return Ok(false) };
        self.engine.queue_mut(queue).clock.join(&event.clock);
        let pending = record.op.filter(|_| record.time.is_none());
        // Ops in the same queue come first anyway.
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

    /// Notes in the trace that an op waits for another, if it does.
    fn note_wait(&self, join: OpId, other: Option<OpId>, activity: Activity) {
        if let (Some(trace), Some(_), Some(op)) = (&self.trace, other, self.engine.op(join)) {
            trace.waits(join, activity, op.earliest);
        }
    }

    /// Notes that a host thread saw an event's record complete.
    pub(crate) fn host_saw_event(&mut self, event: EventHandle) {
        if let Some(Record { time: Some(time), .. }) = self.events.get(event).and_then(|event| event.record) {
            self.clock.host_saw(time);
        }
    }

    /// Notes that a host thread knows the work before an event's record to be complete.
    pub(crate) fn host_learns_event(&mut self, event: EventHandle) {
        let World { events, engine, .. } = self;
        if let Some(event) = events.get(event) {
            engine.timelines.host_learns(&event.clock.known);
        }
        self.tell_processes();
    }
}
