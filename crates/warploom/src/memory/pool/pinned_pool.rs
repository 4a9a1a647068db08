//! `PinnedPool`: stream-ordered allocation of page-locked memory.
#![expect(unsafe_code, reason = "trusts a pool of other code to stay alive")]

use std::sync::Arc;

use warploom_driver::sys::types::{CUmemLocation, CUresult};

use super::driver_pool::{DriverPool, PoolMemory};
use crate::{Context, DeviceAttribute, Error, Host, Location, MemoryError, NumaId, PoolOptions, Result};

/// A pool of page-locked host memory, allocated and freed in the order of a stream: without locking and
/// unlocking pages each time, and without waiting. Only the end of the pool, with its last handle and buffer,
/// waits for its context's work.
///
/// ```
/// use warploom::{Driver, OrderedResource, PinnedPool};
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
    place: Host,
}

impl PinnedPool {
    /// A new pool of the host's memory, for the context's device to use.
    ///
    /// # Errors
    ///
    /// [`MemoryError::PoolUnsupported`] if the device or the driver has no such pools, and the driver's
    /// error.
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
        PinnedPool::at(context, Host::Any, options)
    }

    /// A new pool of the memory of one of the host's NUMA nodes.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::new`]; [`LocationError::NumaRefused`](crate::LocationError::NumaRefused) for a node
    /// that does not exist.
    pub fn on_numa_node(context: &Context, node: NumaId, options: PoolOptions) -> Result<PinnedPool> {
        PinnedPool::at(context, Host::Numa(node), options)
    }

    /// The pool of the host, or of one of its NUMA nodes, that is there from the start; drivers have it since
    /// 13.0. It is not made by this and does not end with it, and stays open to the context's device.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::on_numa_node`].
    #[doc(alias = "cuMemGetDefaultMemPool")]
    pub fn default_of(context: &Context, place: Host) -> Result<PinnedPool> {
        PinnedPool::over(context, place, |raw| DriverPool::default_of(context, PoolMemory::Pinned, raw))
    }

    /// The pool that is allocated from now where none is named: the default one, unless another was made
    /// current by calling the driver.
    ///
    /// A pool that was made here is shared: it stays until this value ends, too.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::default_of`], and [`MemoryError::Untracked`] for a pool that other code has made, or
    /// that was made for another context: see [`PinnedPool::current_untracked`].
    #[doc(alias = "cuMemGetMemPool")]
    pub fn current(context: &Context, place: Host) -> Result<PinnedPool> {
        PinnedPool::over(context, place, |raw| DriverPool::current(context, PoolMemory::Pinned, raw))
    }

    /// The pool that is allocated from now where none is named, whichever code has made it. It does not end
    /// with this value, and stays open to the context's device.
    ///
    /// # Errors
    ///
    /// As [`PinnedPool::default_of`].
    ///
    /// # Safety
    ///
    /// The pool is not destroyed before the last handle to it and the last buffer from it have been dropped.
    pub unsafe fn current_untracked(context: &Context, place: Host) -> Result<PinnedPool> {
        // SAFETY: the caller vouches for the pool's life.
        let find = |raw| unsafe { DriverPool::current_untracked(context, PoolMemory::Pinned, raw) };
        PinnedPool::over(context, place, find)
    }

    fn at(context: &Context, place: Host, options: PoolOptions) -> Result<PinnedPool> {
        PinnedPool::over(context, place, |raw| DriverPool::new(context, PoolMemory::Pinned, raw, options))
    }

    /// A pool that `get` makes or finds.
    fn over(
        context: &Context,
        place: Host,
        get: impl FnOnce(CUmemLocation) -> Result<Arc<DriverPool>>,
    ) -> Result<PinnedPool> {
        let device = context.device();
        let unsupported = MemoryError::PoolUnsupported { of: "page-locked memory", device: device.ordinal() };
        let known = device.has(match place {
            Host::Any => DeviceAttribute::HostMemoryPoolsSupported,
            Host::Numa(_) | Host::NumaCurrent => DeviceAttribute::HostNumaMemoryPoolsSupported,
        })?;
        if known == Some(false) {
            return Err(unsupported.into());
        }
        match get(Location::from(place).to_raw()) {
            Ok(shared) => Ok(PinnedPool { shared, place }),
            Err(error) if known.is_none() && is_unknown_to_driver(place, &error) => Err(unsupported.into()),
            Err(error) => Err(error),
        }
    }

    /// The location of its memory, as it was asked for: any of the host's, or a NUMA node.
    ///
    /// ```
    /// use warploom::{Driver, Host, NumaId, PinnedPool, PoolOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let node = NumaId::try_from(0_u32)?;
    /// let pool = PinnedPool::on_numa_node(&context, node, PoolOptions::new())?;
    /// assert_eq!(pool.location(), Host::Numa(node));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn location(&self) -> Host {
        self.place
    }
}

/// `true` if a driver that does not know the attribute has no such pools: it refuses a location of the host
/// as a whole, which came later than pools of NUMA nodes did.
fn is_unknown_to_driver(place: Host, error: &Error) -> bool {
    match error {
        Error::Driver(warploom_driver::Error::Unsupported { .. }) => place == Host::Any,
        _ => match error.code() {
            Some(CUresult::CUDA_ERROR_NOT_SUPPORTED) => true,
            Some(CUresult::CUDA_ERROR_INVALID_VALUE) => place == Host::Any,
            _ => false,
        },
    }
}
