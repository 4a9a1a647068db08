//! `DeviceMemory`: device memory, allocated and freed at once.
#![expect(unsafe_code, reason = "allocates and frees device memory")]

use std::fmt;
use std::sync::Arc;

use warploom_driver::sys::types::{CUdeviceptr, CUmemAttach_flags};

use super::free_after::{FreeError, free_after};
use super::resource::{Synchronous, SynchronousResource};
use crate::{Buffer, Context, Device, DeviceCopy, Queue, Result};

/// Plain device memory, allocated without a stream. Freeing a buffer of it waits for everything enqueued in
/// its context, so it is for long-lived memory; see [`DevicePool`](crate::DevicePool) for the rest.
///
/// ```
/// use warploom::{DeviceMemory, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let memory = DeviceMemory::new(&driver.device(0)?.context()?);
/// let buffer = memory.allocate::<f64>(1000)?;
/// assert_eq!(buffer.size_in_bytes(), 8000);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DeviceMemory {
    shared: Arc<Plain>,
}

/// Memory that is allocated at once and freed by `cuMemFree`.
pub(super) struct Plain {
    pub(super) context: Context,
    pub(super) is_managed: bool,
}

impl DeviceMemory {
    /// The memory of a context's device.
    #[must_use]
    #[doc(alias = "cuMemAlloc")]
    pub fn new(context: &Context) -> DeviceMemory {
        DeviceMemory { shared: Arc::new(Plain { context: context.clone(), is_managed: false }) }
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// A buffer of `len` uninitialised values; see [`SynchronousResource::allocate`].
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`].
    pub fn allocate<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        SynchronousResource::allocate(self, len)
    }

    /// A buffer of `len` values whose bytes are all 0 in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        SynchronousResource::zeroed(self, len, queue)
    }

    /// A buffer with these values. Returns when they are there.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        SynchronousResource::upload(self, values, queue)
    }

    /// Frees a buffer of it when everything enqueued on `queue` so far is done, and returns the error.
    ///
    /// Dropping a buffer waits for work that was enqueued with it; this also waits for work that used it by
    /// its raw address.
    ///
    /// # Errors
    ///
    /// With the buffer as it was: [`MemoryError::OtherResource`](crate::MemoryError::OtherResource) unless it
    /// was allocated here, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the queue
    /// belongs to another driver, and the driver's error of the wait, which may be a failure of that work.
    /// Without it: the driver's error of the free.
    #[doc(alias = "cuMemFree")]
    pub fn free_after<T: DeviceCopy>(&self, buffer: Buffer<T>, queue: &impl Queue) -> Result<(), FreeError<T>> {
        free_after(&self.shared, buffer, queue)
    }
}

impl SynchronousResource for DeviceMemory {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::<Plain>::clone(&self.shared)
    }
}

// SAFETY: the driver hands memory out once, until it is freed, and `cuMemFree` waits for the context of the
// memory.
unsafe impl Synchronous for Plain {
    fn context(&self) -> &Context {
        &self.context
    }

    fn allocate_raw(&self, bytes: usize) -> Result<CUdeviceptr> {
        let _current = self.context.current()?;
        let (driver, mut address) = (self.context.driver(), 0);
        // SAFETY: `address` is writable, and `_current` keeps the context current.
        unsafe {
            if self.is_managed {
                driver.cuMemAllocManaged(&raw mut address, bytes, CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0)
            } else {
                driver.cuMemAlloc_v2(&raw mut address, bytes)
            }
        }?;
        Ok(address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize) -> Result<()> {
        // SAFETY: the caller gives back an address of `allocate_raw`, once.
        Ok(unsafe { self.context.driver().cuMemFree_v2(address) }?)
    }

    fn free_waits_for_context(&self) -> bool {
        true
    }

    fn is_managed(&self) -> bool {
        self.is_managed
    }

    fn is_open_to(&self, _device: &Device) -> Result<Option<bool>> {
        Ok(self.is_managed.then_some(true))
    }

    fn name(&self) -> &'static str {
        if self.is_managed { "ManagedMemory" } else { "DeviceMemory" }
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeviceMemory").field("device", self.context().device()).finish()
    }
}
