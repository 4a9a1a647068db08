//! Memory pools: stream-ordered allocation.

use crate::handles::{Handle, Kind, Object};
use crate::world::World;

pub(crate) struct Pool {}

impl Object for Pool {
    const KIND: Kind = Kind::Pool;
}

/// A stream-ordered allocation's place in its pool.
#[derive(Debug)]
pub(crate) struct PoolBlock {
    pub(crate) pool: Handle<Pool>,
}

impl World {
    /// Frees pool memory now, whatever streams do with it: what `cuMemFree` does.
    pub(crate) fn free_pool_memory(&mut self, address: u64) {
        self.release_pool_block(address);
    }

    /// Makes the pools of a device give up all that nobody uses: the device has run out. Tells whether that was anything.
    pub(crate) fn reclaim_pool_memory(&mut self, _device: u16) -> bool {
        false
    }

    /// Called when the op that frees a pool allocation is done.
    pub(crate) fn release_pool_block(&mut self, address: u64) {
        drop(self.memory.remove(address));
    }
}
