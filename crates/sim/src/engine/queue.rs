//! What a stream is to the engine: a chain of ops.

use super::{Engine, OpId, OrderClock};
use crate::context::Context;
use crate::handles::Handle;

/// Names a queue; stays unique when its place is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct QueueId {
    index: u32,
    generation: u32,
}

impl QueueId {
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }
}

pub(crate) struct Queue {
    generation: u32,
    pub(crate) context: Handle<Context>,
    pub(crate) device: u16,
    /// The newest op, if it is unfinished.
    pub(crate) tail: Option<OpId>,
    /// Virtual time at which its last finished op ended.
    pub(crate) busy_until: u64,
    /// What is ordered before the next op.
    pub(crate) clock: OrderClock,
    /// Its stream is gone; it goes when its last op is done.
    pub(super) retired: bool,
}

impl Engine {
    pub(crate) fn new_queue(&mut self, context: Handle<Context>, device: u16) -> QueueId {
        match self.free_queues.pop() {
            Some(index) => {
                let queue = &mut self.queues[index as usize];
                let count = queue.clock.stamp();
                *queue = Queue {
                    generation: queue.generation.wrapping_add(1),
                    context,
                    device,
                    tail: None,
                    busy_until: 0,
                    clock: OrderClock::of_queue(index as usize, count),
                    retired: false,
                };
                QueueId { index, generation: queue.generation }
            }
            None => {
                let index = self.queues.len();
                self.queues.push(Queue {
                    generation: 0,
                    context,
                    device,
                    tail: None,
                    busy_until: 0,
                    clock: OrderClock::of_queue(index, 0),
                    retired: false,
                });
                QueueId { index: index as u32, generation: 0 }
            }
        }
    }

    /// Lets a queue go once its ops are done.
    pub(crate) fn retire_queue(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        queue.retired = true;
        if queue.tail.is_none() {
            self.free_queue(id);
        }
    }

    pub(super) fn free_queue(&mut self, id: QueueId) {
        self.free_queues.push(id.index);
    }

    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(crate) fn queue_mut(&mut self, id: QueueId) -> &mut Queue {
        &mut self.queues[id.index()]
    }

    /// The newest op of a queue, unless all of them are done.
    pub(crate) fn tail(&self, id: QueueId) -> Option<OpId> {
        self.queue(id).tail
    }

    /// The newest unfinished op of every queue, those of destroyed streams included: when these are done, so is
    /// everything that is enqueued now.
    pub(crate) fn all_tails(&self) -> impl Iterator<Item = OpId> {
        self.queues.iter().filter_map(|queue| queue.tail)
    }

    /// The newest unfinished op of every queue of a context, also of those whose streams are gone.
    pub(crate) fn tails_of(&self, context: Handle<Context>) -> impl Iterator<Item = OpId> {
        self.queues.iter().filter(move |queue| queue.context == context).filter_map(|queue| queue.tail)
    }

    /// The stamp that the queue's next op will have.
    pub(crate) fn next_stamp(&self, id: QueueId) -> u64 {
        self.queue(id).clock.stamp() + 1
    }

    /// Orders everything that is before `earlier`'s next op before `later`'s next op.
    pub(crate) fn join_queue_clock(&mut self, later: QueueId, earlier: QueueId) {
        if later == earlier {
            return;
        }
        let clock = std::mem::take(&mut self.queue_mut(later).clock);
        let mut joined = clock;
        joined.join(&self.queue(earlier).clock);
        self.queue_mut(later).clock = joined;
    }
}
