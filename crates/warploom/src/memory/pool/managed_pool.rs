//! `ManagedPool`: stream-ordered allocation of managed memory.
#![expect(unsafe_code, reason = "trusts a pool of other code to stay alive")]

use std::sync::Arc;

use warploom_driver::sys::types::{CUmemLocation, CUmemLocationType, CUresult};

use super::driver_pool::{DriverPool, PoolMemory};
use crate::device::same_driver;
use crate::memory::managed::{ManagedBuffer, warn_of_exclusive_access};
use crate::{
    Context, DeviceAttribute, DeviceCopy, Error, Location, ManagedError, MemoryError, OrderedResource, PoolOptions,
    Queue, Result,
};

/// A pool of managed memory, allocated and freed in the order of a stream. Drivers have it since 13.0;
/// [`ManagedMemory`](crate::ManagedMemory) is there on older ones, too.
///
/// ```
/// use warploom::{Driver, ManagedPool};
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
    /// A new pool, without a preferred location, for streams of the context to use.
    ///
    /// # Errors
    ///
    /// [`MemoryError::PoolUnsupported`] if the device or the driver has no such pools, and the driver's
    /// error.
    #[doc(alias = "cuMemPoolCreate")]
    pub fn new(context: &Context) -> Result<ManagedPool> {
        ManagedPool::at(context, None)
    }

    /// A new pool with a preferred location.
    ///
    /// # Errors
    ///
    /// As [`ManagedPool::new`]; [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a
    /// device of another driver, and `CUDA_ERROR_INVALID_VALUE` for a location that no pool can be at.
    pub fn preferring(context: &Context, place: impl Into<Location>) -> Result<ManagedPool> {
        ManagedPool::at(context, Some(place.into()))
    }

    /// The pool of managed memory that is there from the start for memory with a preferred location, or
    /// nowhere in particular. It is not made by this and does not end with it.
    ///
    /// ```
    /// use warploom::{Driver, ManagedPool, OrderedResource};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let pool = ManagedPool::default_of(&context, Some(context.device().into()))?;
    /// assert_eq!(pool.as_raw(), ManagedPool::current(&context, Some(context.device().into()))?.as_raw());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ManagedPool::preferring`], and [`ManagedError::NoDefaultPool`] if the driver's own pools cannot
    /// allocate managed memory.
    #[doc(alias = "cuMemGetDefaultMemPool")]
    pub fn default_of(context: &Context, preferred: Option<Location>) -> Result<ManagedPool> {
        ManagedPool::found(context, preferred, |place| DriverPool::default_of(context, PoolMemory::Managed, place))
    }

    /// The pool that managed memory is allocated from now where none is named: the default one, unless
    /// another was made current by calling the driver.
    ///
    /// A pool that was made here is shared: it stays until this value ends, too.
    ///
    /// # Errors
    ///
    /// As [`ManagedPool::default_of`], and [`MemoryError::Untracked`] for a pool that other code has made, or
    /// that was made for another context: see [`ManagedPool::current_untracked`].
    #[doc(alias = "cuMemGetMemPool")]
    pub fn current(context: &Context, preferred: Option<Location>) -> Result<ManagedPool> {
        ManagedPool::found(context, preferred, |place| DriverPool::current(context, PoolMemory::Managed, place))
    }

    /// The pool that managed memory is allocated from now where none is named, whichever code has made it. It
    /// does not end with this value.
    ///
    /// # Errors
    ///
    /// As [`ManagedPool::default_of`].
    ///
    /// # Safety
    ///
    /// The pool is not destroyed before the last handle to it and the last buffer from it have been dropped, and its memory
    /// is managed: after the current pool was destroyed, driver 580 may name the device's own pool instead.
    pub unsafe fn current_untracked(context: &Context, preferred: Option<Location>) -> Result<ManagedPool> {
        ManagedPool::found(context, preferred, |place| {
            // SAFETY: the caller vouches for the pool's life.
            unsafe { DriverPool::current_untracked(context, PoolMemory::Managed, place) }
        })
    }

    fn at(context: &Context, preferred: Option<Location>) -> Result<ManagedPool> {
        let unsupported =
            Error::Memory(MemoryError::PoolUnsupported { of: "managed memory", device: context.device().ordinal() });
        ManagedPool::over(context, preferred, unsupported, |place| {
            DriverPool::new(context, PoolMemory::Managed, place, PoolOptions::new())
        })
    }

    fn found(
        context: &Context,
        preferred: Option<Location>,
        find: impl FnOnce(CUmemLocation) -> Result<Arc<DriverPool>>,
    ) -> Result<ManagedPool> {
        let unsupported = Error::Managed(ManagedError::NoDefaultPool { device: context.device().ordinal() });
        ManagedPool::over(context, preferred, unsupported, find)
    }

    /// A pool that `get` makes or finds; `unsupported` is the error if the driver cannot.
    fn over(
        context: &Context,
        preferred: Option<Location>,
        unsupported: Error,
        get: impl FnOnce(CUmemLocation) -> Result<Arc<DriverPool>>,
    ) -> Result<ManagedPool> {
        if let Some(Location::Device(device)) = &preferred {
            same_driver(context.driver(), device.driver())?;
        }
        // The driver got both at once.
        if context.driver().table().cuMemGetMemPool.is_none() {
            return Err(
                MemoryError::PoolUnsupported { of: "managed memory", device: context.device().ordinal() }.into()
            );
        }
        let is_exclusive = context.device().has(DeviceAttribute::ConcurrentManagedAccess)? != Some(true);
        let nowhere = || CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE, 0);
        let place = preferred.as_ref().map_or_else(nowhere, Location::to_raw);
        let shared = get(place).map_err(|error| match error.code() {
            Some(CUresult::CUDA_ERROR_NOT_SUPPORTED) => unsupported,
            _ => error,
        })?;
        if is_exclusive {
            warn_of_exclusive_access(context);
        }
        Ok(ManagedPool { shared, preferred })
    }

    /// The preferred location of its memory.
    #[must_use]
    pub fn preferred_location(&self) -> Option<&Location> {
        self.preferred.as_ref()
    }

    /// A buffer of `len` uninitialised values; see [`OrderedResource::allocate`].
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    pub fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        OrderedResource::allocate(self, len, queue).map(ManagedBuffer::over)
    }

    /// A buffer of `len` values whose bytes are all 0 in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::zeroed`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        OrderedResource::zeroed(self, len, queue).map(ManagedBuffer::over)
    }

    /// A buffer with these values.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::upload`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        OrderedResource::upload(self, values, queue).map(ManagedBuffer::over)
    }
}
