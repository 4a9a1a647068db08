//! Virtual memory management: physical allocations, address reservations, and mappings between them.
//!
//! ```text
//!   reservations   ├──────── a ────────┤├─── b ───┤       address space that the program holds
//!   mappings          ├ h ┤├ g ┤├ h ┤                     a physical allocation at an address, with its access
//!                       │    │    │
//!   store          ├───h───┤├─g─┤                         one unnamed sparse file; a range each
//! ```
//!
//! A *physical* allocation is a stretch of the machine's store, charged to its device. A *reservation* is a
//! stretch of a window, in whose twin a mapping puts the store's bytes. So a handle that is mapped twice is
//! the same memory twice, and mappings side by side are one range to a copy. The twin is never unmapped:
//! where a mapping ends, private memory takes its place, so that work that still runs there does no harm. As
//! in the real driver, no call here waits for work.
//!
//! A mapping starts without access rights. Memory of a device is never the program's to touch; memory of the
//! host is, at the mapped address itself, once the host has been given access.
//!
//! An allocation lives as long as a reference or a mapping does. Without a reference its handle can no longer
//! be released, but while there is a mapping it can still be mapped again, and a reference can be had back
//! from any address.

mod access;
mod location;
mod mapping;
mod physical;
mod properties;
mod reservation;

pub(crate) use access::{cuMemGetAccess, cuMemSetAccess};
pub(crate) use mapping::{cuMemMap, cuMemUnmap};
pub(crate) use physical::{
    cuMemCreate, cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle, cuMemRelease,
    cuMemRetainAllocationHandle,
};
pub(crate) use reservation::{cuMemAddressFree, cuMemAddressReserve};

use crate::memory::BLOCK;

/// The granularity of sizes and addresses, for all locations.
const GRANULARITY: u64 = BLOCK;
