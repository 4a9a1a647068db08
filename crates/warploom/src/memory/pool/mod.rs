//! Memory pools: stream-ordered allocation of device, page-locked and managed memory.
//!
//! | pool | memory |
//! |---|---|
//! | [`DevicePool`] | of a device |
//! | [`PinnedPool`] | page-locked memory of the host |
//! | [`ManagedPool`] | managed memory |
//! | [`GraphPool`] | of a device, allocated and freed by nodes of a captured graph |
//! | [`ImportedPool`] | of another process; it hands out that process's buffers and allocates none |

mod access_cache;
mod attributes;
mod device_pool;
pub(super) mod driver_pool;
mod found;
pub(super) mod graph_pool;
#[cfg(target_os = "linux")]
pub(super) mod imported;
#[cfg(target_os = "linux")]
mod imported_pool;
mod managed_pool;
mod options;
mod pinned_pool;
#[cfg(target_os = "linux")]
mod sharing;

pub use device_pool::{DevicePool, PoolStatistics};
pub use graph_pool::GraphPool;
#[cfg(target_os = "linux")]
pub use imported_pool::ImportedPool;
pub use managed_pool::ManagedPool;
pub use options::{PoolOptions, Reuse};
pub use pinned_pool::PinnedPool;
