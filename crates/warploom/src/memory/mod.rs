//! Memory: buffers, slices, resources and pools, copies and fills.

mod adaptor;
mod allocation;
mod allocation_ref;
mod buffer;
mod cast;
mod copy;
mod default_resource;
mod device_copy;
mod device_memory;
mod error;
mod fill;
mod foreign;
mod free_after;
mod graph_memory;
mod hold_back;
mod host_borrows;
#[cfg(target_os = "linux")]
mod import;
mod kind;
mod managed;
mod no_access;
mod operand;
mod pinned;
#[cfg(feature = "bytemuck")]
mod plain;
mod pool;
mod resource;
mod rows;
mod slice;
mod staging;
mod used_by;
mod uses;
mod virtual_memory;
mod volume;
mod weak_allocation;

pub use adaptor::{CacheOptions, CacheStatistics, Cached, Counted, Counts, Limited, Logged, OtherStreams};
pub(crate) use allocation_ref::AllocationRef;
pub use buffer::Buffer;
pub use cast::CastError;
pub(crate) use copy::Transfer;
pub use copy::{CopyError, CopyOptions, Pending, PinnedReturn, SourceOrder, copy_batch, copy_batch_with};
pub use default_resource::DefaultResource;
pub use device_copy::DeviceCopy;
pub(crate) use device_copy::bytes_of;
pub use device_memory::DeviceMemory;
pub use error::MemoryError;
pub(crate) use fill::{Pattern, pattern};
pub use free_after::FreeError;
pub(crate) use graph_memory::GraphMemory;
pub use host_borrows::{HostSlice, HostSliceMut};
pub use kind::MemoryKind;
pub use managed::{
    AccessedBy, Advice, Locations, ManagedBuffer, ManagedError, ManagedMemory, ManagedRange, ManagedRangeMut, advise,
    discard_batch, discard_prefetch_batch, prefetch_batch,
};
pub(crate) use operand::{Operand, OperandKind};
pub use pinned::{PinnedBuffer, PinnedMemory, PinnedOptions};
#[cfg(feature = "bytemuck")]
pub use plain::Plain;
#[cfg(target_os = "linux")]
pub use pool::ImportedPool;
pub use pool::{DevicePool, GraphPool, ManagedPool, PinnedPool, PoolOptions, PoolStatistics, Reuse};
pub use resource::{OrderedResource, StreamOrdered, Synchronous, SynchronousResource};
pub use rows::{Rows, RowsMut};
pub(crate) use slice::bounds;
pub use slice::{Slice, SliceMut};
pub(crate) use staging::StagingPool;
pub(crate) use uses::Access;
pub use virtual_memory::{Granularity, GrowError, VirtualMemory, VirtualMemoryError, VirtualOptions};
pub use volume::{Volume, VolumeMut, VolumeShape};
pub use weak_allocation::WeakAllocation;
