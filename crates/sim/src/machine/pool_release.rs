//! Release of pool memory: from a free to its pool, and from a pool to its device.

use warploom_engine::QueueId;

use crate::ffi::handle::{ContextHandle, EventHandle, PoolHandle};
use crate::machine::pool::{CHUNK, Freed, Pool, Sharing};
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Home, Preferred};

impl World {
    /// Called when the op of a free is done.
    pub(crate) fn release(&mut self, queue: QueueId, freed: &Freed) {
        match *freed {
            Freed::Pool { pool, stamp, .. } => {
                if let Some(found) = self.pools.get_mut(pool) {
                    found.space.reached(queue, stamp);
                    self.bury_pool(pool);
                }
            }
            Freed::Import { pool, offset, size, .. } => self.end_import(pool, offset, size),
            Freed::Device { device, address, bytes } => {
                self.devices[usize::from(device)].memory.give(address, bytes);
            }
            // The addresses stay the graph's, and the bytes are counted at the call.
            Freed::Graph { .. } => {}
        }
    }

    /// Frees pool memory at once, even while streams use it, as `cuMemFree` does. The driver leaves the
    /// pool's count of used bytes unchanged.
    pub(crate) fn free_pool_memory(&mut self, address: u64) {
        let Some(Allocation { size, backing: Backing::Pool(block), .. }) = self.memory.remove(address) else { return };
        if block.is_imported {
            self.leave_imported_pool(block.pool);
            return self.end_import(block.pool, block.offset, size);
        }
        if let Some(pool) = self.pools.get_mut(block.pool) {
            pool.end_export(block.offset);
            pool.space.give_now(block.offset);
            self.apply_threshold(block.pool);
            self.bury_pool(block.pool);
        }
    }

    /// Notes that the host has synchronised with a queue.
    pub(crate) fn saw_queue(&mut self, queue: QueueId) {
        self.catch_up(queue);
        let clock = &self.engine.queue(queue).clock;
        for pool in self.pools.iter_mut() {
            pool.space.observe(|freeing, _, stamp| clock.includes(freeing, stamp));
        }
        self.apply_thresholds();
    }

    /// Notes that the host has synchronised with an event.
    pub(crate) fn saw_event(&mut self, event: EventHandle) {
        let Some(event) = self.events.get(event) else { return };
        for pool in self.pools.iter_mut() {
            pool.space.observe(|freeing, _, stamp| event.clock.includes(freeing, stamp));
        }
        self.apply_thresholds();
    }

    /// Notes that the host has synchronised with a context.
    pub(crate) fn saw_context(&mut self, context: ContextHandle) {
        for pool in self.pools.iter_mut() {
            pool.space.observe(|_, freeing, _| freeing == context);
        }
        self.apply_thresholds();
    }

    /// Releases memory beyond the pools' release thresholds; called at each synchronisation.
    fn apply_thresholds(&mut self) {
        let over = |pool: &Pool| pool.space.reserved > pool.threshold;
        let pools: Vec<_> = self.pools.iter().filter(|(_, pool)| over(pool)).map(|(handle, _)| handle).collect();
        for pool in pools {
            self.apply_threshold(pool);
        }
    }

    fn apply_threshold(&mut self, pool: PoolHandle) {
        let Some(pool) = self.pools.get_mut(pool) else { return };
        let threshold = pool.threshold;
        let bytes = pool.shrink(|reserved| reserved > threshold);
        let home = pool.home;
        self.refund(home, bytes);
    }

    /// Releases unused chunks of a pool while it keeps at least `keep` bytes.
    pub(crate) fn trim_pool(&mut self, handle: PoolHandle, keep: u64) {
        let Some(pool) = self.pools.get_mut(handle) else { return };
        let bytes = pool.shrink(|reserved| reserved >= CHUNK && reserved - CHUNK >= keep);
        let home = pool.home;
        self.refund(home, bytes);
    }

    /// Destroys a pool. Homes whose current pool it was get their default pool back, and the pool itself
    /// stays until its last memory is freed.
    ///
    /// An H200 gives managed memory of a device the default pool of the device's own memory instead, once that pool has
    /// been asked for.
    pub(crate) fn destroy_pool(&mut self, handle: PoolHandle) {
        let homes: Vec<Home> = self.current_pools.keys().copied().collect();
        for home in homes {
            let instead = match home {
                Home::Managed(Preferred::Device(device)) => {
                    self.current_pools.get(&Home::Device(device)).map(|own| own.default)
                }
                _ => None,
            };
            if let Some(current) = self.current_pools.get_mut(&home).filter(|own| own.chosen == Some(handle)) {
                current.chosen = instead;
            }
        }
        if let Some(pool) = self.pools.get_mut(handle) {
            pool.destroyed = true;
        }
        self.pools.note_destroyer(handle);
        self.bury_pool(handle);
    }

    /// Releases all unused memory of a device's pools, because the device is out of memory. Returns true if
    /// any was released.
    pub(crate) fn reclaim_pool_memory(&mut self, device: u16) -> bool {
        let home = Home::Device(device);
        let mut bytes = 0;
        for pool in self.pools.iter_mut().filter(|pool| pool.home == home) {
            pool.space.observe(|_, _, _| true);
            bytes += pool.shrink(|_| true);
        }
        self.refund(home, bytes);
        bytes > 0
    }

    fn refund(&mut self, home: Home, bytes: u64) {
        if let Home::Device(device) = home {
            self.devices[usize::from(device)].memory.refund(bytes);
        }
    }

    /// Unmaps imported memory, and removes its pool if that is destroyed and this was its last memory.
    fn end_import(&mut self, handle: PoolHandle, offset: u64, size: u64) {
        if let Some(pool) = self.pools.get_mut(handle) {
            pool.unmap_import(offset..offset + size);
        }
        self.bury_pool(handle);
    }

    /// Removes a destroyed pool without memory in use.
    fn bury_pool(&mut self, handle: PoolHandle) {
        if !self.pools.get(handle).is_some_and(Pool::is_over) {
            return;
        }
        if let Some(mut pool) = self.pools.remove(handle) {
            self.refund(pool.home, pool.space.reserved);
            if pool.addresses.is_some() {
                pool.space.backed_chunks().into_iter().for_each(|chunk| pool.discard(chunk));
            }
            match (pool.addresses.take(), &pool.sharing) {
                (Some(addresses), Sharing::Exportable(_)) => {
                    self.pool_windows.give_shared(addresses, pool.space.len);
                }
                (Some(addresses), _) => self.pool_windows.give(addresses),
                (None, _) => {}
            }
        }
    }
}
