//! Virtual memory management: memory without an address, addresses without memory, and mappings of one at the other.
//!
//! ```text
//!   reservations   ├──────── a ────────┤├─── b ───┤            address space that the program holds
//!   mappings          ├ h ┤├ g ┤├ h ┤                          a physical allocation at an address, with its access
//!                       │    │    │
//!   store          ├───h───┤├─g─┤                              one file without a name, sparse; a stretch each
//! ```
//!
//! A *physical* allocation is a stretch of the machine's store, charged to its device. A *reservation* is a stretch of a
//! window, in whose twin a mapping puts the store's bytes. So a handle that is mapped twice is the same memory twice, and
//! mappings side by side are one stretch to whoever copies. The twin is never unmapped: where a mapping ends, private
//! memory takes its place, and work that still runs there hurts nobody. Like the real driver, nothing here waits for work.
//!
//! A mapping starts with access for nobody. Memory of a device is never the program's to touch; memory of the host is, at
//! the mapped address itself, once the host has been given access.
//!
//! An allocation lives as long as a reference or a mapping does. Without a reference its handle can no longer be
//! released, but while there is a mapping it can still be mapped again, and a reference can be had back from any address.

mod access;
mod location;
mod mapping;
mod physical;
mod properties;
mod reservation;
mod store;

pub(crate) use access::{cuMemGetAccess, cuMemSetAccess};
pub(crate) use mapping::{Mapping, cuMemMap, cuMemUnmap};
pub(crate) use physical::{
    Physical, cuMemCreate, cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle, cuMemRelease,
    cuMemRetainAllocationHandle,
};
pub(crate) use reservation::{cuMemAddressFree, cuMemAddressReserve};

use reservation::Reservations;
use store::Store;
use warploom_sys::types::CUmemAllocationProp;

use crate::check::{Shadow, Site};
use crate::ffi::handle::PhysicalHandle;
use crate::machine::objects::Objects;
use crate::memory::{BLOCK, Backing, Side};

/// What every size and address must be a multiple of, wherever the memory is.
const GRANULARITY: u64 = BLOCK;

/// The physical allocations and reservations of a machine. Its mappings are among all other allocations, in
/// [`Registry`](crate::memory::Registry).
pub(crate) struct VirtualMemory {
    physical: Objects<Physical>,
    reservations: Reservations,
    store: Store,
}

impl VirtualMemory {
    pub(crate) fn new(machine: u64) -> Self {
        Self { physical: Objects::new(machine), reservations: Reservations::default(), store: Store::default() }
    }

    /// What the memory behind a mapping was made to be, and the number that is the same for all mappings of it.
    pub(crate) fn behind(&self, mapping: &Mapping) -> Option<(CUmemAllocationProp, u64)> {
        let physical = self.physical.get(mapping.physical())?;
        Some((physical.shown(), mapping.physical().bits()))
    }

    /// What was done to the memory behind a mapping.
    pub(crate) fn shadow_mut(&mut self, mapping: &Mapping) -> Option<&mut Shadow> {
        self.physical.get_mut(mapping.physical()).map(|physical| &mut physical.shadow)
    }

    /// Whether no other mapping leads to the same memory.
    pub(crate) fn is_only_mapping(&self, backing: &Backing) -> bool {
        match backing {
            Backing::Mapped(mapping) => self.physical.get(mapping.physical()).is_none_or(|found| found.mappings <= 1),
            _ => true,
        }
    }

    pub(crate) fn physical(&self) -> &Objects<Physical> {
        &self.physical
    }

    /// Every reservation as start and size, with the call that made it if the machine checks.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = (u64, u64, &Site)> {
        self.reservations.made()
    }

    /// References to physical allocations that have not been released, and reservations that have not been freed.
    pub(crate) fn outstanding(&self) -> (u64, u64) {
        let references = self.physical.iter().map(|(_, physical)| physical.references()).sum();
        (references, self.reservations.count() as u64)
    }

    /// Where a physical allocation is.
    pub(crate) fn side_of(&self, physical: PhysicalHandle) -> Option<Side> {
        self.physical.get(physical).map(|physical| physical.side)
    }

    /// Bytes of each physical allocation, and where they are.
    pub(crate) fn held(&self) -> impl Iterator<Item = (Side, u64)> {
        self.physical.iter().map(|(_, physical)| (physical.side, physical.size))
    }

    /// The reservation an address is in, as start and size.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        self.reservations.holding(address)
    }
}
