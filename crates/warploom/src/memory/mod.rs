//! Device memory.

mod allocation;
mod buffer;
mod copy;
mod device_copy;
mod fill;
mod host;
mod pinned;
mod plain;
mod pool;
mod resource;
mod slice;

pub use buffer::Buffer;
pub use device_copy::DeviceCopy;
pub use pinned::{Pending, PinnedBuffer, PinnedMemory, PinnedOptions};
pub use plain::DeviceMemory;
pub use pool::{DevicePool, PoolStatistics};
pub use resource::{OrderedResource, StreamOrdered, Synchronous, SynchronousResource};
pub use slice::{Slice, SliceMut};
