//! Managed memory, which moves to whoever touches it.

mod memory;
mod pool;

pub use memory::ManagedMemory;
pub use pool::ManagedPool;
