//! Virtual memory: reserved addresses, the bytes of physical allocations, and the pages that connect both.

mod reservations;
mod store;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use reservations::Reservations;
use store::Store;

use super::allocation::Allocation;
use super::backing::{Backing, Mapping, Rights};
use super::shadow::{Shadow, Site};
use super::shared_object::SharedObject;

/// The bytes of physical allocations and the reservations of a machine. Its mappings are among all other
/// allocations, in [`Registry`](super::Registry).
#[derive(Default)]
pub(crate) struct VirtualMemory {
    reservations: Reservations,
    store: Store,
    /// The bytes of physical allocations, by their offset in the store; those of shared objects have numbers
    /// behind it.
    physical: BTreeMap<u64, PhysicalBytes>,
    /// The number of shared objects so far.
    objects: u64,
}

/// The bytes of a physical allocation.
struct PhysicalBytes {
    size: u64,
    /// The file of its own, if other processes can have it.
    object: Option<Shared>,
    /// The number of mappings of it.
    mappings: u64,
    /// The accesses to it, through any mapping, while the machine checks.
    shadow: Shadow,
}

/// A shared object with the bytes of a physical allocation.
struct Shared {
    object: SharedObject,
    is_imported: bool,
}

impl VirtualMemory {
    /// Host memory that physical allocations take, in bytes. Imported ones count where they were created.
    pub(crate) fn committed(&self) -> u64 {
        let objects = self.physical.values().filter_map(|physical| physical.object.as_ref());
        let own = objects.filter(|shared| !shared.is_imported).map(|shared| shared.object.committed());
        self.store.committed() + own.sum::<u64>()
    }

    /// Takes the bytes of a new physical allocation; their offset in the store.
    pub(crate) fn create(&mut self, size: u64) -> io::Result<u64> {
        let offset = self.store.take(size)?;
        self.physical.insert(offset, PhysicalBytes { size, object: None, mappings: 0, shadow: Shadow::default() });
        Ok(offset)
    }

    /// Adds a physical allocation whose bytes other processes can have; its number.
    pub(crate) fn add_shared(&mut self, object: SharedObject, is_imported: bool) -> u64 {
        let number = store::LEN + self.objects;
        self.objects += 1;
        let (size, mut shadow) = (object.header().size, Shadow::default());
        if is_imported {
            // Its bytes may have been written by others.
            shadow.written.add(0..size);
        }
        let object = Some(Shared { object, is_imported });
        self.physical.insert(number, PhysicalBytes { size, object, mappings: 0, shadow });
        number
    }

    /// The shared object of a physical allocation that is exported. From now on others may write its bytes.
    pub(crate) fn export(&mut self, offset: u64) -> Option<&SharedObject> {
        let PhysicalBytes { size, object, shadow, .. } = self.physical.get_mut(&offset)?;
        let Shared { object, .. } = object.as_ref()?;
        shadow.written.add(0..*size);
        Some(object)
    }

    /// The shared object of a physical allocation that other processes can have.
    pub(crate) fn shared_object(&self, offset: u64) -> Option<&SharedObject> {
        self.physical.get(&offset)?.object.as_ref().map(|shared| &shared.object)
    }

    /// Gives the bytes of a physical allocation back.
    pub(crate) fn destroy(&mut self, offset: u64) {
        if let Some(PhysicalBytes { size, object: None, .. }) = self.physical.remove(&offset) {
            self.store.give(offset, size);
        }
    }

    /// Charges host memory; fails with the free bytes if there are too few.
    pub(crate) fn charge_host(&mut self, bytes: u64) -> Result<(), u64> {
        self.store.charge_host(bytes)
    }

    pub(crate) fn refund_host(&mut self, bytes: u64) {
        self.store.refund_host(bytes);
    }

    /// Reserves addresses, at `hint` if that is in a window and free.
    pub(crate) fn reserve(&mut self, size: u64, align: u64, hint: u64) -> io::Result<u64> {
        self.reservations.reserve(size, align, hint)
    }

    /// Frees the reservation that starts at an address.
    pub(crate) fn free_reservation(&mut self, base: u64) {
        self.reservations.free(base);
    }

    /// `true` if all of a range is reserved, by one reservation or several of one window.
    pub(crate) fn is_reserved(&self, address: u64, end: u64) -> bool {
        self.reservations.window_of(address, end).is_some()
    }

    /// Maps the bytes of a physical allocation at a reserved address; where the simulator finds the first.
    pub(crate) fn map(&mut self, address: u64, offset: u64) -> io::Result<usize> {
        let found = (self.reservations.window_at(address), self.physical.get_mut(&offset));
        let (Some(window), Some(physical)) = found else { return Err(io::ErrorKind::OutOfMemory.into()) };
        let (file, start) = physical.file(&self.store, offset).ok_or(io::ErrorKind::OutOfMemory)?;
        window.map(address, physical.size, file, start)?;
        physical.mappings += 1;
        Ok(window.host_of(address))
    }

    /// Ends a mapping that starts at `base`.
    pub(crate) fn unmap(&mut self, base: u64, mapping: &Mapping) -> io::Result<()> {
        let Some(physical) = self.physical.get_mut(&mapping.offset()) else { return Ok(()) };
        if let Some(window) = self.reservations.window_at(base) {
            if mapping.is_open_to_host() {
                window.close(base, physical.size)?;
            }
            window.unmap(base, physical.size)?;
        }
        physical.mappings -= 1;
        Ok(())
    }

    /// Gives the host rights to a mapping that starts at `base`.
    pub(crate) fn grant_host(&self, base: u64, mapping: &mut Mapping, rights: Rights) -> io::Result<()> {
        let found = (self.reservations.window_at(base), self.physical.get(&mapping.offset()));
        let (Some(window), Some(physical)) = found else { return Ok(()) };
        let Some((file, start)) = physical.file(&self.store, mapping.offset()) else { return Ok(()) };
        match rights {
            Rights::None => window.close(base, physical.size)?,
            _ => window.expose(base, physical.size, file, start, rights == Rights::ReadWrite)?,
        }
        mapping.grant_host(rights);
        Ok(())
    }

    /// The accesses to an allocation; those to a mapping are with the memory behind it.
    pub(crate) fn shadow_of<'a>(&'a mut self, allocation: &'a mut Allocation) -> Option<&'a mut Shadow> {
        match &allocation.backing {
            Backing::Mapped(mapping) => self.physical.get_mut(&mapping.offset()).map(|physical| &mut physical.shadow),
            _ => allocation.tracked.as_mut().map(|tracked| &mut tracked.shadow),
        }
    }

    /// `true` if a physical allocation has a mapping.
    pub(crate) fn is_mapped(&self, offset: u64) -> bool {
        self.physical.get(&offset).is_some_and(|physical| physical.mappings > 0)
    }

    /// `true` if no other mapping leads to the same memory.
    pub(crate) fn is_only_mapping(&self, backing: &Backing) -> bool {
        match backing {
            Backing::Mapped(mapping) => self.physical.get(&mapping.offset()).is_none_or(|found| found.mappings <= 1),
            _ => true,
        }
    }

    /// Every reservation as start and size, with the call that made it if the machine checks.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = (u64, u64, &Site)> {
        self.reservations.made()
    }

    /// The number of reservations that have not been freed.
    pub(crate) fn reservation_count(&self) -> usize {
        self.reservations.count()
    }

    /// The reservation an address is in, as start and size.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        self.reservations.holding(address)
    }
}

impl PhysicalBytes {
    /// The file with its bytes, and their start there.
    fn file<'a>(&'a self, store: &'a Store, offset: u64) -> Option<(BorrowedFd<'a>, u64)> {
        match &self.object {
            Some(Shared { object, .. }) => Some((object.file(), object.data_offset())),
            None => Some((store.file()?, offset)),
        }
    }
}
