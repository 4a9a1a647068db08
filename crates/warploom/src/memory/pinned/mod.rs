//! Page-locked host memory: where it comes from, what owns it, and copies that take it along.

mod buffer;
mod memory;

pub use buffer::PinnedBuffer;
pub use memory::{PinnedMemory, PinnedOptions};
