//! The simulated address space.
//!
//! ```text
//!   device 0 window      device 1 window           virtual window          arenas: page-locked, managed
//! ┌────────────────────┬────────────────────┬─────┬───────────────────────┬─────────────────────┐
//! │ PROT_NONE          │ PROT_NONE          │  …  │ PROT_NONE             │ readable where      │   addresses of programs
//! └────────────────────┴────────────────────┴─────┴───────────────────────┴─── allocated ───────┘
//!    │ constant distance   │                        │                          the same bytes
//! ┌────────────────────┬────────────────────┬─────┬───────────────────────┐
//! │ bytes              │ bytes              │  …  │ bytes, or a mapping   │                         bytes of the simulator
//! └────────────────────┴────────────────────┴─────┴───────────────────────┘
//! ```
//!
//! A program that follows a device pointer faults, as on hardware; the simulator finds the bytes at a
//! constant distance. Page-locked and managed memory is at one address for host and devices. Pages cost
//! nothing until they are written, so a device's capacity is a number that allocations are charged against.
//!
//! All of it is handed out as the driver does it: in blocks of 2 MiB, which allocations of up to 1 MiB share.
//!
//! The bytes behind a window stay mapped for as long as the machine lives, and those of an arena until no op
//! is left that was enqueued before they were freed: an op that outlives the memory it was made for reads
//! stale bytes, and never takes the process down.

mod allocation;
mod arena;
mod backing;
mod blocks;
pub(crate) mod committed;
mod device;
mod heap;
mod host;
mod host_limit;
mod imported;
mod in_flight;
mod ipc_handle;
mod operation;
mod requested_location;
mod residence;
mod residency;
pub(crate) mod shadow;
pub(crate) mod shared_blocks;
mod shared_object;
mod shared_records;
mod sim_address;
mod span;
mod vmm;
mod window;
mod windows;

pub(crate) use allocation::{Allocation, Registry};
pub(crate) use backing::{
    Backing, GraphBlock, Home, Imported, Managed, Mapping, PageLocked, PoolBlock, Preferred, Rights, VariableMemory,
};
pub(crate) use blocks::{Block, Spacing};
pub(crate) use device::DeviceMemory;
pub(crate) use heap::Heap;
pub(crate) use host::HostMemory;
pub(crate) use host_limit::{Claim, HostLimit};
pub(crate) use imported::{ImportError, ImportedMemory, ImportedPart};
pub(crate) use in_flight::InFlight;
pub(crate) use ipc_handle::{BlockPart, HandleError, IpcHandle};
pub(crate) use operation::{BlockCopy, Compare, MemoryOp, RowFill, StagedBlock, Touch, Transfer};
pub(crate) use requested_location::{CPU, NOWHERE, RequestedLocation};
pub use residence::Residence;
#[cfg(test)]
pub(crate) use residency::PAGE;
pub(crate) use residency::{ManagedMemory, Migration, Page, Pages};
pub(crate) use shared_object::{
    Details, Header, NewObject, OpenError, ProcessId, Reader, SharedDevice, SharedKind, SharedObject, digest,
};
pub(crate) use shared_records::{AwaitedRecords, PendingRecord, Recorder, SharedRecords};
pub(crate) use sim_address::{Side, SimAddress};
pub(crate) use vmm::VirtualMemory;
pub(crate) use window::Window;

/// The driver hands device memory out in blocks of this size; smaller allocations share one.
pub(crate) const BLOCK: u64 = 2 << 20;
