//! Events for several processes: records that other processes see, and theirs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warploom_engine::{Moment, OpId, QueueId};

use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{INVALID_HANDLE, OUT_OF_RESOURCES, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::event::Record;
use crate::machine::stream::{LOWEST_PRIORITY, NON_BLOCKING, Traits};
use crate::machine::world::{Work, World};
use crate::memory::{AwaitedRecord, PendingRecord, RecordState};

impl World {
    /// Tells processes that wait for the next record of an event what comes before it, if the machine checks.
    pub(super) fn publish_clock(&mut self, queue: QueueId, handle: EventHandle) {
        let shared = self.events.get(handle).and_then(|event| event.shared.clone());
        if let Some(shared) = shared.filter(|_| self.checker.is_on()) {
            let known = self.known_before_next(queue);
            self.processes.record(shared.object(), &known);
        }
    }

    /// Notes that the host knows the newest record of an event to be reached, if another process made it.
    pub(crate) fn host_learns_foreign_record(&mut self, handle: EventHandle) {
        let Some((shared, _)) = self.events.get(handle).and_then(|event| event.foreign_record()) else { return };
        if self.checker.is_on() {
            let shared = Arc::clone(shared);
            let known = self.processes.recorded(&mut self.engine.timelines, shared.object());
            self.host_learns(&known);
        }
    }

    /// Makes a record that other processes see, of an event for several processes; none for another event.
    pub(super) fn begin_shared_record(&mut self, handle: EventHandle) -> Status<Option<Box<PendingRecord>>> {
        let event = self.events.get(handle).ok_or(INVALID_HANDLE)?;
        let Some(shared) = &event.shared else { return Ok(None) };
        shared.begin().map(|record| Some(Box::new(record))).ok_or(OUT_OF_RESOURCES)
    }

    /// Takes over the newest record of an event for several processes, if another process made it. A record
    /// that is not reached becomes an op that waits for it.
    pub(crate) fn adopt_foreign_record(&mut self, handle: EventHandle) {
        let Some(event) = self.events.get(handle) else { return };
        let Some((shared, token)) = event.foreign_record() else { return };
        if event.record.is_some_and(|record| record.token == token) {
            return;
        }
        let (shared, context) = (Arc::clone(shared), event.context);
        let is_reached = shared.is_reached(token);
        let now = self.clock.now();
        let Some(serial) = self.events.get_mut(handle).map(|event| event.next_serial()) else { return };
        let mut clock = Moment::default();
        if self.checker.is_on() {
            clock.known = self.processes.recorded(&mut self.engine.timelines, shared.object());
        }
        let record = Box::new(AwaitedRecord::new(shared, token));
        let op = if is_reached {
            None
        } else {
            self.await_record(context, Work::AwaitRecord { event: handle, serial, record })
        };
        let Some(event) = self.events.get_mut(handle) else { return };
        let time = is_reached.then_some(now);
        event.record = Some(Record { op, serial, time, follows_fault: false, token, is_foreign: true });
        event.clock = clock;
    }

    /// Waits for the newest record of an event, if another process made it and has not reached it. Returns the
    /// op, and a flag that ends it.
    pub(crate) fn await_foreign_record(&mut self, handle: EventHandle) -> Option<(OpId, Arc<AtomicBool>)> {
        let event = self.events.get(handle)?;
        let (shared, token) = event.foreign_record()?;
        if shared.is_reached(token) {
            return None;
        }
        let (context, record) = (event.context, Box::new(AwaitedRecord::new(Arc::clone(shared), token)));
        let given_up = record.given_up();
        // Serials start at 1: the event does not take this op for a record.
        let op = self.await_record(context, Work::AwaitRecord { event: handle, serial: 0, record })?;
        Some((op, given_up))
    }

    /// Enqueues a wait in a queue of its own, because it is ordered behind nothing.
    fn await_record(&mut self, context: ContextHandle, work: Work) -> Option<OpId> {
        let device = self.contexts.get(context)?.device;
        let (now, traits) = (self.clock.now(), Traits::new(self.next_stream_id(), NON_BLOCKING, LOWEST_PRIORITY));
        let queue = self.new_queue(context, device, traits);
        let op = self.add(queue, &[], work, now);
        self.engine.retire_queue(queue);
        Some(op)
    }

    /// Notes an op that other processes may wait for. Returns `true` if no thread goes on with such ops yet.
    pub(super) fn awaited_by_others(&mut self, op: OpId) -> bool {
        self.for_others.push(op);
        self.for_others.len() == 1
    }

    /// The ops that other processes may wait for, and that are not done.
    pub(super) fn ops_for_others(&mut self) -> Vec<OpId> {
        self.for_others.retain(|op| !self.engine.is_done(*op));
        self.for_others.clone()
    }

    /// No thread goes on with ops for other processes.
    pub(super) fn forget_awaited(&mut self) {
        self.for_others.clear();
    }

    /// Progress of the newest record of an event, if that was not made by this event here.
    pub(crate) fn foreign_progress(&self, handle: EventHandle) -> Option<RecordState> {
        let (shared, token) = self.events.get(handle)?.foreign_record()?;
        Some(shared.state(token))
    }
}

impl Call<'_> {
    /// Gets the newest record of an event for several processes done: the caller may next wait for another
    /// process outside of the driver, which waits for the record.
    pub(crate) fn publish_record(&self, world: &mut Guard<'_>, handle: EventHandle) {
        let Some(event) = world.events.get(handle).filter(|event| event.shared.is_some()) else { return };
        if let Some(op) = event.record.filter(|record| record.time.is_none()).and_then(|record| record.op) {
            self.core().run_for_others(world, op);
        }
    }
}
