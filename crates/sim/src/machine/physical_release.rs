//! Release of physical allocations without references.

use crate::ffi::handle::PhysicalHandle;
use crate::machine::physical::Physical;
use crate::machine::world::World;
use crate::memory::Side;

impl World {
    /// Releases a physical allocation without references and mappings.
    pub(crate) fn collect_physical(&mut self, handle: PhysicalHandle) {
        let Some(&Physical { size, offset, side, references: 0, .. }) = self.physical.get(handle) else { return };
        if self.virtual_memory.is_mapped(offset) {
            return;
        }
        self.physical.remove(handle);
        self.virtual_memory.destroy(offset);
        self.refund_physical(side, size);
    }

    /// Refunds the memory of a physical allocation.
    pub(crate) fn refund_physical(&mut self, side: Side, size: u64) {
        match side {
            Side::Device(device) => self.devices[usize::from(device)].memory.refund(size),
            Side::Host => self.virtual_memory.refund_host(size),
        }
    }
}
