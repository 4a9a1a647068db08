//! Release of physical allocations without references.

use crate::ffi::handle::PhysicalHandle;
use crate::machine::physical::Physical;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side};

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

    /// Charges memory; fails with the free bytes if there are too few.
    pub(crate) fn charge_physical(&mut self, side: Side, size: u64) -> Result<(), u64> {
        match side {
            Side::Device(device) => {
                let fits = |world: &mut World| world.devices[usize::from(device)].memory.charge(size);
                if fits(self) || self.reclaim_pool_memory(device) && fits(self) {
                    return Ok(());
                }
                Err(self.devices[usize::from(device)].memory.free_bytes())
            }
            Side::Host => self.virtual_memory.charge_host(size),
        }
    }

    /// Removes a mapping, and its physical allocation if nothing else keeps it.
    pub(crate) fn unmap(&mut self, base: u64) -> std::io::Result<()> {
        let Some(Allocation { backing: Backing::Mapped(mapping), .. }) = self.memory.at(base) else {
            return Ok(());
        };
        let handle = mapping.physical();
        self.virtual_memory.unmap(base, mapping)?;
        self.memory.remove(base);
        self.collect_physical(handle);
        Ok(())
    }
}
