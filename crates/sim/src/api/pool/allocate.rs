//! Stream-ordered allocation: cuMemAllocAsync, cuMemAllocFromPoolAsync and cuMemFreeAsync.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::sync::Arc;

use warploom_engine::QueueId;
use warploom_sys::types::{CUdeviceptr, CUmemPoolHandle_st, CUstream_st};

use super::{current, own};
use crate::ffi::Ptr;
use crate::ffi::handle::PoolHandle;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{AllocNode, NodeWork};
use crate::machine::world::Work;
use crate::memory::{Allocation, Backing, Home, Side};

pub(crate) fn cuMemAllocAsync(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    bytes: usize,
    stream: Ptr<CUstream_st>,
) -> Status {
    // The driver writes a null pointer if an allocation fails.
    out.write(0)?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let device = world.queue(queue).owner.device;
    let pool = current::of_home(call, &mut world, Home::Device(device))?;
    allocate(call, world, out, bytes, pool, queue)
}

pub(crate) fn cuMemAllocFromPoolAsync(
    call: &Call<'_>,
    out: Ptr<CUdeviceptr>,
    bytes: usize,
    pool: Ptr<CUmemPoolHandle_st>,
    stream: Ptr<CUstream_st>,
) -> Status {
    out.write(0)?;
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let pool = own(call, world.pools(), pool)?;
    allocate(call, world, out, bytes, pool, queue)
}

fn allocate(
    call: &Call<'_>,
    mut world: Guard<'_>,
    out: Ptr<CUdeviceptr>,
    bytes: usize,
    pool: PoolHandle,
    queue: QueueId,
) -> Status {
    world.healthy(world.queue(queue).owner.context)?;
    if world.captures().hold(queue) {
        return allocate_in_graph(call, world, out, bytes, pool, queue);
    }
    call.check_unsafe(&mut world)?;
    if bytes == 0 {
        return Ok(());
    }
    let size = bytes as u64;
    let side = world.pools().get(pool).map_or(Side::Host, |pool| pool.home.side());
    world.afford(call, side, size)?;
    let (address, waits) = world
        .take_from_pool(pool, queue, size)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("{size} bytes: {}", world.why_full(pool))))?;
    // For the checks an allocation is an op like any other, ordered with the default stream.
    if !waits.is_empty() || world.needs_op() {
        call.submit_after(&mut world, queue, &waits, Work::Join)?;
    }
    out.write(address)
}

/// An allocation on a captured stream becomes a node, for every pool of a device: the memory belongs to the
/// graph.
fn allocate_in_graph(
    call: &Call<'_>,
    mut world: Guard<'_>,
    out: Ptr<CUdeviceptr>,
    bytes: usize,
    pool: PoolHandle,
    queue: QueueId,
) -> Status {
    call.capturing(&world, queue)?;
    if bytes == 0 {
        return Ok(());
    }
    if world.pools().get(pool).is_some_and(|pool| !matches!(pool.home, Home::Device(_))) {
        return Err(call.refuse(NOT_SUPPORTED, "a graph allocates memory of a device, and of nothing else"));
    }
    let device = world.queue(queue).owner.device;
    let most = call.core().topology.devices[usize::from(device)].total_memory;
    let Some((_, sequence)) = world.captures().of(queue) else { return Err(INVALID_VALUE) };
    let graph = sequence.graph;
    let tips = world.captures().branches.get(&queue).into_iter().flat_map(|branch| &branch.tips);
    let before = tips.map(|tip| tip.node).collect();
    let address = world.graphs_mut().reserve_memory(graph, before, device, bytes as u64, most);
    let address =
        address.ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("{bytes} bytes for a graph; there are {most}")))?;
    call.capture_node(&mut world, queue, NodeWork::Alloc(Arc::new(AllocNode::new(address, bytes as u64, device))))?;
    out.write(address)
}

/// A free on a captured stream becomes a node, if a node allocated the memory.
fn free_in_graph(call: &Call<'_>, mut world: Guard<'_>, address: u64, queue: QueueId) -> Status {
    call.capturing(&world, queue)?;
    let Some((_, sequence)) = world.captures().of(queue) else { return Err(INVALID_VALUE) };
    let found = world.graphs().memory.check_free(address, sequence.graph);
    found.map_err(|reason| call.refuse(INVALID_VALUE, format!("{address:#x} {reason}")))?;
    call.capture_node(&mut world, queue, NodeWork::Free(address))
}

pub(crate) fn cuMemFreeAsync(call: &Call<'_>, address: CUdeviceptr, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let context = world.queue(queue).owner.context;
    world.healthy(context)?;
    let is_captured = world.captures().hold(queue);
    if !is_captured {
        call.check_unsafe(&mut world)?;
    }
    if address == 0 {
        return Ok(());
    }
    if is_captured {
        return free_in_graph(call, world, address, queue);
    }
    match world.memory().at(address) {
        Some(Allocation { backing: Backing::Pool(_) | Backing::Graph(_), .. })
        | Some(Allocation { backing: Backing::Device, side: Side::Device(_), .. }) => {}
        Some(Allocation { backing: Backing::Managed(_), .. }) => {
            call.found_bad_free(&world, address);
            return Err(call.refuse(NOT_SUPPORTED, format!("{address:#x} is managed memory of no pool")));
        }
        _ => {
            call.found_bad_free(&world, address);
            return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of an allocation")));
        }
    }
    world.check_free(address, Some(queue))?;
    world.free_in_order(queue, address)?;
    call.get_going(&mut world, queue)
}
