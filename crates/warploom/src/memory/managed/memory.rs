//! `ManagedMemory`: managed memory, allocated and freed at once.

use std::fmt;
use std::sync::Arc;

use super::{ManagedBuffer, warn_of_exclusive_access};
use crate::memory::device_memory::Plain;
use crate::memory::resource::{Synchronous, SynchronousResource};
use crate::{Context, DeviceAttribute, DeviceCopy, ManagedError, Queue, Result};

/// Managed memory, whose pages move to the device or host that touches them, allocated without a stream.
/// Freeing a buffer of it waits for everything enqueued in its context.
///
/// ```
/// use warploom::{Driver, ManagedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let buffer = ManagedMemory::new(&context)?.upload(&[1.5_f64, 2.5], &stream)?;
/// assert_eq!(buffer.download(&stream)?, [1.5, 2.5]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ManagedMemory {
    shared: Arc<Plain>,
}

impl ManagedMemory {
    /// Managed memory that belongs to a context, and that every device may use. If the device does not share
    /// it with the host while it works, a `tracing` event of level `WARN` says so, once in the lifetime of
    /// the process; so it is with pools.
    ///
    /// # Errors
    ///
    /// [`ManagedError::Unsupported`] if the device has none, and the driver's error.
    #[doc(alias = "cuMemAllocManaged")]
    pub fn new(context: &Context) -> Result<ManagedMemory> {
        let device = context.device();
        if device.has(DeviceAttribute::ManagedMemory)? == Some(false) {
            return Err(ManagedError::Unsupported { device: device.ordinal() }.into());
        }
        if device.has(DeviceAttribute::ConcurrentManagedAccess)? != Some(true) {
            warn_of_exclusive_access(context);
        }
        Ok(ManagedMemory { shared: Arc::new(Plain { context: context.clone(), is_managed: true }) })
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
    pub fn allocate<T: DeviceCopy>(&self, len: usize) -> Result<ManagedBuffer<T>> {
        SynchronousResource::allocate(self, len).map(ManagedBuffer::over)
    }

    /// A buffer of `len` values whose bytes are all 0 in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        SynchronousResource::zeroed(self, len, queue).map(ManagedBuffer::over)
    }

    /// A buffer with these values.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::upload`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<ManagedBuffer<T>> {
        SynchronousResource::upload(self, values, queue).map(ManagedBuffer::over)
    }
}

impl SynchronousResource for ManagedMemory {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::<Plain>::clone(&self.shared)
    }
}

impl fmt::Debug for ManagedMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ManagedMemory").field("device", self.context().device()).finish()
    }
}
