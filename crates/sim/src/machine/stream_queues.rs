//! Streams of a machine, created and default ones, and their queues.

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::{ContextHandle, StreamHandle};
use crate::machine::objects::Objects;
use crate::machine::stream::{Attributes, Stream, Traits};
use crate::machine::work::Owner;
use crate::machine::world::{Queue, World};
use crate::memory::shadow::StreamKind;
use crate::process::thread::{self, ThreadKey};

impl World {
    /// A queue.
    pub(crate) fn queue(&self, queue: QueueId) -> &Queue {
        self.engine.queue(queue)
    }

    /// Sets the attributes of a queue's stream.
    pub(crate) fn set_attributes(&mut self, queue: QueueId, attributes: Attributes) {
        self.engine.queue_mut(queue).owner.traits.attributes = attributes;
    }

    /// The newest op of a queue, if it is pending.
    pub(crate) fn newest_op(&self, queue: QueueId) -> Option<OpId> {
        self.engine.tail(queue)
    }

    /// `true` if all of the ops are done.
    pub(crate) fn are_done(&self, ops: &[OpId]) -> bool {
        ops.iter().all(|op| self.engine.is_done(*op))
    }

    /// Orders all work before the next op of `earlier` before the next op of `later`.
    pub(crate) fn join_clocks(&mut self, later: QueueId, earlier: QueueId) {
        self.engine.join_queue_clock(later, earlier);
    }

    /// Number of ops that are not done.
    pub(crate) fn unfinished_ops(&self) -> usize {
        self.engine.unfinished()
    }

    /// The created streams.
    pub(crate) fn streams(&self) -> &Objects<Stream> {
        &self.streams
    }

    /// Adds a stream to a live context; `None` if all handles are used.
    pub(crate) fn add_stream(&mut self, handle: ContextHandle, flags: u32, priority: i32) -> Option<StreamHandle> {
        let traits = Traits::new(self.next_stream_id(), flags, priority);
        let is_non_blocking = traits.is_non_blocking();
        let context = self.contexts.get_mut(handle)?;
        let queue = self.engine.new_queue(context.device, Owner::new(handle, context.device, traits));
        let Some(stream) = self.streams.insert(Stream { queue, context: handle }) else {
            self.engine.retire_queue(queue);
            return None;
        };
        context.streams.insert(stream);
        if is_non_blocking { &mut context.independent } else { &mut context.blocking }.push(queue);
        Some(stream)
    }

    /// Removes a stream. Its pending work continues, and its context remembers it.
    pub(crate) fn remove_stream(&mut self, handle: StreamHandle) {
        let Some(Stream { queue, context }) = self.streams.remove(handle) else { return };
        let engine = &mut self.engine;
        let Some(context) = self.contexts.get_mut(context) else { return engine.retire_queue(queue) };
        context.remember(engine.queue(queue));
        engine.retire_queue(queue);
        context.streams.remove(&handle);
        context.blocking.retain(|queue| engine.is_live(*queue));
        context.independent.retain(|queue| engine.is_live(*queue));
    }

    /// The legacy default stream of a live context.
    pub(crate) fn legacy_queue(&mut self, handle: ContextHandle) -> Option<QueueId> {
        let context = self.contexts.get(handle)?;
        if context.legacy.is_some() {
            return context.legacy;
        }
        let (device, blocking) = (context.device, context.blocking.clone());
        let traits = Traits::of_default(self.next_stream_id(), StreamKind::LegacyDefault);
        let queue = self.new_queue(handle, device, traits);
        // Earlier work of the blocking streams comes before the first op of a new legacy stream, too.
        for other in blocking {
            self.engine.note_recent(queue, other);
        }
        self.contexts.get_mut(handle)?.legacy = Some(queue);
        Some(queue)
    }

    /// The default stream of this thread in a live context.
    pub(crate) fn per_thread_queue(&mut self, handle: ContextHandle) -> Option<QueueId> {
        let key = thread::key();
        let context = self.contexts.get(handle)?;
        if let Some(queue) = context.per_thread.get(&key) {
            return Some(*queue);
        }
        let device = context.device;
        if context.per_thread.len().is_power_of_two() {
            self.forget_ended_threads(handle);
        }
        let traits = Traits::of_default(self.next_stream_id(), StreamKind::PerThreadDefault);
        let queue = self.new_queue(handle, device, traits);
        let context = self.contexts.get_mut(handle)?;
        context.per_thread.insert(key, queue);
        context.blocking.push(queue);
        Some(queue)
    }

    /// Removes the default streams of threads that have ended, so that they do not accumulate.
    fn forget_ended_threads(&mut self, context: ContextHandle) {
        let Some(context) = self.contexts.get_mut(context) else { return };
        let engine = &mut self.engine;
        let ended: Vec<ThreadKey> = context.per_thread.keys().copied().filter(|key| !thread::is_living(*key)).collect();
        for queue in ended.iter().filter_map(|key| context.per_thread.remove(key)).collect::<Vec<_>>() {
            context.remember(engine.queue(queue));
            engine.retire_queue(queue);
        }
        context.blocking.retain(|queue| engine.is_live(*queue));
    }

    /// The ops that must complete before a queue is idle.
    pub(crate) fn outstanding(&self, queue: QueueId) -> SmallVec<[OpId; 4]> {
        let mut outstanding: SmallVec<[OpId; 4]> = self.engine.tail(queue).into_iter().collect();
        // Only the legacy default stream has recent queues.
        outstanding.extend(self.engine.recent_tails(queue));
        outstanding
    }

    /// Notes that a host thread saw a queue idle.
    pub(crate) fn host_saw_idle(&mut self, queue: QueueId) {
        if self.engine.is_live(queue) {
            let time = self.engine.busy_until(queue).max(self.engine.recent_busy_until(queue));
            self.clock.host_saw(time);
        }
    }
}
