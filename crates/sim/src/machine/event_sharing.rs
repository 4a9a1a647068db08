//! Events for several processes: records that other processes see, and theirs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{INVALID_HANDLE, OUT_OF_RESOURCES, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::stream::{LOWEST_PRIORITY, NON_BLOCKING, Traits};
use crate::machine::world::{Work, World};
use crate::memory::PendingRecord;

impl World {
    /// Tells processes that wait for the next record of an event what comes before it, if the machine checks.
    /// The records of other processes still count, so what comes before them stays.
    pub(super) fn publish_clock(&mut self, queue: QueueId, handle: EventHandle) {
        let shared = self.events.get(handle).and_then(|event| event.shared.clone());
        if let Some(shared) = shared.filter(|_| self.checker.is_on()) {
            let mut known = self.known_before_next(queue);
            known.join(&self.processes.recorded(&mut self.engine.timelines, shared.object()));
            self.processes.record(shared.object(), &known);
        }
    }

    /// Adds to the clock of an event what comes before the records of other processes, if the machine checks.
    pub(crate) fn learn_from_others(&mut self, handle: EventHandle) {
        let World { events, engine, processes, checker, .. } = self;
        let Some(event) = events.get_mut(handle).filter(|_| checker.is_on()) else { return };
        if let Some(shared) = &event.shared {
            event.clock.known.join(&processes.recorded(&mut engine.timelines, shared.object()));
        }
    }

    /// Makes a record that other processes see, of an event for several processes; none for another event.
    pub(super) fn begin_shared_record(&mut self, handle: EventHandle) -> Status<Option<Box<PendingRecord>>> {
        let event = self.events.get(handle).ok_or(INVALID_HANDLE)?;
        let Some(shared) = &event.shared else { return Ok(None) };
        shared.begin().map(|record| Some(Box::new(record))).ok_or(OUT_OF_RESOURCES)
    }

    /// The records of an event for several processes that its next record is behind, of any process; for
    /// another event there are none. They are not reached, or were not a moment ago.
    pub(super) fn earlier_records(&mut self, handle: EventHandle) -> [Option<OpId>; 2] {
        let Some(event) = self.events.get(handle).filter(|event| event.shared.is_some()) else { return [None; 2] };
        let own = event.record.filter(|record| record.time.is_none()).and_then(|record| record.op);
        [own, self.await_others(handle)]
    }

    /// An op that waits for the records of other processes, if an event for several processes has any that is
    /// not reached.
    pub(crate) fn await_others(&mut self, handle: EventHandle) -> Option<OpId> {
        self.await_others_or_flag(handle).map(|(op, _)| op)
    }

    /// As [`World::await_others`], with a flag that ends the op.
    pub(crate) fn await_others_or_flag(&mut self, handle: EventHandle) -> Option<(OpId, Arc<AtomicBool>)> {
        let event = self.events.get(handle)?;
        let records = event.shared.as_ref()?.pending_elsewhere()?;
        let (context, given_up) = (event.context, records.given_up());
        let op = self.await_records(context, Work::AwaitRecords { event: handle, records: Box::new(records) })?;
        Some((op, given_up))
    }

    /// Enqueues a wait in a queue of its own, because it is ordered behind nothing.
    fn await_records(&mut self, context: ContextHandle, work: Work) -> Option<OpId> {
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

    /// `true` if an event has a record of another process that is not reached.
    pub(crate) fn is_pending_elsewhere(&self, handle: EventHandle) -> bool {
        let shared = self.events.get(handle).and_then(|event| event.shared.as_ref());
        shared.is_some_and(|shared| shared.pending_elsewhere().is_some())
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
