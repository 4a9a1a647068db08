//! Copies between contexts: cuMemcpyPeer and cuMemcpyPeerAsync.
//!
//! Without peer access the copy is staged through the host. A null context means the one that the copy runs in.
#![expect(non_snake_case, reason = "the functions have C's names")]

use smallvec::SmallVec;
use warploom_engine::QueueId;
use warploom_sys::types::{CUctx_st, CUdeviceptr, CUstream_st};

use super::access::{Named, Range, ends};
use super::queued::{Form, Shape, copy};
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{INVALID_CONTEXT, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::{Work, World};

/// The context that an end of a copy belongs to.
#[derive(Clone, Copy)]
pub(super) struct Party {
    pub(super) context: ContextHandle,
    pub(super) device: u16,
}

/// The context behind an argument of a copy that runs in `queue`.
pub(super) fn party(call: &Call<'_>, world: &World, queue: QueueId, context: u64) -> Status<Party> {
    if context == 0 {
        let queue = world.queue(queue);
        return Ok(Party { context: queue.owner.context, device: queue.owner.device });
    }
    let context = Handle::from_bits(context);
    let device = call.object(world.contexts(), context, INVALID_CONTEXT)?.device;
    world.healthy(context)?;
    Ok(Party { context, device })
}

/// Runs `enqueue` so that its work in `queue` is ordered with all work in the default streams of both
/// contexts, as the synchronous functions require.
pub(super) fn serialized(
    world: &mut Guard<'_>,
    queue: QueueId,
    parties: [Party; 2],
    enqueue: impl FnOnce(&mut Guard<'_>) -> Status,
) -> Status {
    let own = world.queue(queue).owner.context;
    let mut others: SmallVec<[ContextHandle; 2]> = SmallVec::new();
    for party in parties {
        if party.context != own && !others.contains(&party.context) {
            others.push(party.context);
        }
    }
    for other in &others {
        if let Some(theirs) = world.legacy_queue(*other) {
            let before = world.enqueue(theirs, Work::Join)?;
            world.join_clocks(queue, theirs);
            world.enqueue_after(queue, &[before], Work::Join)?;
        }
    }
    enqueue(world)?;
    let done = world.newest_op(queue);
    for other in others {
        // The lock may have been released meanwhile, and the context destroyed.
        if let Some(theirs) = world.legacy_queue(other) {
            world.join_clocks(theirs, queue);
            world.enqueue_after(theirs, done.as_slice(), Work::Join)?;
        }
    }
    Ok(())
}

/// A device address, and the context that it belongs to.
type PeerAddress = (CUdeviceptr, Ptr<CUctx_st>);

fn line(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    queue: QueueId,
    form: Form,
    to: PeerAddress,
    from: PeerAddress,
    bytes: usize,
) -> Status {
    let bytes = bytes as u64;
    let parties = [party(call, world, queue, to.1.address())?, party(call, world, queue, from.1.address())?];
    if bytes == 0 {
        return Ok(());
    }
    let [to, from] = [to.0, from.0].map(|address| Range { named: Named::Device, address, len: bytes });
    let [to, from] = ends(call, world, parties.map(|party| party.device), to, from)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(world, queue, "a copy between contexts"));
    }
    let enqueue = |world: &mut Guard<'_>| copy(call, world, queue, form, (to, from), Shape::Line(bytes));
    match form {
        Form::Sync => serialized(world, queue, parties, enqueue),
        Form::Async => enqueue(world),
    }
}

pub(crate) fn cuMemcpyPeer(
    call: &Call<'_>,
    to: CUdeviceptr,
    to_context: Ptr<CUctx_st>,
    from: CUdeviceptr,
    from_context: Ptr<CUctx_st>,
    bytes: usize,
) -> Status {
    let mut world = call.world();
    let queue = call.default_queue(&mut world)?;
    line(call, &mut world, queue, Form::Sync, (to, to_context), (from, from_context), bytes)
}

pub(crate) fn cuMemcpyPeerAsync(
    call: &Call<'_>,
    to: CUdeviceptr,
    to_context: Ptr<CUctx_st>,
    from: CUdeviceptr,
    from_context: Ptr<CUctx_st>,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    line(call, &mut world, queue, Form::Async, (to, to_context), (from, from_context), bytes)
}
