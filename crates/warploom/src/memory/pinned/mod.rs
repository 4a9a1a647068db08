//! Page-locked host memory: where it comes from, what owns it, and copies that take it along.

mod awaited;
mod buffer;
mod copy;
mod memory;
mod pool;

pub use awaited::PinnedReturn;
pub use buffer::PinnedBuffer;
pub use copy::Pending;
pub use memory::{PinnedMemory, PinnedOptions};
pub use pool::PinnedPool;
