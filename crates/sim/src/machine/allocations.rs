//! Allocations of a machine: memory is taken from a device or the host, and returned to it.

use crate::machine::world::World;
use crate::memory::{Allocation, Backing, HostMemory, Registry, Side};

impl World {
    /// The allocations, by address.
    pub(crate) fn memory(&self) -> &Registry {
        &self.memory
    }

    /// The allocations, for changes of a single one.
    pub(crate) fn memory_mut(&mut self) -> &mut Registry {
        &mut self.memory
    }

    /// Page-locked memory.
    pub(crate) fn host_memory(&self) -> &HostMemory {
        &self.host_memory
    }

    /// Takes memory of a device, also unused memory of its pools. Returns the device address and the host
    /// address; fails with the free bytes if there are too few.
    pub(crate) fn take_device_memory(&mut self, device: u16, bytes: u64) -> Result<(u64, usize), u64> {
        let at = usize::from(device);
        let mut taken = self.devices[at].memory.take(bytes);
        if taken.is_none() && self.reclaim_pool_memory(device) {
            taken = self.devices[at].memory.take(bytes);
        }
        let memory = &self.devices[at].memory;
        let base = taken.ok_or_else(|| memory.free_bytes())?;
        Ok((base, memory.window().host_of(base)))
    }

    /// Takes page-locked memory. Returns its address.
    pub(crate) fn take_host_memory(&mut self, bytes: u64) -> std::io::Result<u64> {
        self.host_memory.take(bytes, &self.engine)
    }

    /// Removes an allocation and releases its memory at once. The caller has waited for the work that uses
    /// it.
    pub(crate) fn release_allocation(&mut self, base: u64) {
        if matches!(self.memory.at(base), Some(Allocation { backing: Backing::Pool(_), .. })) {
            return self.free_pool_memory(base);
        }
        if self.remove_graph_memory(base).is_some() {
            return;
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
            (Backing::Imported(_), _) => self.imported.closed(base),
            // The program owns the pages.
            (Backing::Registered { .. }, _) => {}
            // Mappings end with `cuMemUnmap`, and memory of pools and graphs is handled above; the others are
            // on no device.
            (
                Backing::Mapped(_)
                | Backing::Pool(_)
                | Backing::Graph(_)
                | Backing::Device
                | Backing::Managed(_)
                | Backing::Variable(_),
                _,
            ) => {}
        }
    }
}
