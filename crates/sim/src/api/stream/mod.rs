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

use warploom_engine::QueueId;

use crate::ffi::handle::{Handle, Kind};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::objects::Objects;
use crate::machine::stream::Stream;

/// `CU_STREAM_LEGACY`.
pub(crate) const LEGACY: u64 = 1;
/// `CU_STREAM_PER_THREAD`.
pub(crate) const PER_THREAD: u64 = 2;

/// The queue of a stream argument. A default stream is created at first use.
#[inline]
pub(crate) fn queue_of(call: &Call<'_>, world: &mut Guard<'_>, raw: u64) -> Status<QueueId> {
    match raw {
        0 if call.is_per_thread() => per_thread_queue(call, world),
        0 | LEGACY => legacy_queue(call, world),
        PER_THREAD => per_thread_queue(call, world),
        bits => Ok(created(call, world.streams(), bits)?.queue),
    }
}

/// A created stream; its context is alive, because streams are destroyed with their context.
#[inline]
fn created<'o>(call: &Call<'_>, streams: &'o Objects<Stream>, bits: u64) -> Status<&'o Stream> {
    let handle = Handle::from_bits(bits);
    // The driver treats an event handle as a stream of a destroyed context.
    let is_event = handle.names_some(Kind::Event);
    call.object(streams, handle, if is_event { CONTEXT_IS_DESTROYED } else { INVALID_HANDLE })
}

fn legacy_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let context = call.context(world)?;
    world.legacy_queue(context).ok_or(INVALID_CONTEXT)
}

fn per_thread_queue(call: &Call<'_>, world: &mut Guard<'_>) -> Status<QueueId> {
    let context = call.context(world)?;
    world.per_thread_queue(context).ok_or(INVALID_CONTEXT)
}
