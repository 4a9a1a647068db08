//! Device memory: owned by buffers, which come from pools.

mod buffer;
mod pool;

pub use buffer::Buffer;
pub use pool::{DevicePool, PoolStatistics};
