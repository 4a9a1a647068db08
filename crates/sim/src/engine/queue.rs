//! What a stream is to the engine: a chain of ops.

use smallvec::SmallVec;

use super::{Engine, OpId, OrderClock};
use crate::api::stream::Traits;
use crate::check::Known;
use crate::ffi::handle::ContextHandle;

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
    pub(crate) context: ContextHandle,
    pub(crate) device: u16,
    /// What a program can ask its stream about.
    pub(crate) traits: Traits,
    /// The oldest unfinished op.
    pub(super) head: Option<OpId>,
    /// The newest op, if it is unfinished.
    pub(crate) tail: Option<OpId>,
    /// Virtual time before which nothing more can start: its last finished op ended then, or something it waited for.
    pub(crate) busy_until: u64,
    /// What is ordered before the next op.
    pub(crate) clock: OrderClock,
    /// Its newest op comes after the newest one of its context's legacy default stream.
    has_followed: bool,
    /// It stands in that stream's list.
    is_recent: bool,
    /// Of a legacy default stream: the blocking queues that got an op, or waited for an event, after its own newest op.
    recent: Vec<QueueId>,
    /// Its stream is gone; it goes when its last op is done.
    retired: bool,
    /// What it was last told of the host's knowledge.
    told: u64,
    /// Waits for values in memory that are not over.
    value_waits: u32,
    /// The last walk that came by.
    pub(super) walked: u64,
}

impl Queue {
    fn new((generation, clock): (u32, OrderClock), context: ContextHandle, device: u16, traits: Traits) -> Self {
        Self {
            generation,
            context,
            device,
            traits,
            head: None,
            tail: None,
            busy_until: 0,
            clock,
            has_followed: false,
            is_recent: false,
            recent: Vec::new(),
            retired: false,
            told: 0,
            value_waits: 0,
            walked: 0,
        }
    }
}

#[cfg(test)]
impl Queue {
    pub(super) fn recent_len(&self) -> usize {
        self.recent.len()
    }
}

impl Engine {
    pub(crate) fn new_queue(&mut self, context: ContextHandle, device: u16, traits: Traits) -> QueueId {
        let known = self.timelines.start();
        match self.free_queues.pop() {
            Some(index) => {
                let queue = &mut self.queues[index as usize];
                let generation = queue.generation;
                let clock = OrderClock::of_queue(index as usize, queue.clock.stamp(), known);
                *queue = Queue::new((generation, clock), context, device, traits);
                QueueId { index, generation }
            }
            None => {
                let index = self.queues.len() as u32;
                let clock = OrderClock::of_queue(index as usize, 0, known);
                self.queues.push(Queue::new((0, clock), context, device, traits));
                QueueId { index, generation: 0 }
            }
        }
    }

    /// Lets a queue go once its ops are done.
    pub(crate) fn retire_queue(&mut self, id: QueueId) {
        if self.is_live(id) {
            self.queue_mut(id).retired = true;
            self.free_if_idle(id);
        }
    }

    /// Frees a retired queue that has nothing left to do. From then on its id names nothing.
    pub(super) fn free_if_idle(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        if queue.retired && queue.tail.is_none() {
            queue.generation = queue.generation.wrapping_add(1);
            queue.recent = Vec::new();
            let known = std::mem::take(&mut queue.clock.known);
            self.timelines.end(&known);
            self.free_queues.push(id.index);
        }
    }

    /// Whether the queue exists; a retired one does until its last op is done.
    pub(crate) fn is_live(&self, id: QueueId) -> bool {
        self.queues.get(id.index()).is_some_and(|queue| queue.generation == id.generation)
    }

    pub(crate) fn queue(&self, id: QueueId) -> &Queue {
        &self.queues[id.index()]
    }

    pub(crate) fn queue_mut(&mut self, id: QueueId) -> &mut Queue {
        &mut self.queues[id.index()]
    }

    /// The newest op of a queue, unless all of them are done.
    pub(crate) fn tail(&self, id: QueueId) -> Option<OpId> {
        self.queues.get(id.index()).filter(|queue| queue.generation == id.generation)?.tail
    }

    /// Virtual time at which everything that is done of a queue was done.
    pub(crate) fn busy_until(&self, id: QueueId) -> u64 {
        if self.is_live(id) { self.queue(id).busy_until } else { 0 }
    }

    /// Nothing more starts in a queue before virtual time `time`.
    pub(crate) fn delay(&mut self, id: QueueId, time: u64) {
        let queue = self.queue_mut(id);
        queue.busy_until = queue.busy_until.max(time);
    }

    /// The newest unfinished op of every queue, those of destroyed streams included: when these are done, so is
    /// everything that is enqueued now.
    pub(crate) fn all_tails(&self) -> impl Iterator<Item = OpId> {
        self.queues.iter().filter_map(|queue| queue.tail)
    }

    /// The newest unfinished op of every queue of a context, also of those whose streams are gone.
    pub(crate) fn tails_of(&self, context: ContextHandle) -> impl Iterator<Item = OpId> {
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
        let mut joined = std::mem::take(&mut self.queue_mut(later).clock);
        joined.join(&self.queue(earlier).clock);
        self.queue_mut(later).clock = joined;
    }

    /// Makes the legacy default stream's next op wait for everything in the blocking streams of its context. Only those
    /// that got something since its previous op need naming: the previous op has waited for the rest.
    pub(crate) fn follow_blocking(&mut self, legacy: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        let mut recent = std::mem::take(&mut self.queue_mut(legacy).recent);
        for queue in recent.drain(..) {
            if self.is_live(queue) {
                let blocking = self.queue_mut(queue);
                (blocking.is_recent, blocking.has_followed) = (false, false);
                self.follow(legacy, queue, before);
            }
        }
        self.queue_mut(legacy).recent = recent;
    }

    /// Makes a blocking stream's next op wait for everything in the legacy default stream. If the blocking stream got
    /// something since the legacy stream did, it already has.
    pub(crate) fn follow_legacy(&mut self, queue: QueueId, legacy: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        if !self.queue(queue).has_followed {
            self.follow(queue, legacy, before);
            self.queue_mut(queue).has_followed = true;
            self.note_recent(legacy, queue);
        }
    }

    /// Brings a queue's clock up to what the default stream's order puts before its next op, and enqueues nothing.
    pub(crate) fn catch_up(&mut self, queue: QueueId, legacy: QueueId) {
        if queue == legacy {
            let recent = std::mem::take(&mut self.queue_mut(legacy).recent);
            for other in &recent {
                if self.is_live(*other) {
                    self.join_queue_order(legacy, *other);
                }
            }
            self.queue_mut(legacy).recent = recent;
        } else if !self.queue(queue).traits.is_non_blocking() {
            self.join_queue_order(queue, legacy);
        }
    }

    fn join_queue_order(&mut self, later: QueueId, earlier: QueueId) {
        if later != earlier {
            let mut joined = std::mem::take(&mut self.queue_mut(later).clock);
            joined.join_order(&self.queue(earlier).clock);
            self.queue_mut(later).clock = joined;
        }
    }

    /// Lets a queue's next op come behind what the calling thread knows.
    pub(crate) fn tell_queue(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        let queue = &mut queues[id.index()];
        timelines.tell(&mut queue.clock.known, &mut queue.told);
    }

    /// The queue is about to write a value that others may wait for.
    pub(crate) fn release_value(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        timelines.release(&queues[id.index()].clock.known);
    }

    /// The queue has to wait for a value in memory.
    pub(crate) fn awaits_value(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        queue.value_waits += 1;
        queue.clock.known.doubt();
    }

    /// A queue's wait for a value is over.
    pub(crate) fn saw_value(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        let queue = &mut queues[id.index()];
        if queue.value_waits > 0 {
            queue.value_waits -= 1;
            if queue.value_waits == 0 {
                timelines.acquire(&mut queue.clock.known);
            }
        }
    }

    /// What whoever waits until a queue is idle learns by it.
    pub(crate) fn known_when_idle(&self, id: QueueId) -> Known {
        let mut known = self.queue(id).clock.known.clone();
        // Only the legacy default stream has recent queues, and is not idle before they are.
        for recent in &self.queue(id).recent {
            if self.is_live(*recent) {
                known.join(&self.queue(*recent).clock.known);
            }
        }
        known
    }

    /// What whoever waits for a context learns by it.
    pub(crate) fn known_of(&self, context: ContextHandle) -> Known {
        let mut known = Known::default();
        for queue in self.queues.iter().filter(|queue| queue.context == context) {
            known.join(&queue.clock.known);
        }
        known
    }

    fn follow(&mut self, later: QueueId, earlier: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        before.extend(self.tail(earlier));
        self.delay(later, self.busy_until(earlier));
        self.join_queue_clock(later, earlier);
    }

    /// The legacy default stream's next op must look at `queue`.
    pub(crate) fn note_recent(&mut self, legacy: QueueId, queue: QueueId) {
        // The place of a queue that is gone may be another's.
        if !self.is_live(queue) || std::mem::replace(&mut self.queue_mut(queue).is_recent, true) {
            return;
        }
        let mut recent = std::mem::take(&mut self.queue_mut(legacy).recent);
        // A legacy stream that is never used again would otherwise collect every stream that ever was.
        if recent.len() == recent.capacity() {
            recent.retain(|queue| self.is_live(*queue));
        }
        recent.push(queue);
        self.queue_mut(legacy).recent = recent;
    }

    /// What is unfinished in the blocking queues that a legacy default stream's next op would wait for.
    pub(crate) fn recent_tails(&self, legacy: QueueId) -> impl Iterator<Item = OpId> {
        self.queue(legacy).recent.iter().filter_map(|queue| self.tail(*queue))
    }

    /// The latest virtual time at which something was done that a legacy default stream's next op would come after.
    pub(crate) fn recent_busy_until(&self, legacy: QueueId) -> u64 {
        self.queue(legacy).recent.iter().map(|queue| self.busy_until(*queue)).max().unwrap_or(0)
    }
}
