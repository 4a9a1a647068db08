//! Pools of managed memory.

use std::sync::Arc;

use warploom_driver::sys::types::{CUmemLocation, CUmemLocationType};

use crate::device::same_driver;
use crate::memory::driver_pool::{DriverPool, PoolMemory, can};
use crate::{Context, DeviceAttribute, Error, Location, PoolOptions, Result};

/// A pool of managed memory, allocated and freed in the order of a stream. Drivers have it since 13.0;
/// [`ManagedMemory`](crate::ManagedMemory) is there on older ones, too.
///
/// ```
/// use warploom::{Devices, Driver, ManagedPool, OrderedResource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let buffer = ManagedPool::new(&context)?.upload(&[1_u32, 2, 3], &stream)?;
/// assert_eq!(buffer.download(&stream)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ManagedPool {
    pub(in crate::memory) shared: Arc<DriverPool>,
    preferred: Option<Location>,
}

impl ManagedPool {
    /// A new pool, whose memory prefers no place, for streams of the context to use.
    ///
    /// # Errors
    ///
    /// [`Error::PoolUnsupported`] if the device or the driver has no such pools, and what the driver answers.
    #[doc(alias = "cuMemPoolCreate")]
    pub fn new(context: &Context) -> Result<ManagedPool> {
        ManagedPool::at(context, None)
    }

    /// A new pool, whose memory would rather be at a place.
    ///
    /// # Errors
    ///
    /// As [`ManagedPool::new`]; [`Error::DriverMismatch`] for a device of another driver, and `CUDA_ERROR_INVALID_VALUE` for a
    /// place that no pool can be at.
    pub fn preferring(context: &Context, place: impl Into<Location>) -> Result<ManagedPool> {
        ManagedPool::at(context, Some(place.into()))
    }

    fn at(context: &Context, preferred: Option<Location>) -> Result<ManagedPool> {
        if let Some(Location::Device(device)) = &preferred {
            same_driver(context.driver(), device.driver())?;
        }
        // The driver got both at once.
        let knows = context.driver().table().cuMemGetMemPool.is_some();
        if !knows || !can(context, DeviceAttribute::ConcurrentManagedAccess)? {
            return Err(Error::PoolUnsupported { of: "managed memory", device: context.device().ordinal() });
        }
        let nowhere = || CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE, 0);
        let place = preferred.as_ref().map_or_else(nowhere, Location::to_raw);
        let pool = DriverPool::new(context, PoolMemory::Managed, place, PoolOptions::new())?;
        Ok(ManagedPool { shared: Arc::new(pool), preferred })
    }

    /// Where its memory would rather be.
    #[must_use]
    pub fn preferred_location(&self) -> Option<&Location> {
        self.preferred.as_ref()
    }
}
