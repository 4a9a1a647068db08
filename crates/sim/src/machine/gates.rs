//! Events of whole contexts: records behind all work of a context, and gates, which are ops that all its
//! later work depends on.

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{INVALID_CONTEXT, INVALID_HANDLE, Status};
use crate::machine::context::Context;
use crate::machine::event::Event;
use crate::machine::stream::{LOWEST_PRIORITY, NON_BLOCKING, Traits};
use crate::machine::world::{Work, World};

impl World {
    /// Orders the next op of a queue behind its context's gates.
    #[inline]
    pub(crate) fn order_behind_gates(
        &mut self,
        context: ContextHandle,
        queue: QueueId,
        before: &mut SmallVec<[OpId; 4]>,
    ) {
        let Some(context) = self.contexts.get_mut(context) else { return };
        let Some(clock) = &context.gate_clock else { return };
        self.engine.queue_mut(queue).clock.join(clock);
        context.gates.retain(|gate| !self.engine.is_done(*gate));
        before.extend(context.gates.iter().copied());
    }

    /// Records an event behind all earlier work of a context. Returns the queue of the record.
    pub(crate) fn record_on_context(&mut self, handle: ContextHandle, event: EventHandle) -> Status<QueueId> {
        let pending = self.pending(handle);
        let Some(context) = self.contexts.get_mut(handle) else { return Err(INVALID_CONTEXT) };
        let device = context.device;
        let marks = match context.marks {
            Some(marks) => marks,
            None => {
                let traits = Traits::new(self.next_stream_id(), NON_BLOCKING, LOWEST_PRIORITY);
                let marks = self.new_queue(handle, device, traits);
                if let Some(context) = self.contexts.get_mut(handle) {
                    context.marks = Some(marks);
                }
                marks
            }
        };
        let queues: SmallVec<[QueueId; 8]> = self.contexts.get(handle).into_iter().flat_map(Context::queues).collect();
        for queue in queues {
            self.engine.join_queue_clock(marks, queue);
            self.engine.delay(marks, self.engine.busy_until(queue));
        }
        self.enqueue_after(marks, &pending, Work::Join)?;
        self.record_event(marks, event)?;
        Ok(marks)
    }

    /// Makes all present and future queues of a context wait for an event's newest record. Returns the queues
    /// that wait now.
    pub(crate) fn gate_behind_event(
        &mut self,
        context: ContextHandle,
        event: EventHandle,
    ) -> Status<SmallVec<[QueueId; 8]>> {
        let others = self.await_others(event);
        self.learn_from_others(event);
        let Some(Event { record, clock, .. }) = self.events.get(event) else { return Err(INVALID_HANDLE) };
        if record.is_none() && others.is_none() {
            return Ok(SmallVec::new());
        }
        let Some(waiting) = self.contexts.get_mut(context) else { return Err(INVALID_CONTEXT) };
        waiting.gates.extend(record.and_then(|record| record.op).into_iter().chain(others));
        waiting.gate_clock.get_or_insert_default().join(clock);
        let queues: SmallVec<[QueueId; 8]> = waiting.queues().collect();
        for queue in &queues {
            self.wait_for_event(*queue, event)?;
        }
        Ok(queues)
    }
}
