//! The simulated address space.
//!
//! ```text
//!   device 0 window      device 1 window           virtual window          managed window
//! ┌────────────────────┬────────────────────┬─────┬───────────────────────┬─────────────────────┐
//! │ PROT_NONE          │ PROT_NONE          │  …  │ PROT_NONE             │ readable where      │   what programs see
//! └────────────────────┴────────────────────┴─────┴───────────────────────┴─── allocated ───────┘
//!    │ constant distance   │                        │
//! ┌────────────────────┬────────────────────┬─────┬───────────────────────┐
//! │ bytes              │ bytes              │  …  │ bytes, or a mapping   │                         what the simulator uses
//! └────────────────────┴────────────────────┴─────┴───────────────────────┘
//! ```
//!
//! A program that follows a device pointer faults, as on hardware; the simulator finds the bytes at a constant distance.
//! Host memory is ordinary memory, at the same address for everyone. Pages cost nothing until they are written, so a
//! device's capacity is a number that allocations are charged against.
//!
//! The bytes behind a window stay mapped for as long as the machine lives: an op that outlives the memory it was made for
//! reads stale bytes, and never takes the process down.

mod allocation;
mod heap;
mod ledger;
mod window;

pub(crate) use allocation::{Allocation, Backing, Registry};
pub(crate) use heap::Heap;
pub(crate) use ledger::DeviceMemory;
pub(crate) use window::Window;

/// The driver hands device memory out in blocks of this size; smaller allocations share one.
pub(crate) const BLOCK: u64 = 2 << 20;
