//! Buffers: owned device memory.
#![expect(unsafe_code, reason = "takes over memory that others made")]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use warploom_driver::sys::types::CUdeviceptr;

use super::allocation::Allocation;
use super::allocation_ref::AllocationRef;
use super::device_copy::bytes_of;
use super::slice::Span;
use crate::{Context, DeviceCopy, MemoryError, Queue, Result, Slice, SliceMut, Stream, callback};

/// Values on a device, owned the way a boxed slice owns values on the host.
///
/// It may be used on any stream of its context. Dropping it frees the memory when everything enqueued with it
/// until then is done, on whichever streams; the host does not wait if the memory came from a pool. Between
/// its creation and its end, the order of *contents* between streams is the caller's: record an
/// [`Event`](crate::Event) and wait for it.
///
/// ```
/// use warploom::{DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(4, &stream)?;
/// buffer.slice_mut(1..3)?.fill(7, &stream)?;
/// assert_eq!(buffer.download(&stream)?, [0, 7, 7, 0]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T: DeviceCopy = u8> {
    allocation: AllocationRef,
    len: usize,
    of: PhantomData<T>,
}

impl<T: DeviceCopy> Buffer<T> {
    /// All of an allocation.
    ///
    /// # Safety
    ///
    /// It has room for `len` values.
    #[inline]
    pub(super) unsafe fn over(allocation: Allocation, len: usize) -> Buffer<T> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { Buffer::held(AllocationRef::new(|| allocation), len) }
    }

    /// All of an allocation that is held already.
    ///
    /// # Safety
    ///
    /// It has room for `len` values.
    #[inline]
    pub(super) unsafe fn held(allocation: AllocationRef, len: usize) -> Buffer<T> {
        Buffer { allocation, len, of: PhantomData }
    }

    /// Memory of other code, whose owner is kept until the buffer is gone and every stream that used it
    /// through the buffer is done.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`] for more bytes than a size can say; then `owner` is dropped.
    ///
    /// # Safety
    ///
    /// There are `len` values at the address, on the device of `context`, for as long as `owner` lives, and
    /// nothing else writes them while the buffer exists.
    pub unsafe fn from_owner(
        address: CUdeviceptr,
        len: usize,
        context: &Context,
        owner: impl Any + Send + Sync,
    ) -> Result<Buffer<T>> {
        // SAFETY: the caller vouches for the memory while the owner lives.
        unsafe { Self::foreign((address, len), context, Some(Box::new(owner))) }
    }

    /// Memory of other code.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`] for more bytes than a size can say.
    ///
    /// # Safety
    ///
    /// As [`Buffer::from_owner`], and the caller sees to it that the memory outlives the buffer and all work
    /// enqueued with it.
    pub unsafe fn borrowed(address: CUdeviceptr, len: usize, context: &Context) -> Result<Buffer<T>> {
        // SAFETY: the caller vouches for the memory.
        unsafe { Self::foreign((address, len), context, None) }
    }

    /// # Safety
    ///
    /// As for [`Buffer::from_owner`]; without an owner, as for [`Buffer::borrowed`].
    unsafe fn foreign(
        (address, len): (CUdeviceptr, usize),
        context: &Context,
        keeps: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Buffer<T>> {
        let bytes = bytes_of::<T>(len).ok_or(MemoryError::TooLarge { len, element: size_of::<T>() })?;
        // SAFETY: the caller vouches for `len` values at the address.
        Ok(unsafe { Self::over(Allocation::foreign((address, bytes), context, keeps), len) })
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// `true` if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.allocation.bytes()
    }

    /// The context of its memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.allocation.context()
    }

    /// The address of its first value on the device; valid while this value is held, in the order of its
    /// stream. 0 if it was allocated without bytes.
    #[must_use]
    pub fn as_raw(&self) -> CUdeviceptr {
        self.allocation.address()
    }

    #[inline]
    pub(crate) fn allocation(&self) -> &AllocationRef {
        &self.allocation
    }

    /// Its allocation, without a number of values.
    pub(super) fn into_allocation(self) -> AllocationRef {
        self.allocation
    }

    /// Its allocation, if it is the only reference.
    pub(super) fn allocation_mut(&mut self) -> Option<&mut Allocation> {
        self.allocation.get_mut()
    }

    /// The same allocation, which has that many values now.
    ///
    /// # Safety
    ///
    /// The allocation has room for `len` values.
    pub(super) unsafe fn with_len(self, len: usize) -> Buffer<T> {
        Buffer { len, ..self }
    }

    #[inline]
    fn span(&self) -> Span<'_> {
        Span { allocation: &self.allocation, address: self.allocation.address(), len: self.len }
    }

    /// All of it, to be read.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice::over(self.span())
    }

    /// All of it, to be written.
    #[inline]
    pub fn as_slice_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::over(self.span())
    }

    /// A part of it.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if the range is not inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// A part of it, to be written.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfRange`] if the range is not inside.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T>> {
        self.as_slice_mut().slice_mut(range)
    }

    /// Pieces of `len` values; the last has the rest.
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyChunks`] if `len` is 0.
    pub fn chunks(&self, len: usize) -> Result<impl Iterator<Item = Slice<'_, T>>> {
        self.as_slice().chunks(len)
    }

    /// Pieces of `len` values, to be written; the last has the rest.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(5, &stream)?;
    /// for (number, chunk) in (1..).zip(buffer.chunks_mut(2)?) {
    ///     chunk.fill(number, &stream)?;
    /// }
    /// assert_eq!(buffer.download(&stream)?, [1, 1, 2, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::EmptyChunks`] if `len` is 0.
    pub fn chunks_mut(&mut self, len: usize) -> Result<impl Iterator<Item = SliceMut<'_, T>>> {
        self.as_slice_mut().chunks_mut(len)
    }

    /// Sets every value; see [`SliceMut::fill`].
    ///
    /// # Errors
    ///
    /// As [`SliceMut::fill`].
    pub fn fill(&mut self, value: T, queue: &impl Queue) -> Result<()> {
        self.as_slice_mut().fill(value, queue)
    }

    /// Sets every byte to 0.
    ///
    /// # Errors
    ///
    /// As [`SliceMut::zero`].
    pub fn zero(&mut self, queue: &impl Queue) -> Result<()> {
        self.as_slice_mut().zero(queue)
    }

    /// Copies everything to as many values elsewhere; see [`Slice::copy_to`].
    ///
    /// # Errors
    ///
    /// As [`Slice::copy_to`].
    pub fn copy_to<'d>(&self, destination: impl Into<SliceMut<'d, T>>, queue: &impl Queue) -> Result<()> {
        self.as_slice().copy_to(destination, queue)
    }

    /// Another buffer with the same values, from the same resource, in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NoResource`] for memory that did not come from one,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context, and
    /// the driver's error.
    pub fn duplicate(&self, queue: &impl Queue) -> Result<Buffer<T>> {
        let stream = queue.stream();
        self.context().serves(stream)?;
        let allocation = self.allocation.another(stream).ok_or(MemoryError::NoResource)??;
        // SAFETY: it has as many bytes as this one.
        let mut duplicate = unsafe { Buffer::over(allocation, self.len) };
        self.copy_to(&mut duplicate, queue)?;
        Ok(duplicate)
    }

    /// Copies everything from the host; see [`SliceMut::copy_from_host`].
    ///
    /// # Errors
    ///
    /// As [`SliceMut::copy_from_host`].
    pub fn copy_from_host(&mut self, values: &[T], queue: &impl Queue) -> Result<()> {
        self.as_slice_mut().copy_from_host(values, queue)
    }

    /// Copies everything to the host; see [`Slice::copy_to_host`].
    ///
    /// # Errors
    ///
    /// As [`Slice::copy_to_host`].
    pub fn copy_to_host(&self, values: &mut [T], queue: &impl Queue) -> Result<()> {
        self.as_slice().copy_to_host(values, queue)
    }

    /// Everything, on the host; see [`Slice::download`].
    ///
    /// # Errors
    ///
    /// As [`Slice::download`].
    pub fn download(&self, queue: &impl Queue) -> Result<Vec<T>> {
        self.as_slice().download(queue)
    }

    /// Frees the memory in the order of another stream than the one that it was allocated on; nothing waits,
    /// and nothing is freed now. All uses of the buffer are still waited for.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NotStreamOrdered`] if its memory is not freed in the order of a stream,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the stream belongs to another context.
    pub fn set_free_stream(&mut self, stream: &Stream) -> Result<()> {
        self.context().serves(stream)?;
        if self.allocation.set_order(stream) { Ok(()) } else { Err(MemoryError::NotStreamOrdered.into()) }
    }

    /// Releases the memory. If nothing else holds it, it is freed, and a failure is an error instead of a
    /// warning.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn close(self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        self.allocation.into_inner().map_or(Ok(()), Allocation::close)
    }

    /// As [`Buffer::set_free_stream`] and [`Buffer::close`].
    ///
    /// # Errors
    ///
    /// As these; an error of the first leaves the memory to its own stream.
    pub fn close_on(mut self, stream: &Stream) -> Result<()> {
        self.set_free_stream(stream)?;
        self.close()
    }
}

impl<T: DeviceCopy> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.as_raw());
        let device = self.context().device();
        formatter
            .debug_struct("Buffer")
            .field("address", &address)
            .field("len", &self.len)
            .field("device", device)
            .finish()
    }
}
