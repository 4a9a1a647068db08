//! `DevicePool`: stream-ordered allocation of device memory.
#![expect(unsafe_code, reason = "trusts a pool of other code to stay alive")]

use std::sync::Arc;

use super::driver_pool::{DriverPool, PoolMemory};
use crate::memory::resource::OrderedResource;
use crate::{Buffer, Context, DeviceCopy, Location, PeerSet, PoolOptions, Queue, Result};

/// A pool of device memory, from which buffers are allocated in the order of a stream.
///
/// Memory that a buffer gives back stays with the pool, for the next allocation, until [`DevicePool::trim`]
/// or the end of the pool. A clone is another handle to the same pool. An own pool ends with its last handle
/// and buffer; if it had been opened to other devices ([`DevicePool::peers`]), its context's work is waited
/// for then.
///
/// ```
/// use warploom::{DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let pool = DevicePool::new(&context)?;
/// let buffer = pool.allocate::<u8>(1 << 20, &stream)?;
/// assert_eq!(pool.statistics()?.used, 1 << 20);
/// drop(buffer);
/// stream.synchronize()?;
/// assert_eq!(pool.statistics()?.used, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DevicePool {
    pub(super) shared: Arc<DriverPool>,
}

/// Statistics of a pool, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Taken from the device.
    pub reserved: u64,
    /// The most that was ever taken from the device.
    pub reserved_high: u64,
    /// In the hands of buffers.
    pub used: u64,
    /// The most that was ever in the hands of buffers.
    pub used_high: u64,
}

impl DevicePool {
    /// A new pool on the context's device.
    ///
    /// # Errors
    ///
    /// The driver's error; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    pub fn new(context: &Context) -> Result<DevicePool> {
        DevicePool::with(context, PoolOptions::new())
    }

    /// A new pool on the context's device that behaves differently.
    ///
    /// # Errors
    ///
    /// As [`DevicePool::new`]; `CUDA_ERROR_OUT_OF_MEMORY` for a maximum that has no addresses.
    #[doc(alias = "cuMemPoolCreate")]
    pub fn with(context: &Context, options: PoolOptions) -> Result<DevicePool> {
        let place = Location::from(context.device()).to_raw();
        Ok(DevicePool { shared: DriverPool::new(context, PoolMemory::Device, place, options)? })
    }

    /// The pool that the context's device has from the start. It is not made by this and does not end with
    /// it.
    ///
    /// # Errors
    ///
    /// The driver's error; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    #[doc(alias = "cuDeviceGetDefaultMemPool")]
    pub fn default_of(context: &Context) -> Result<DevicePool> {
        let place = Location::from(context.device()).to_raw();
        Ok(DevicePool { shared: DriverPool::default_of(context, PoolMemory::Device, place)? })
    }

    /// The pool that the context's device allocates from now where none is named: the default one, unless
    /// another was made current by calling the driver.
    ///
    /// A pool that was made here is shared: it stays until this value ends, too.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Untracked`](crate::MemoryError::Untracked) for a pool that other code has made, or that
    /// was made for another context: see [`DevicePool::current_untracked`]. The driver's error;
    /// `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    #[doc(alias = "cuDeviceGetMemPool")]
    pub fn current(context: &Context) -> Result<DevicePool> {
        let place = Location::from(context.device()).to_raw();
        Ok(DevicePool { shared: DriverPool::current(context, PoolMemory::Device, place)? })
    }

    /// The pool that the context's device allocates from now where none is named, whichever code has made it.
    /// It does not end with this value.
    ///
    /// # Errors
    ///
    /// The driver's error; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    ///
    /// # Safety
    ///
    /// The pool is not destroyed before the last handle to it and the last buffer from it have been dropped.
    pub unsafe fn current_untracked(context: &Context) -> Result<DevicePool> {
        let place = Location::from(context.device()).to_raw();
        // SAFETY: the caller vouches for the pool's life.
        Ok(DevicePool { shared: unsafe { DriverPool::current_untracked(context, PoolMemory::Device, place) }? })
    }

    /// The other devices that may use its memory: a live set, made without a driver call.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, LiveSet};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("hgx-a100-4")?)?;
    /// let pool = DevicePool::new(&driver.device(0)?.context()?)?;
    /// pool.peers().extend(driver.devices()?)?;
    /// assert_eq!(format!("{:?}", pool.peers()), "PeerSet { owner: 0, members: {1, 2, 3} }");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn peers(&self) -> PeerSet<'_> {
        self.shared.peers()
    }

    /// A buffer of `len` uninitialised values; see [`OrderedResource::allocate`].
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    #[doc(alias = "cuMemAllocFromPoolAsync")]
    pub fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        OrderedResource::allocate(self, len, queue)
    }

    /// A buffer of `len` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        OrderedResource::zeroed(self, len, queue)
    }

    /// A buffer with these values. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        OrderedResource::upload(self, values, queue)
    }
}
