//! Physical allocations of a machine, their references and mappings.

use crate::ffi::handle::PhysicalHandle;
use crate::machine::objects::Objects;
use crate::machine::physical::{Physical, Properties};
use crate::machine::world::World;
use crate::memory::shadow::Journal;
use crate::memory::{Allocation, Backing, NewObject, Rights, SharedObject, Side, VirtualMemory};

impl World {
    /// The physical allocations.
    pub(crate) fn physical(&self) -> &Objects<Physical> {
        &self.physical
    }

    /// Reservations and mappings.
    pub(crate) fn virtual_memory(&self) -> &VirtualMemory {
        &self.virtual_memory
    }

    /// Reservations and mappings, for changes of them alone.
    pub(crate) fn virtual_memory_mut(&mut self) -> &mut VirtualMemory {
        &mut self.virtual_memory
    }

    /// Adds a physical allocation with one reference, in a shared object if it can be exported; fails with
    /// the reason.
    pub(crate) fn add_physical(
        &mut self,
        size: u64,
        side: Side,
        properties: Properties,
        shared: Option<&NewObject>,
    ) -> Result<PhysicalHandle, String> {
        self.charge_physical(side, size).map_err(|free| format!("{size} bytes do not fit the {free} that are free"))?;
        let memory = &mut self.virtual_memory;
        let taken = match shared {
            Some(new) => SharedObject::create(new).map(|object| memory.add_shared(object, false)),
            None => memory.create(size),
        };
        let offset = taken.map_err(|error| {
            self.refund_physical(side, size);
            format!("no memory for {size} bytes: {error}")
        })?;
        let physical = Physical { size, offset, side, properties, is_imported: false, references: 1 };
        self.physical.insert(physical).ok_or_else(|| {
            self.virtual_memory.destroy(offset);
            self.refund_physical(side, size);
            "there are as many allocations as handles can name".to_owned()
        })
    }

    /// Adds a physical allocation of another process, with one reference; `None` if all handles are used.
    pub(crate) fn import_physical(
        &mut self,
        object: SharedObject,
        side: Side,
        properties: Properties,
    ) -> Option<PhysicalHandle> {
        let size = object.header().size;
        let offset = self.virtual_memory.add_shared(object, true);
        let physical = Physical { size, offset, side, properties, is_imported: true, references: 1 };
        let added = self.physical.insert(physical);
        if added.is_none() {
            self.virtual_memory.destroy(offset);
        }
        added
    }

    /// Compares accesses through a mapping, which starts at `base`, with those of other processes, if they
    /// can have the physical allocation.
    pub(crate) fn track_shared_mapping(&mut self, base: u64, offset: u64) {
        let journal = self.virtual_memory.shared_object(offset).and_then(Journal::of);
        self.track_shared(base, journal, 0);
    }

    /// Adds a reference to a physical allocation.
    pub(crate) fn retain_physical(&mut self, handle: PhysicalHandle) {
        if let Some(physical) = self.physical.get_mut(handle) {
            physical.references += 1;
        }
    }

    /// Removes a reference to a physical allocation, which has one.
    pub(crate) fn release_physical(&mut self, handle: PhysicalHandle) {
        if let Some(physical) = self.physical.get_mut(handle) {
            physical.references -= 1;
            if physical.references == 0 {
                self.physical.note_destroyer(handle);
            }
        }
        self.collect_physical(handle);
    }

    /// Gives the host rights to a mapping, which starts at `base`. Other memory is ignored.
    pub(crate) fn grant_host(&mut self, base: u64, rights: Rights) -> std::io::Result<()> {
        match self.memory.at_mut(base) {
            Some(Allocation { backing: Backing::Mapped(mapping), .. }) => {
                self.virtual_memory.grant_host(base, mapping, rights)
            }
            _ => Ok(()),
        }
    }

    /// Removes a physical allocation without references and mappings.
    fn collect_physical(&mut self, handle: PhysicalHandle) {
        let Some(&Physical { size, offset, side, is_imported, references: 0, .. }) = self.physical.get(handle) else {
            return;
        };
        if self.virtual_memory.is_mapped(offset) {
            return;
        }
        self.physical.remove(handle);
        self.virtual_memory.destroy(offset);
        if !is_imported {
            self.refund_physical(side, size);
        }
    }

    /// Refunds the memory of a physical allocation.
    fn refund_physical(&mut self, side: Side, size: u64) {
        match side {
            Side::Device(device) => self.devices[usize::from(device)].memory.refund(size),
            Side::Host => self.virtual_memory.refund_host(size),
        }
    }

    /// Charges memory; fails with the free bytes if there are too few.
    fn charge_physical(&mut self, side: Side, size: u64) -> Result<(), u64> {
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
