//! Virtual memory management: reservations, physical allocations and mappings.

use crate::handles::{Handle, Kind, Object, Objects};

/// Memory without an address.
pub(crate) struct Physical {}

impl Object for Physical {
    const KIND: Kind = Kind::Physical;
}

/// A physical allocation at an address.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) physical: Handle<Physical>,
}

pub(crate) struct VirtualMemory {
    pub(crate) physical: Objects<Physical>,
}

impl VirtualMemory {
    pub(crate) fn new(machine: u64) -> Self {
        Self { physical: Objects::new(machine) }
    }
}
