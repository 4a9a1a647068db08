//! The device as a kernel sees it: global memory, the heap, conditions of a graph, time, output, and the
//! traps that end a kernel.
//!
//! ```text
//!   Launch ─▶ Grid ─┬─▶ Memory   load, store, update; or Direct ranges without a call
//!                   ├─▶ Host     print, allocate, free, set a condition, clock; events for observers
//!                   └─▶ Trap     failure of a thread
//! ```
//!
//! The interpreter and the race detector are both written against these traits, and know nothing of each
//! other.

pub(crate) mod access;
pub(crate) mod bounds;
pub(crate) mod direct;
pub(crate) mod host;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod trap;
pub(crate) mod vec_memory;

pub use access::{Access, Fault};
pub use bounds::Bounds;
pub use direct::Direct;
pub use host::{Event, Freed, Host, Touch};
pub use launch::{Launch, LaunchError};
pub use memory::{HeapProblem, Memory};
pub use trap::{Trap, TrapKind};
pub use vec_memory::VecMemory;
