//! Pools of page-locked host memory.

use std::sync::Arc;

use crate::memory::driver_pool::{DriverPool, PoolMemory, can};
use crate::{Context, DeviceAttribute, Error, Host, Location, NumaId, PoolOptions, Result};

/// A pool of page-locked host memory, allocated and freed in the order of a stream: without locking and unlocking pages each
/// time, and without waiting. Only the end of the pool, with its last handle and buffer, waits for its context's work.
///
/// ```
/// use warploom::{Devices, Driver, OrderedResource, PinnedPool};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = PinnedPool::new(&context)?.zeroed::<u32>(8, &stream)?;
/// buffer.fill(7, &stream)?;
/// assert_eq!(buffer.into_pinned()?.as_slice(), [7; 8]); // for the host, when the stream is done
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PinnedPool {
    pub(in crate::memory) shared: Arc<DriverPool>,
}

impl PinnedPool {
    /// A new pool of the host's memory, for the context's device to use.
    ///
    /// # Errors
    ///
    /// [`Error::PoolUnsupported`] if the device or the driver has no such pools, and what the driver answers.
    pub fn new(context: &Context) -> Result<PinnedPool> {
        PinnedPool::with(context, PoolOptions::new())
    }

    /// A new pool that behaves differently.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::new`].
    #[doc(alias = "cuMemPoolCreate")]
    pub fn with(context: &Context, options: PoolOptions) -> Result<PinnedPool> {
        PinnedPool::at(context, Host::Any, DeviceAttribute::HostMemoryPoolsSupported, options)
    }

    /// A new pool of the memory of one of the host's NUMA nodes.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::new`]; `CUDA_ERROR_INVALID_VALUE` for a node that does not exist.
    pub fn on_numa_node(context: &Context, node: NumaId, options: PoolOptions) -> Result<PinnedPool> {
        PinnedPool::at(context, Host::Numa(node), DeviceAttribute::HostNumaMemoryPoolsSupported, options)
    }

    fn at(context: &Context, place: Host, supported: DeviceAttribute, options: PoolOptions) -> Result<PinnedPool> {
        if !can(context, supported)? {
            return Err(Error::PoolUnsupported { of: "page-locked memory", device: context.device().ordinal() });
        }
        let place = Location::from(place).to_raw();
        Ok(PinnedPool { shared: Arc::new(DriverPool::new(context, PoolMemory::Pinned, place, options)?) })
    }
}
