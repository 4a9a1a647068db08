//! The device as a kernel sees it: global memory, the heap, time, output, and the traps that end a kernel.

pub(crate) mod access;
pub(crate) mod direct;
pub(crate) mod host;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod trap;
pub(crate) mod vec_memory;

pub use access::{Access, Fault};
pub use direct::Direct;
pub use host::{Event, Freed, Host, Touch};
pub use launch::{Launch, LaunchError};
pub use memory::{HeapProblem, Memory};
pub use trap::{Trap, TrapKind};
pub use vec_memory::VecMemory;
