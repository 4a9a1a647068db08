//! Release of memory, to where it came from.

use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Side};

impl World {
    /// Removes an allocation and releases its memory at once. The caller has waited for the work that uses
    /// it.
    pub(crate) fn release_allocation(&mut self, base: u64) {
        if matches!(self.memory.at(base), Some(Allocation { backing: Backing::Pool(_), .. })) {
            return self.free_pool_memory(base);
        }
        let Some(allocation) = self.memory.remove(base) else { return };
        let Allocation { size, side, backing, .. } = allocation;
        match (backing, side) {
            (Backing::Device, Side::Device(device)) => self.devices[usize::from(device)].memory.give(base, size),
            (Backing::Variable(variable), Side::Device(device)) => match variable.managed {
                Some(_) => self.managed_memory.give(base, size, &self.engine),
                None => {
                    let [before, behind] = variable.margins;
                    self.devices[usize::from(device)].memory.give(base - before, size + before + behind);
                }
            },
            (Backing::PageLocked(_), _) => self.host_memory.give(base, size, &self.engine),
            (Backing::Managed(managed), Side::Device(device)) => {
                self.managed_memory.give(base, size, &self.engine);
                self.devices[usize::from(device)].memory.refund(managed.charged);
            }
            // The program owns the pages.
            (Backing::Registered { .. }, _) => {}
            // Mappings end with `cuMemUnmap`, and pool memory is handled above; the others are on no device.
            (
                Backing::Mapped(_) | Backing::Pool(_) | Backing::Device | Backing::Managed(_) | Backing::Variable(_),
                _,
            ) => {}
        }
    }
}
