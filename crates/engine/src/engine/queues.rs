//! Queues of an engine: making and retiring them, and order between them.

use smallvec::SmallVec;

use super::Engine;
use crate::id::{OpId, QueueId};
use crate::known::Known;
use crate::order::Moment;
use crate::queue::Queue;
use crate::work::Work;

impl<W: Work> Engine<W> {
    /// A new queue, whose ops the executor of `unit` runs.
    pub fn new_queue(&mut self, unit: u16, owner: W::Owner) -> QueueId {
        let known = self.timelines.start();
        match self.free_queues.pop() {
            Some(index) => {
                let queue = &mut self.queues[index as usize];
                let generation = queue.generation;
                let clock = Moment::of_queue(index, queue.clock.stamp(), known);
                *queue = Queue::new((generation, clock), unit, owner);
                QueueId { index, generation }
            }
            None => {
                let index = self.queues.len() as u32;
                let clock = Moment::of_queue(index, 0, known);
                self.queues.push(Queue::new((0, clock), unit, owner));
                QueueId { index, generation: 0 }
            }
        }
    }

    /// Lets a queue go once its ops are done.
    pub fn retire_queue(&mut self, id: QueueId) {
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

    /// Number of places for queues, those of retired queues included.
    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// Number of entries in the lists of all hubs.
    #[must_use]
    pub fn recent_count(&self) -> usize {
        self.queues.iter().map(|queue| queue.recent.len()).sum()
    }

    /// `true` if the queue exists; a retired one does until its last op is done.
    pub fn is_live(&self, id: QueueId) -> bool {
        self.queues.get(id.index()).is_some_and(|queue| queue.generation == id.generation)
    }

    /// A queue that exists.
    pub fn queue(&self, id: QueueId) -> &Queue<W::Owner> {
        &self.queues[id.index()]
    }

    /// A queue that exists.
    pub fn queue_mut(&mut self, id: QueueId) -> &mut Queue<W::Owner> {
        &mut self.queues[id.index()]
    }

    /// The newest op of a queue, unless all of them are done.
    pub fn tail(&self, id: QueueId) -> Option<OpId> {
        self.queues.get(id.index()).filter(|queue| queue.generation == id.generation)?.tail
    }

    /// Virtual time at which everything that is done of a queue was done.
    pub fn busy_until(&self, id: QueueId) -> u64 {
        if self.is_live(id) { self.queue(id).busy_until } else { 0 }
    }

    /// Nothing more starts in a queue before virtual time `time`.
    pub fn delay(&mut self, id: QueueId, time: u64) {
        let queue = self.queue_mut(id);
        queue.busy_until = queue.busy_until.max(time);
    }

    /// The newest unfinished op of every queue, those of destroyed streams included: when these are done, so
    /// is everything that is enqueued now.
    pub fn all_tails(&self) -> impl Iterator<Item = OpId> {
        self.queues.iter().filter_map(|queue| queue.tail)
    }

    /// The newest unfinished op of every queue of some owners, retired queues included.
    pub fn tails_of(&self, is_meant: impl Fn(&W::Owner) -> bool) -> impl Iterator<Item = OpId> {
        self.queues.iter().filter(move |queue| is_meant(&queue.owner)).filter_map(|queue| queue.tail)
    }

    /// The stamp that the queue's next op will have.
    pub fn next_stamp(&self, id: QueueId) -> u64 {
        self.queue(id).clock.stamp() + 1
    }

    /// Orders everything that is before `earlier`'s next op before `later`'s next op.
    pub fn join_queue_clock(&mut self, later: QueueId, earlier: QueueId) {
        if later == earlier {
            return;
        }
        let mut joined = std::mem::take(&mut self.queue_mut(later).clock);
        joined.join(&self.queue(earlier).clock);
        self.queue_mut(later).clock = joined;
    }

    /// Makes a hub's next op wait for everything in its spokes. Only those that got an op since the hub's
    /// previous one need naming: the previous one has waited for the rest.
    pub fn follow_spokes(&mut self, hub: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        let mut recent = std::mem::take(&mut self.queue_mut(hub).recent);
        for queue in recent.drain(..) {
            if self.is_live(queue) {
                let spoke = self.queue_mut(queue);
                (spoke.is_recent, spoke.has_followed) = (false, false);
                self.follow(hub, queue, before);
            }
        }
        self.queue_mut(hub).recent = recent;
    }

    /// Makes a spoke's next op wait for everything in its hub. If the spoke got an op since the hub did, it
    /// already does.
    pub fn follow_hub(&mut self, queue: QueueId, hub: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        if !self.queue(queue).has_followed {
            self.follow(queue, hub, before);
            self.queue_mut(queue).has_followed = true;
            self.note_recent(hub, queue);
        }
    }

    /// Brings the clock of a hub or of one of its spokes up to what their order puts before its next op, and
    /// enqueues nothing.
    pub fn catch_up(&mut self, queue: QueueId, hub: QueueId) {
        if queue == hub {
            let recent = std::mem::take(&mut self.queue_mut(hub).recent);
            for other in &recent {
                if self.is_live(*other) {
                    self.join_queue_order(hub, *other);
                }
            }
            self.queue_mut(hub).recent = recent;
        } else {
            self.join_queue_order(queue, hub);
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
    #[inline]
    pub fn tell_queue(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        let queue = &mut queues[id.index()];
        timelines.tell(&mut queue.clock.known, &mut queue.told);
    }

    /// The queue is about to write a value that others may wait for.
    pub fn release_value(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        timelines.release(&queues[id.index()].clock.known);
    }

    /// The queue has to wait for a value in memory.
    pub fn awaits_value(&mut self, id: QueueId) {
        let queue = self.queue_mut(id);
        queue.value_waits += 1;
        queue.clock.known.doubt();
    }

    /// A queue's wait for a value is over.
    pub fn saw_value(&mut self, id: QueueId) {
        let Self { timelines, queues, .. } = self;
        let queue = &mut queues[id.index()];
        if queue.value_waits > 0 {
            queue.value_waits -= 1;
            if queue.value_waits == 0 {
                timelines.acquire(&mut queue.clock.known);
            }
        }
    }

    /// Knowledge that a thread gains by waiting until a queue is idle.
    #[inline]
    pub fn known_when_idle(&self, id: QueueId) -> Known {
        let mut known = self.queue(id).clock.known.clone();
        // Only a hub has recent queues, and is not idle before they are.
        for recent in &self.queue(id).recent {
            if self.is_live(*recent) {
                known.join(&self.queue(*recent).clock.known);
            }
        }
        known
    }

    /// Knowledge that a thread gains by waiting for every queue of some owners.
    pub fn known_of(&self, is_meant: impl Fn(&W::Owner) -> bool) -> Known {
        let mut known = Known::default();
        for queue in self.queues.iter().filter(|queue| is_meant(&queue.owner)) {
            known.join(&queue.clock.known);
        }
        known
    }

    fn follow(&mut self, later: QueueId, earlier: QueueId, before: &mut SmallVec<[OpId; 4]>) {
        before.extend(self.tail(earlier));
        self.delay(later, self.busy_until(earlier));
        self.join_queue_clock(later, earlier);
    }

    /// A hub's next op must look at `queue`.
    pub fn note_recent(&mut self, hub: QueueId, queue: QueueId) {
        // The place of a queue that is gone may be another's.
        if !self.is_live(queue) || std::mem::replace(&mut self.queue_mut(queue).is_recent, true) {
            return;
        }
        let mut recent = std::mem::take(&mut self.queue_mut(hub).recent);
        // A hub that is never used again would otherwise collect every spoke that ever was.
        if recent.len() == recent.capacity() {
            recent.retain(|queue| self.is_live(*queue));
        }
        recent.push(queue);
        self.queue_mut(hub).recent = recent;
    }

    /// The newest unfinished ops of the spokes that a hub's next op would wait for.
    pub fn recent_tails(&self, hub: QueueId) -> impl Iterator<Item = OpId> {
        self.queue(hub).recent.iter().filter_map(|queue| self.tail(*queue))
    }

    /// The latest virtual time at which an op was done that a hub's next op would come after.
    pub fn recent_busy_until(&self, hub: QueueId) -> u64 {
        self.queue(hub).recent.iter().map(|queue| self.busy_until(*queue)).max().unwrap_or(0)
    }
}
