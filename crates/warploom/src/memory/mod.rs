//! Device memory.

mod adaptor;
mod allocation;
mod batch;
mod buffer;
mod copy;
mod device_copy;
mod driver_pool;
mod fill;
mod held;
mod host;
mod linear;
mod managed;
mod pinned;
mod plain;
mod pool;
mod pool_attributes;
mod pool_options;
mod resource;
mod rows;
mod slice;
mod uses;
mod virtual_memory;

pub use adaptor::{Counted, Counts, Limited, Logged};
pub use batch::copy_batch;
pub use buffer::Buffer;
pub use device_copy::DeviceCopy;
pub use managed::{ManagedMemory, ManagedPool};
pub use pinned::{Pending, PinnedBuffer, PinnedMemory, PinnedOptions, PinnedPool};
pub use plain::DeviceMemory;
pub use pool::{DevicePool, PoolStatistics};
pub use pool_options::{PoolOptions, Reuse};
pub use resource::{OrderedResource, StreamOrdered, Synchronous, SynchronousResource};
pub use rows::{Rows, RowsMut};
pub use slice::{Slice, SliceMut};
pub use virtual_memory::{Granularity, GrowError, VirtualMemory, VirtualOptions};
