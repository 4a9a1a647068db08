//! Device memory.

mod allocation;
mod buffer;
mod copy;
mod device_copy;
mod fill;
mod host;
mod plain;
mod pool;
mod resource;
mod slice;

pub use buffer::Buffer;
pub use device_copy::DeviceCopy;
pub use plain::DeviceMemory;
pub use pool::{DevicePool, PoolStatistics};
pub use resource::{OrderedResource, StreamOrdered, Synchronous, SynchronousResource};
pub use slice::{Slice, SliceMut};
