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
    /// Called when the op that frees a pool allocation is done.
    pub(crate) fn release_pool_block(&mut self, address: u64) {
        drop(self.memory.remove(address));
    }
}
