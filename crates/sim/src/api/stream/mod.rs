//! Streams: ordered queues of work, and the default streams of a context.
//!
//! ```text
//!   created, blocking ◀──waits──▶ legacy default ◀──waits──▶ per-thread default, one per thread and context
//!   created, non-blocking          (of the same context)
//! ```
//!
//! The legacy default stream's next op comes after all work in the blocking streams of its context, and
//! theirs after all work in it. A query of the legacy stream follows the same rule: it is busy while a
//! blocking stream has work. A blocking stream, however, is idle once its own work is done. Non-blocking
//! streams and other contexts take no part.

mod attach;
mod attributes;
mod create;
mod host;
mod info;
mod submit;
mod sync;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use attach::cuStreamAttachMemAsync;
pub(crate) use attributes::{
    checked_domain, checked_domains, checked_window, cuStreamCopyAttributes, cuStreamGetAttribute, cuStreamSetAttribute,
};
pub(crate) use create::{cuStreamCreate, cuStreamCreateWithPriority, cuStreamDestroy_v2};
pub(crate) use host::{cuLaunchHostFunc, cuLaunchHostFunc_v2, cuStreamAddCallback};
pub(crate) use info::{
    cuStreamGetCtx, cuStreamGetCtx_v2, cuStreamGetDevice, cuStreamGetFlags, cuStreamGetId, cuStreamGetPriority,
};
pub(crate) use sync::{cuStreamQuery, cuStreamSynchronize, cuStreamWaitEvent};
pub(crate) use values::{
    batch, check_batch, cuStreamBatchMemOp, cuStreamBatchMemOp_v2, cuStreamWaitValue32, cuStreamWaitValue32_v2,
    cuStreamWaitValue64, cuStreamWaitValue64_v2, cuStreamWriteValue32, cuStreamWriteValue32_v2, cuStreamWriteValue64,
    cuStreamWriteValue64_v2,
};

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::{ContextHandle, Handle, Kind};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::stream::{Stream, Traits};
use crate::machine::world::World;
use crate::memory::shadow::StreamKind;
use crate::process::thread::{self, ThreadKey};

/// `CU_STREAM_LEGACY`.
pub(crate) const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`.
pub(crate) const PER_THREAD: u64 = 2;

/// The queue of a stream argument. A default stream is created at first use.
pub(crate) fn queue_of(call: &Call<'_>, world: &mut Guard<'_>, raw: u64) -> Status<QueueId> {
    match raw {
        0 if call.is_per_thread() => per_thread_queue(call, world),
        0 | LEGACY => legacy_queue(call, world),
        PER_THREAD => per_thread_queue(call, world),
        bits => Ok(created(call, world, bits)?.queue),
    }
}

/// A created stream; its context is alive, because streams are destroyed with their context.
fn created<'w>(call: &Call<'_>, world: &'w World, bits: u64) -> Status<&'w Stream> {
    let handle = Handle::from_bits(bits);
    // The driver treats an event handle as a stream of a destroyed context.
    let is_event = handle.names_some(Kind::Event);
    call.object(&world.streams, handle, if is_event { CONTEXT_IS_DESTROYED } else { INVALID_HANDLE })
}

fn legacy_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let context = call.context(world)?;
    world.legacy_queue(context).ok_or(INVALID_CONTEXT)
}

fn per_thread_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let handle = call.context(world)?;
    let world = &mut **world;
    let key = thread::key();
    let Some(context) = world.contexts.get_mut(handle) else { return Err(INVALID_CONTEXT) };
    if let Some(queue) = context.per_thread.get(&key) {
        return Ok(*queue);
    }
    let device = context.device;
    if context.per_thread.len().is_power_of_two() {
        world.forget_ended_threads(handle);
    }
    let traits = Traits::of_default(world.next_stream_id(), StreamKind::PerThreadDefault);
    let queue = world.new_queue(handle, device, traits);
    if let Some(context) = world.contexts.get_mut(handle) {
        context.per_thread.insert(key, queue);
        context.blocking.push(queue);
    }
    Ok(queue)
}

impl World {
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
