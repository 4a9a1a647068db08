//! Resources that allocate and free in the order of a stream.

use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::AnyOrdered;
use super::size;
use crate::memory::allocation::Allocation;
use crate::memory::allocation_ref::AllocationRef;
use crate::{Buffer, CaptureError, Context, Device, DeviceCopy, Queue, Result, Stream, capture};

/// Memory that is allocated and freed in the order of a stream: the trait for resources of your own.
///
/// # Safety
///
/// The caller may use `bytes` bytes from the address on, on every stream that waits for the given stream,
/// until the address is given back; nothing else does. The memory belongs to [`StreamOrdered::context`]. The
/// answers of [`StreamOrdered::is_pinned`] and [`StreamOrdered::is_managed`] are true, and they and the context
/// are the same each time. Where the host can use the memory, its bytes are initialised, as a driver's are; a
/// resource that keeps freed memory for later buffers itself answers `true` to
/// [`StreamOrdered::reuses_memory`].
pub unsafe trait StreamOrdered: Send + Sync + 'static {
    /// The context of the memory.
    fn context(&self) -> &Context;

    /// Allocates; `bytes` is not 0, and the stream is of the resource's context.
    ///
    /// # Errors
    ///
    /// Any error; then nothing is allocated.
    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr>;

    /// Frees in the order of a stream, which need not be the one that it was allocated on.
    ///
    /// # Errors
    ///
    /// Any error.
    ///
    /// # Safety
    ///
    /// The address came from [`StreamOrdered::allocate_raw`] with this size and is given back once. Every use
    /// of the memory is ordered before later work on the stream, whose context has not been reset.
    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()>;

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

    /// `true` if memory goes from one buffer to the next without a call of the driver, as in a
    /// [`Cached`](crate::Cached). The host then writes no values with
    /// [padding](DeviceCopy::HAS_PADDING) to it: the next buffer would have uninitialised bytes.
    fn reuses_memory(&self) -> bool {
        false
    }

    /// `true` if it tells a driver that checks programs of the blocks that it hands out, by its
    /// [memory annotations](warploom_driver::Driver::memory_annotations); a cache above it does not tell of
    /// parts of them.
    fn is_annotated(&self) -> bool {
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

/// Refuses to allocate on a stream that is captured: the memory would be a graph's.
#[inline]
pub(in crate::memory) fn refuse_captured(name: impl FnOnce() -> &'static str, stream: &Stream) -> Result<()> {
    if capture::any() && capture::of(stream).is_some() {
        return Err(CaptureError::OrdinaryPool { resource: name() }.into());
    }
    Ok(())
}

/// A resource that allocates buffers in the order of a stream.
///
/// ```
/// use warploom::{Buffer, DevicePool, Driver, OrderedResource, Queue, Result};
///
/// fn identity(from: &impl OrderedResource, rows: usize, queue: &impl Queue) -> Result<Buffer<f32>> {
///     let host: Vec<f32> = (0..rows * rows).map(|at| f32::from(u8::from(at % (rows + 1) == 0))).collect();
///     from.upload(&host, queue)
/// }
///
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// assert_eq!(identity(&DevicePool::new(&context)?, 2, &stream)?.download(&stream)?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok(())
/// # }
/// ```
pub trait OrderedResource {
    /// The resource itself, shared: a buffer holds it.
    fn resource(&self) -> Arc<dyn StreamOrdered>;

    /// A buffer of `len` uninitialised values. It comes into being, and goes, in the order of `queue`.
    ///
    /// One of no bytes has the address 0, and the resource is not asked for it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`](crate::MemoryError::TooLarge) for more than a size can say,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context,
    /// [`CaptureError::OrdinaryPool`] if it is captured, where a [`GraphPool`](crate::GraphPool) allocates,
    /// and the driver's error: `CUDA_ERROR_OUT_OF_MEMORY` for more than there is.
    #[inline]
    fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let bytes = size::<T>(len)?;
        let allocation = allocate(self.resource(), bytes, queue.stream())?;
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::held(allocation, len) })
    }

    /// A buffer of `len` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(len, queue)?;
        buffer.zero(queue)?;
        Ok(buffer)
    }

    /// A buffer with these values. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`].
    fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        let mut buffer = self.allocate(values.len(), queue)?;
        buffer.copy_from_host(values, queue)?;
        Ok(buffer)
    }
}

/// Allocates in the order of a stream.
#[inline]
pub(in crate::memory) fn allocate<R: StreamOrdered + ?Sized>(
    resource: Arc<R>,
    bytes: usize,
    stream: &Stream,
) -> Result<AllocationRef>
where
    Arc<R>: Into<AnyOrdered>,
{
    resource.context().serves(stream)?;
    refuse_captured(|| resource.name(), stream)?;
    // Before the call: right after it, a locked instruction may have to wait for what the driver has written
    // to the device.
    let (home, is_pinned) = (stream.clone(), resource.is_pinned());
    let address = if bytes == 0 { 0 } else { resource.allocate_raw(bytes, stream)? };
    // SAFETY: the resource has allocated it just now, in the order of the stream, unless there are no bytes.
    Ok(AllocationRef::new(|| unsafe { Allocation::ordered((address, bytes), is_pinned, resource.into(), home) }))
}

impl<R: StreamOrdered> OrderedResource for Arc<R> {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        Arc::<R>::clone(self)
    }
}

impl OrderedResource for Arc<dyn StreamOrdered> {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        Self::clone(self)
    }
}
