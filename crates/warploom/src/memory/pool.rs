//! Pools: stream-ordered allocation of device memory.
#![expect(unsafe_code, reason = "owns a raw pool")]

use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUdeviceptr, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolHandle_st,
    CUmemPoolProps, CUmemoryPool,
};

use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::memory::resource::{OrderedResource, StreamOrdered};
use crate::{Buffer, Context, DeviceCopy, PeerSet, PoolOptions, Queue, Result, Stream};

/// A pool of device memory, from which buffers are allocated in the order of a stream.
///
/// Memory that a buffer gives back stays with the pool, for the next allocation, until [`DevicePool::trim`] or the end of the
/// pool. A clone is another handle to the same pool. An own pool ends with its last handle and buffer; if it had been opened to
/// other devices ([`DevicePool::peers`]), its context's work is waited for then.
///
/// ```
/// use warploom::{DevicePool, Devices, Driver};
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
    shared: Arc<Shared>,
}

struct Shared {
    raw: Handle<CUmemPoolHandle_st>,
    context: Context,
    /// Whether the pool ends with this value; a device's own pools do not.
    owned: bool,
}

/// What a pool holds and has held, in bytes.
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
    /// What the driver answers; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
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
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, context.device().as_raw()),
            win32SecurityAttributes: null_mut(),
            maxSize: options.max_size,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, `properties` readable.
        unsafe { context.driver().cuMemPoolCreate(&raw mut raw, &raw const properties) }?;
        let pool =
            DevicePool { shared: Arc::new(Shared { raw: Handle::new(raw), context: context.clone(), owned: true }) };
        options.apply(context, raw)?;
        Ok(pool)
    }

    /// The pool that the context's device has from the start. It is not made by this and does not end with it.
    ///
    /// # Errors
    ///
    /// What the driver answers; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    #[doc(alias = "cuDeviceGetDefaultMemPool")]
    pub fn default_of(context: &Context) -> Result<DevicePool> {
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        unsafe { context.driver().cuDeviceGetDefaultMemPool(&raw mut raw, context.device().as_raw()) }?;
        Ok(DevicePool::borrowed(raw, context))
    }

    /// The pool that the context's device allocates from now where none is named: the default one, unless another was made
    /// current by calling the driver, which is up to whoever did so to keep. It does not end with this value.
    ///
    /// # Errors
    ///
    /// What the driver answers; `CUDA_ERROR_NOT_SUPPORTED` for a device without pools.
    #[doc(alias = "cuDeviceGetMemPool")]
    pub fn current(context: &Context) -> Result<DevicePool> {
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        unsafe { context.driver().cuDeviceGetMemPool(&raw mut raw, context.device().as_raw()) }?;
        Ok(DevicePool::borrowed(raw, context))
    }

    fn borrowed(raw: CUmemoryPool, context: &Context) -> DevicePool {
        DevicePool { shared: Arc::new(Shared { raw: Handle::new(raw), context: context.clone(), owned: false }) }
    }

    /// Which other devices may use its memory: a live set, made without a driver call.
    ///
    /// ```
    /// use warploom::{DevicePool, Devices, Driver, LiveSet};
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

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The driver's own handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUmemoryPool {
        self.shared.raw.raw()
    }

    /// A buffer of `len` values, whatever they are at first; see [`OrderedResource::allocate`].
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

impl OrderedResource for DevicePool {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        Arc::<Shared>::clone(&self.shared)
    }
}

// SAFETY: the driver hands memory of a pool out in stream order, once, until it is freed in stream order.
unsafe impl StreamOrdered for Shared {
    fn context(&self) -> &Context {
        &self.context
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let mut address: CUdeviceptr = 0;
        let (driver, pool) = (self.context.driver(), self.raw.raw());
        stream.context().check_generation()?;
        // SAFETY: `address` is writable; pool and stream are alive and of the same driver.
        stream.enqueue(|raw| unsafe { driver.cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, raw) })?;
        Ok(address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize, stream: &Stream) -> Result<()> {
        stream.context().check_generation()?;
        // SAFETY: the caller gives back what `allocate_raw` gave, once, in the order of a stream that is alive.
        stream.enqueue(|raw| unsafe { self.context.driver().cuMemFreeAsync(address, raw) })
    }
}

impl Shared {
    fn peers(&self) -> PeerSet<'_> {
        PeerSet::new(&self.raw, self.context.device())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // A pool that is made later may get the handle of this one, and was seen to get its grants with it. Access goes at once,
        // and peers may still be at work on buffers that were dropped: their frees come after that work, in streams of this
        // context. If the grants cannot be taken back, the pool ends all the same.
        self.peers().revoke(|| self.context.synchronize()).unwrap_or_default();
        // SAFETY: `raw` came from `cuMemPoolCreate`, and nothing else owns it. No buffer is left, since each holds its pool;
        // frees that are still enqueued are finished by the driver.
        let destroyed = unsafe { self.context.driver().cuMemPoolDestroy(self.raw.raw()) };
        report(|| Subject::Pool { device: self.context.device().ordinal() }, destroyed);
    }
}

impl fmt::Debug for DevicePool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { raw, context, .. } = &*self.shared;
        formatter.debug_struct("DevicePool").field("raw", &raw.raw()).field("device", context.device()).finish()
    }
}
