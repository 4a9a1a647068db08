//! Resources that allocate and free at once.

use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::size;
use crate::memory::allocation::Allocation;
use crate::{Buffer, Context, Device, DeviceCopy, Queue, Result};

/// Memory that is allocated and freed at once, independent of streams: the trait for resources of your own.
///
/// # Safety
///
/// The caller may use `bytes` bytes from the address on until it is given back; nothing else does. The memory
/// belongs to [`Synchronous::context`]. The answers of [`Synchronous::free_waits_for_context`],
/// [`Synchronous::outlives_context`], [`Synchronous::is_pinned`] and [`Synchronous::is_managed`] are true, and
/// they and the context are the same each time. Where the host can use the memory, its bytes are initialised,
/// as a driver's are.
pub unsafe trait Synchronous: Send + Sync + 'static {
    /// The context of the memory.
    fn context(&self) -> &Context;

    /// Allocates; `bytes` is not 0.
    ///
    /// # Errors
    ///
    /// Any error; then nothing is allocated.
    fn allocate_raw(&self, bytes: usize) -> Result<CUdeviceptr>;

    /// Frees.
    ///
    /// # Errors
    ///
    /// Any error.
    ///
    /// # Safety
    ///
    /// The address came from [`Synchronous::allocate_raw`] with this size and is given back once. Every use
    /// of the memory is over, but for those that [`Synchronous::free_waits_for_context`] takes care of.
    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize) -> Result<()>;

    /// `true` if freeing waits for everything that was enqueued in the resource's context. If not, each
    /// stream that used a buffer is waited for before the buffer is freed.
    fn free_waits_for_context(&self) -> bool {
        false
    }

    /// `true` if the memory is still there, and has to be freed, when the context that it belongs to has been
    /// reset.
    fn outlives_context(&self) -> bool {
        false
    }

    /// `true` if the memory is page-locked memory of the host, which uses it at the same address while no
    /// stream does.
    fn is_pinned(&self) -> bool {
        false
    }

    /// The resource's name, for [leak reports](crate::leaks).
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// `true` if the memory is managed: the host and every device use it at the same address.
    fn is_managed(&self) -> bool {
        false
    }

    /// `true` if a device other than the context's may use the memory by itself; `None` if every context with
    /// peer access to the context may.
    ///
    /// # Errors
    ///
    /// Any error.
    fn is_open_to(&self, _device: &Device) -> Result<Option<bool>> {
        Ok(self.is_pinned().then_some(true))
    }
}

/// A resource that allocates buffers without a stream.
///
/// ```
/// use warploom::{DeviceMemory, Driver, SynchronousResource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let table = DeviceMemory::new(&context).upload(&[1_u64, 2, 3], &stream)?;
/// assert_eq!(table.download(&stream)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
pub trait SynchronousResource {
    /// The resource itself, shared: a buffer holds it.
    fn resource(&self) -> Arc<dyn Synchronous>;

    /// A buffer of `len` uninitialised values. One of no bytes has the address 0, and the resource is not
    /// asked for it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`](crate::MemoryError::TooLarge) for more than a size can say, and the driver's
    /// error: `CUDA_ERROR_OUT_OF_MEMORY` for more than there is.
    fn allocate<T: DeviceCopy>(&self, len: usize) -> Result<Buffer<T>> {
        let (bytes, resource) = (size::<T>(len)?, self.resource());
        let address = if bytes == 0 { 0 } else { resource.allocate_raw(bytes)? };
        // SAFETY: the resource has allocated as many bytes as these values just now, unless there are none.
        Ok(unsafe { Buffer::over(Allocation::synchronous((address, bytes), resource), len) })
    }

    /// A buffer of `len` values whose bytes are all 0 in the order of `queue`.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`], and [`ContextError::Mismatch`](crate::ContextError::Mismatch) if
    /// the queue belongs to another context.
    fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(len)?;
        buffer.zero(queue)?;
        Ok(buffer)
    }

    /// A buffer with these values. Returns when they are there.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::zeroed`].
    fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(values.len())?;
        buffer.copy_from_host(values, queue)?;
        Ok(buffer)
    }
}

impl<R: Synchronous> SynchronousResource for Arc<R> {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::<R>::clone(self)
    }
}

impl SynchronousResource for Arc<dyn Synchronous> {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Self::clone(self)
    }
}
