//! Device memory.

mod adaptor;
mod allocation;
mod batch;
mod buffer;
mod copy;
mod copy_options;
mod copy_with;
mod device_copy;
mod driver_pool;
mod fill;
mod free_after;
mod grants;
mod graph_pool;
mod held;
mod host;
mod linear;
mod managed;
mod operand;
mod pinned;
mod plain;
mod pool;
mod pool_attributes;
mod pool_options;
mod resource;
mod rows;
mod slice;
mod source;
mod transfer;
mod uses;
mod virtual_memory;

pub use adaptor::{Counted, Counts, Limited, Logged};
pub use batch::{copy_batch, copy_batch_with};
pub use buffer::Buffer;
pub use copy_options::{CopyOptions, SourceOrder};
pub use device_copy::DeviceCopy;
pub use free_after::FreeError;
pub use graph_pool::GraphPool;
pub(crate) use held::Held;
pub use managed::{
    AccessedBy, Locations, ManagedBuffer, ManagedMemory, ManagedPool, ManagedRange, ManagedRangeMut, discard_batch,
    discard_prefetch_batch, prefetch_batch,
};
pub(crate) use operand::Operand;
pub use pinned::{Pending, PinnedBuffer, PinnedMemory, PinnedOptions, PinnedPool, PinnedReturn};
pub use plain::DeviceMemory;
pub use pool::{DevicePool, PoolStatistics};
pub use pool_options::{PoolOptions, Reuse};
pub use resource::{OrderedResource, StreamOrdered, Synchronous, SynchronousResource};
pub use rows::{Rows, RowsMut};
pub use slice::{Slice, SliceMut};
pub(crate) use transfer::Transfer;
pub(crate) use uses::Access;
pub use virtual_memory::{Granularity, GrowError, VirtualMemory, VirtualOptions};
