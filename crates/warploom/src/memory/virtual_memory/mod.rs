//! Virtual memory: address reservations and physical memory mapped into them.
//!
//! ```text
//!   addresses   ├──────── a ────────┤├─── b ───┤      reserved; `b` was to be had right behind `a`
//!   memory      ├── h ──┤├─── g ────┤├─── k ───┤      made on the device, mapped, and opened to devices
//! ```
//!
//! An allocation is one reservation with one piece of memory, until it grows. If the addresses behind it are
//! free, it gets those and another piece; if not, a larger reservation, at which its pieces are mapped again.
//! The pieces never move, so that nothing is copied.
//!
//! The driver waits for nothing when a mapping ends, and a stream that is still at work there would lose its
//! memory. So each stream that used a buffer is waited for first, by name; if that fails, the mapping stays
//! for good. Nor does any of this belong to a context: memory that outlives a reset of the device is given
//! back all the same.

mod error;
mod grow;
mod memory;
mod options;
mod range;
#[cfg(target_os = "linux")]
mod sharing;

pub use error::VirtualMemoryError;
pub use grow::GrowError;
pub use memory::VirtualMemory;
pub use options::{Granularity, VirtualOptions};
