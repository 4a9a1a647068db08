//! Event ordering: records after all work of a queue, and waits for the newest record.

use smallvec::SmallVec;
use warploom_engine::{OpId, Period, QueueId, settle};

use crate::ffi::handle::EventHandle;
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::clock::Clock;
use crate::machine::event::{Event, Record};
use crate::machine::objects::Objects;
use crate::machine::world::{Work, World};
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
        let earlier = self.earlier_records(handle);
        let shared = self.begin_shared_record(handle)?;
        let mut before = self.dependencies_of_next(context, queue);
        for op in earlier.into_iter().flatten() {
            before.push(op);
        }
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
            Record { op: None, serial, time: Some(time), follows_fault: self.fault_of(context).is_some() }
        } else {
            let op = self.add(queue, &before, Work::Record { event: handle, serial, shared }, now);
            Record { op: Some(op), serial, time: None, follows_fault: false }
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
        let elsewhere = self.await_others(handle);
        self.learn_from_others(handle);
        let Some(event) = self.events.get(handle) else { return Err(INVALID_HANDLE) };
        let (serial, time) = event.record.map_or((0, None), |record| (record.serial, record.time));
        let pending = event.record.and_then(|record| record.op).filter(|_| time.is_none());
        if event.record.is_some() || event.shared.is_some() {
            self.engine.queue_mut(queue).clock.join(&event.clock);
        }
        if event.record.is_none() && elsewhere.is_none() {
            return Ok(false);
        }
        // Ops in the same queue come first anyway.
        let other = pending.filter(|op| self.engine.op(*op).is_some_and(|op| op.queue != queue));
        let activity = Activity::Wait { event: handle.bits(), serial };
        if let (Some(trace), Some(reached)) = (&self.trace, time) {
            let start = self.engine.busy_until(queue).max(self.clock.now());
            let queue = self.engine.queue(queue);
            trace.passed(queue.owner.device, queue.owner.traits.id, Period { start, end: reached }, activity);
        }
        self.engine.delay(queue, time.unwrap_or(0));
        let others: SmallVec<[OpId; 2]> = other.into_iter().chain(elsewhere).collect();
        let legacy = self.contexts.get(context).and_then(|context| context.legacy);
        if legacy == Some(queue) || others.is_empty() && self.planned_failures.is_planned() {
            let join = self.add_after(queue, &others, Work::Join)?;
            self.note_wait(join, other, activity);
            settle(self);
            return Ok(true);
        }
        let now = self.clock.host_call();
        if !others.is_empty() {
            let mut before = SmallVec::new();
            self.order_behind_gates(context, queue, &mut before);
            before.extend_from_slice(&others);
            let join = self.add(queue, &before, Work::Join, now);
            self.note_wait(join, other, activity);
        }
        if let Some(legacy) = legacy.filter(|_| !self.engine.queue(queue).owner.traits.is_non_blocking()) {
            self.engine.note_recent(legacy, queue);
        }
        Ok(!others.is_empty())
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
