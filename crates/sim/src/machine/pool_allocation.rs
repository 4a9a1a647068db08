//! Pools of a machine, and allocation and free in stream order.

use smallvec::SmallVec;
use warploom_engine::{Moment, OpId, QueueId};

use crate::ffi::handle::PoolHandle;
use crate::ffi::status::Status;
use crate::machine::objects::Objects;
use crate::machine::pool::{CHUNK, Current, Freed, Pool, Reuse, Sharing, Tag};
use crate::machine::world::{Work, World};
use crate::memory::{Allocation, Backing, Home, PoolBlock, Side, Spacing};

impl Reuse {
    /// `true` if an allocation on `queue`, ordered after `clock`, may reuse the memory of a free.
    fn allows(self, tag: &Tag, queue: QueueId, clock: &Moment) -> bool {
        tag.queue == queue
            || self.opportunistic && tag.done
            || self.follow_events && clock.includes(tag.queue, tag.stamp)
    }
}

impl World {
    /// The memory pools.
    pub(crate) fn pools(&self) -> &Objects<Pool> {
        &self.pools
    }

    /// The memory pools, for changes of a single one.
    pub(crate) fn pools_mut(&mut self) -> &mut Objects<Pool> {
        &mut self.pools
    }

    /// The default and the current pool of a home, if it has them yet.
    pub(crate) fn current_pools(&self, home: Home) -> Option<Current> {
        self.current_pools.get(&home).copied()
    }

    /// Adds the default pool of its home; `None` if all handles are used.
    pub(crate) fn add_default_pool(&mut self, pool: Pool) -> Option<Current> {
        let home = pool.home;
        let current = Current { default: self.pools.insert(pool)?, chosen: None };
        self.current_pools.insert(home, current);
        Some(current)
    }

    /// Makes a pool the current one of its home, which has a default pool.
    pub(crate) fn choose_pool(&mut self, home: Home, pool: PoolHandle) {
        if let Some(current) = self.current_pools.get_mut(&home) {
            current.chosen = (pool != current.default).then_some(pool);
        }
    }

    /// Frees memory of a pool, of a graph or of `cuMemAlloc` in the order of a queue. Other memory is not
    /// freed.
    pub(crate) fn free_in_order(&mut self, queue: QueueId, address: u64) -> Status {
        let stamp = self.engine.next_stamp(queue);
        let context = self.engine.queue(queue).owner.context;
        if self.remove_graph_memory(address).is_some() {
            return self.enqueue(queue, Work::Release(Freed::Graph { address })).map(|_| ());
        }
        // Before the op is enqueued, because the engine may complete it at once.
        let Some(Allocation { size, side, backing, .. }) = self.memory.remove(address) else { return Ok(()) };
        let (pool, offset) = match (backing, side) {
            (Backing::Pool(block), _) if block.is_imported => {
                let (pool, offset) = (block.pool, block.offset);
                self.leave_imported_pool(pool);
                let freed = Freed::Import { pool, offset, size, address };
                return self.enqueue(queue, Work::Release(freed)).map(|_| ());
            }
            (Backing::Pool(block), _) => (block.pool, block.offset),
            (Backing::Device, Side::Device(device)) => {
                let freed = Freed::Device { device, address, bytes: size };
                return self.enqueue(queue, Work::Release(freed)).map(|_| ());
            }
            _ => return Ok(()),
        };
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.used -= size;
            pool.end_export(offset);
            pool.space.give(offset, Tag { queue, stamp, pending: None, done: false }, context);
        }
        let op = self.enqueue(queue, Work::Release(Freed::Pool { pool, stamp, address }))?;
        if !self.engine.is_done(op)
            && let Some(pool) = self.pools.get_mut(pool)
        {
            pool.space.name_op(offset, op);
        }
        Ok(())
    }

    /// Allocates memory for a queue and records it. Also returns the frees that the queue has to wait for.
    pub(crate) fn take_from_pool(
        &mut self,
        handle: PoolHandle,
        queue: QueueId,
        size: u64,
    ) -> Option<(u64, SmallVec<[OpId; 4]>)> {
        let len = self.pool_room(size)?;
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
            backing: Backing::Pool(PoolBlock { pool: handle, home, offset, is_imported: false }),
            sync_memops: None,
            tracked: None,
        };
        self.add_allocation(allocation, Some(queue));
        Some((base, waits))
    }

    /// The bytes that a pool takes for an allocation: with some behind it if the machine checks and it is
    /// small, so that an access behind its end does not reach another.
    fn pool_room(&self, size: u64) -> Option<u64> {
        let is_small = size < CHUNK / 64;
        let spacing = if self.checker.is_on() && is_small { Spacing::Apart } else { Spacing::Dense };
        spacing.room(size)
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
    pub(in crate::machine) fn open_pool(&mut self, handle: PoolHandle) -> Option<()> {
        let pool = self.pools.get_mut(handle)?;
        if pool.addresses.is_none() {
            let addresses = self.pool_windows.take(pool.space.len, pool.home.is_open()).ok()?;
            if let Sharing::Exportable(shared) = &pool.sharing
                && addresses.share(shared.object(), 0, pool.space.len).is_err()
            {
                self.pool_windows.give(addresses);
                return None;
            }
            pool.addresses = Some(addresses);
        }
        Some(())
    }

    pub(crate) fn why_full(&self, pool: PoolHandle) -> String {
        let Some(pool) = self.pools.get(pool) else { return "no such pool".to_owned() };
        let free = match pool.home {
            Home::Device(device) => self.devices[usize::from(device)].memory.free_bytes(),
            Home::Host(_) | Home::Managed(_) => pool.space.len - pool.space.reserved,
        };
        let (reserved, limit) = (pool.space.reserved, pool.space.len);
        format!("the pool holds {reserved} bytes of at most {limit}, {} in use; {free} more are to be had", pool.used)
    }
}
