//! Page-locked host memory and its buffers.

mod buffer;
mod memory;
mod registered;

pub use buffer::PinnedBuffer;
pub use memory::{PinnedMemory, PinnedOptions};
