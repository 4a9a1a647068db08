//! Stream-ordered allocation: cuMemAllocAsync, cuMemAllocFromPoolAsync and cuMemFreeAsync.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::{Moment, OpId, QueueId};
use warploom_sys::types::{CUdeviceptr, CUmemPoolHandle_st, CUstream_st};

use super::{current, named};
use crate::ffi::Ptr;
use crate::ffi::handle::PoolHandle;
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{AllocNode, NodeWork};
use crate::machine::pool::{CHUNK, Freed, GRAIN, Reuse, Tag};
use crate::machine::world::{Work, World};
use crate::memory::{Allocation, Backing, Home, PoolBlock, Side};

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
    let device = world.engine.queue(queue).owner.device;
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
    let pool = named(call, &world, pool)?;
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
    world.healthy(world.engine.queue(queue).owner.context)?;
    if world.captures.hold(queue) {
        return allocate_in_graph(call, world, out, bytes, pool, queue);
    }
    call.check_unsafe(&mut world)?;
    if bytes == 0 {
        return Ok(());
    }
    let size = bytes as u64;
    let side = world.pools.get(pool).map_or(Side::Host, |pool| pool.home.side());
    world.afford(call, side, size)?;
    let (address, waits) = world
        .take_from_pool(pool, queue, size)
        .ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("{size} bytes: {}", world.why_full(pool))))?;
    // For the checks an allocation is an op like any other, ordered with the default stream.
    if !waits.is_empty() || world.planned_failures.is_planned() || world.checker.is_on() {
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
    if world.pools.get(pool).is_some_and(|pool| !matches!(pool.home, Home::Device(_))) {
        return Err(call.refuse(NOT_SUPPORTED, "a graph allocates memory of a device, and of nothing else"));
    }
    let device = world.engine.queue(queue).owner.device;
    let most = call.core().topology.devices[usize::from(device)].total_memory;
    let address = world.graphs.memory.take(device, bytes as u64, most);
    let address =
        address.ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("{bytes} bytes for a graph; there are {most}")))?;
    call.capture_node(&mut world, queue, NodeWork::Alloc(Arc::new(AllocNode::new(address, bytes as u64, device))))?;
    out.write(address)
}

/// A free on a captured stream becomes a node, if a node allocated the memory.
fn free_in_graph(call: &Call<'_>, mut world: Guard<'_>, address: u64, queue: QueueId) -> Status {
    call.capturing(&world, queue)?;
    if !world.graphs.memory.free(address) {
        return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of memory that a graph has")));
    }
    call.capture_node(&mut world, queue, NodeWork::Free(address))
}

impl Reuse {
    /// True if an allocation on `queue`, ordered after `clock`, may reuse the memory of a free.
    fn allows(self, tag: &Tag, queue: QueueId, clock: &Moment) -> bool {
        tag.queue == queue
            || self.opportunistic && tag.done
            || self.follow_events && clock.includes(tag.queue, tag.stamp)
    }
}

impl World {
    /// Allocates memory for a queue and records it. Also returns the frees that the queue has to wait for.
    fn take_from_pool(&mut self, handle: PoolHandle, queue: QueueId, size: u64) -> Option<(u64, SmallVec<[OpId; 4]>)> {
        let len = size.checked_next_multiple_of(GRAIN)?;
        // An allocation is not an op, so the order of the default stream is applied here.
        self.catch_up(queue);
        self.open_pool(handle)?;
        let offset = self.find_in_pool(handle, queue, len)?;
        let pool = self.pools.get_mut(handle)?;
        let tags = pool.space.take_at(offset, len);
        pool.used += size;
        pool.used_high = pool.used_high.max(pool.used);
        pool.reserved_high = pool.reserved_high.max(pool.space.reserved);
        let clock = &mut self.engine.queue_mut(queue).clock;
        let mut waits = SmallVec::new();
        for tag in tags.iter().filter(|tag| tag.queue != queue) {
            if let Some(op) = tag.pending
                && !clock.includes(tag.queue, tag.stamp)
            {
                waits.push(op);
                clock.include(tag.queue, tag.stamp);
            }
        }
        let addresses = pool.addresses.as_ref()?;
        let base = addresses.base() + offset;
        let (host, home) = (addresses.host_of(base), pool.home);
        let id = self.memory.next_id();
        let allocation = Allocation {
            base,
            size,
            host,
            side: home.side(),
            context: None,
            id,
            backing: Backing::Pool(PoolBlock { pool: handle, home, offset }),
            sync_memops: false,
            tracked: None,
        };
        self.add_allocation(allocation, Some(queue));
        Some((base, waits))
    }

    /// The address for an allocation: in the pool's memory, in new chunks, or in memory with pending frees.
    fn find_in_pool(&mut self, handle: PoolHandle, queue: QueueId, len: u64) -> Option<u64> {
        let pool = self.pools.get(handle)?;
        let reuse = pool.reuse;
        let clock = &self.engine.queue(queue).clock;
        if let Some(offset) = pool.space.find(len, queue, &|tag: &Tag| reuse.allows(tag, queue, clock)) {
            return Some(offset);
        }
        let clock = clock.clone();
        let orderly = |tag: &Tag| reuse.allows(tag, queue, &clock);
        if let Some(offset) = self.grow_pool(handle, len, &orderly) {
            return Some(offset);
        }
        if !reuse.internal_dependencies {
            return None;
        }
        let anything = |_: &Tag| true;
        let found = self.pools.get(handle)?.space.find(len, queue, &anything);
        found.or_else(|| self.grow_pool(handle, len, &anything))
    }

    fn grow_pool(&mut self, handle: PoolHandle, len: u64, usable: &impl Fn(&Tag) -> bool) -> Option<u64> {
        let pool = self.pools.get(handle)?;
        let mut growth = pool.space.plan_growth(len, usable)?;
        if let Home::Device(device) = pool.home {
            let bytes = |chunks: &[u64]| chunks.len() as u64 * CHUNK;
            let memory = usize::from(device);
            if !self.devices[memory].memory.charge(bytes(&growth.chunks)) {
                self.reclaim_pool_memory(device);
                // The reclaimed memory may be this pool's own.
                growth = self.pools.get(handle)?.space.plan_growth(len, usable)?;
                if !self.devices[memory].memory.charge(bytes(&growth.chunks)) {
                    return None;
                }
            }
        }
        let space = &mut self.pools.get_mut(handle)?.space;
        for chunk in &growth.chunks {
            space.back(*chunk);
        }
        Some(growth.at)
    }

    /// Reserves the addresses of a pool, at the first allocation.
    fn open_pool(&mut self, handle: PoolHandle) -> Option<()> {
        let pool = self.pools.get_mut(handle)?;
        if pool.addresses.is_none() {
            pool.addresses = Some(self.pool_windows.take(pool.space.len, pool.home.is_open()).ok()?);
        }
        Some(())
    }

    fn why_full(&self, pool: PoolHandle) -> String {
        let Some(pool) = self.pools.get(pool) else { return "no such pool".to_owned() };
        let free = match pool.home {
            Home::Device(device) => self.devices[usize::from(device)].memory.free_bytes(),
            Home::Host(_) | Home::Managed(_) => pool.space.len - pool.space.reserved,
        };
        let (reserved, limit) = (pool.space.reserved, pool.space.len);
        format!("the pool holds {reserved} bytes of at most {limit}, {} in use; {free} more are to be had", pool.used)
    }
}

pub(crate) fn cuMemFreeAsync(call: &Call<'_>, address: CUdeviceptr, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let context = world.engine.queue(queue).owner.context;
    world.healthy(context)?;
    let is_captured = world.captures.hold(queue);
    if !is_captured {
        call.check_unsafe(&mut world)?;
    }
    if address == 0 {
        return Ok(());
    }
    if is_captured {
        return free_in_graph(call, world, address, queue);
    }
    let stamp = world.engine.next_stamp(queue);
    let (freed, place) = match world.memory.at(address) {
        Some(Allocation { backing: Backing::Pool(block), .. }) => {
            let (pool, offset) = (block.pool, block.offset);
            (Freed::Pool { pool, stamp, address }, Some((pool, offset)))
        }
        Some(Allocation { backing: Backing::Device, side: Side::Device(device), size, .. }) => {
            (Freed::Device { device: *device, address, bytes: *size }, None)
        }
        Some(Allocation { backing: Backing::Graph(_), .. }) => (Freed::Graph { address }, None),
        Some(Allocation { backing: Backing::Managed(_), .. }) => {
            call.found_bad_free(&world, address);
            return Err(call.refuse(NOT_SUPPORTED, format!("{address:#x} is managed memory of no pool")));
        }
        _ => {
            call.found_bad_free(&world, address);
            return Err(call.refuse(INVALID_VALUE, format!("{address:#x} is not the start of an allocation")));
        }
    };
    world.check_free(address, Some(queue))?;
    // Before the op is enqueued, because the engine may complete it at once.
    let size = match world.remove_graph_memory(address) {
        Some(()) => 0,
        None => world.memory.remove(address).map_or(0, |allocation| allocation.size),
    };
    if let Some((handle, offset)) = place
        && let Some(pool) = world.pools.get_mut(handle)
    {
        pool.used -= size;
        pool.space.give(offset, Tag { queue, stamp, pending: None, done: false }, context);
    }
    let op = world.enqueue(queue, Work::Release(freed))?;
    if let Some((handle, offset)) = place
        && !world.engine.is_done(op)
        && let Some(pool) = world.pools.get_mut(handle)
    {
        pool.space.name_op(offset, op);
    }
    call.get_going(&mut world, queue)
}
