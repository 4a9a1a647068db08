//! Virtual memory management: physical allocations, address reservations, and mappings between them.
//!
//! ```text
//!   reservations   ├──────── a ────────┤├─── b ───┤       address space that the program holds
//!   mappings          ├ h ┤├ g ┤├ h ┤                     physical allocations, with access rights
//!                       │    │    │
//!   store          ├───h───┤├─g─┤                         one unnamed sparse file; a range each
//! ```
//!
//! A *physical* allocation is a range of the machine's store, charged to its device. A *reservation* is a
//! range of a window; a mapping maps the store's bytes into the window's twin. So a handle that is mapped
//! twice aliases the same memory, and adjacent mappings are one range for a copy. The twin is never unmapped:
//! private memory replaces a removed mapping, so that work still in flight does no harm. As in the real
//! driver, no call here waits for work.
//!
//! A mapping starts without access rights. The program can never access device memory; it can access host
//! memory at the mapped address, once the host has been given access.
//!
//! An allocation lives as long as a reference or a mapping does. Without a reference its handle can no longer
//! be released, but while there is a mapping it can still be mapped again, and a reference can be had back
//! from any address.
//!
//! An allocation that is created for export is in a file of its own, a
//! [`SharedObject`](crate::memory::SharedObject), and the exported file descriptor is one of that file. So it
//! lives until the last process has released it.

mod access;
mod location;
mod mapping;
mod physical;
mod properties;
mod reservation;
mod share;
mod shared_properties;

pub(crate) use access::{cuMemGetAccess, cuMemSetAccess};
pub(crate) use mapping::{cuMemMap, cuMemUnmap};
pub(crate) use physical::{
    cuMemCreate, cuMemGetAllocationGranularity, cuMemGetAllocationPropertiesFromHandle, cuMemRelease,
    cuMemRetainAllocationHandle,
};
pub(crate) use reservation::{cuMemAddressFree, cuMemAddressReserve};
pub(crate) use share::{cuMemExportToShareableHandle, cuMemImportFromShareableHandle};

use crate::memory::BLOCK;

/// The granularity of sizes and addresses, for all locations.
const GRANULARITY: u64 = BLOCK;
