//! Asynchronous copies between page-locked memory and a device.
//!
//! The copy owns the page-locked memory: while it may run, that memory can be neither read nor written, and
//! it is freed at the earliest when the copy is done. Nothing depends on a destructor: forgetting a
//! [`Pending`] leaks the memory, no more.
#![expect(unsafe_code, reason = "copies between addresses that were checked")]

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use super::device::same_length;
use super::host::COPY;
use super::linear::{from_host, to_host};
use crate::context::Current;
use crate::device::same_driver;
use crate::memory::pinned::PinnedBuffer;
use crate::memory::slice::Span;
use crate::memory::uses::Access;
use crate::{Buffer, DeviceCopy, Event, Queue, Result, Slice, SliceMut, Stream};

/// A copy that may still be running, and the page-locked memory that it has taken along.
///
/// Dropping it frees the memory, which waits for the copy and all other work of the context, unless the
/// memory is a pool's; [`Pending::wait`] waits for the copy alone, and gives the memory back. So does
/// awaiting it, while no thread waits.
///
/// ```
/// use warploom::{DevicePool, Driver, PinnedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let device = DevicePool::new(&context)?.upload(b"from there", &stream)?;
///
/// let host = PinnedMemory::new(&context).buffer(device.len())?;
/// let receiving = device.as_slice().copy_to_pinned(host, &stream)?;
/// // … other work of the host
/// assert_eq!(receiving.wait()?.as_slice(), b"from there");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it frees the memory that the copy has taken along, and waits"]
pub struct Pending<B> {
    taken: B,
    done: Event,
}

impl<B> Pending<B> {
    /// `true` if the copy is done.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the copy or of work before it.
    pub fn is_done(&self) -> Result<bool> {
        self.done.is_complete()
    }
}

impl<T: DeviceCopy> Pending<PinnedBuffer<T>> {
    /// The point at which a stream that has met the memory needs it no longer.
    fn until_now(taken: PinnedBuffer<T>, stream: &Stream) -> Result<Pending<PinnedBuffer<T>>> {
        let done = stream.record()?;
        Ok(Pending { taken, done })
    }

    /// Waits until the copy is done, and gives the memory back.
    ///
    /// # Errors
    ///
    /// The driver's error, which may be a failure of the copy or of work before it. Then the memory does not
    /// come back, since the copy may still be running; it is freed when that is over, or never.
    pub fn wait(self) -> Result<PinnedBuffer<T>> {
        self.done.synchronize()?;
        Ok(self.taken.given_back())
    }

    /// The memory that the copy may still be using, and the point at which it no longer does.
    pub(super) fn into_parts(self) -> (PinnedBuffer<T>, Event) {
        (self.taken, self.done)
    }
}

impl<T: DeviceCopy> SliceMut<'_, T> {
    /// Copies everything from page-locked memory, in the order of `queue`; the host does not wait.
    ///
    /// # Errors
    ///
    /// [`CopyError::LengthMismatch`](crate::CopyError::LengthMismatch) if the lengths differ,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the page-locked memory belongs
    /// to another driver, and the driver's error. `pinned` does not come back with an error; it is dropped,
    /// after all work that may have been enqueued.
    #[doc(alias = "cuMemcpyHtoDAsync")]
    pub fn copy_from_pinned(self, pinned: PinnedBuffer<T>, queue: &impl Queue) -> Result<Pending<PinnedBuffer<T>>> {
        same_length(pinned.len(), self.len())?;
        let (buffer, stream) = (pinned.buffer(), queue.stream());
        let _current = meet(self.span, buffer, stream)?;
        let (driver, bytes) = (stream.driver(), self.size_in_bytes());
        let from = with_exposed_provenance(buffer.as_raw() as usize);
        if bytes > 0 {
            // SAFETY: both have that many bytes and have met the stream: each is there until the copy is
            // done. The host's values are not written before the caller gets them back.
            stream.enqueue(|raw| unsafe { from_host(driver, self.span, from, bytes, raw) })?;
        }
        self.span.allocation.did(stream, Access::Write);
        Pending::until_now(pinned, stream)
    }
}

impl<T: DeviceCopy> Slice<'_, T> {
    /// Copies everything to page-locked memory, in the order of `queue`; the host does not wait.
    ///
    /// # Errors
    ///
    /// As [`SliceMut::copy_from_pinned`].
    #[doc(alias = "cuMemcpyDtoHAsync")]
    pub fn copy_to_pinned(self, pinned: PinnedBuffer<T>, queue: &impl Queue) -> Result<Pending<PinnedBuffer<T>>> {
        same_length(self.len(), pinned.len())?;
        let (buffer, stream) = (pinned.buffer(), queue.stream());
        let _current = meet(self.span, buffer, stream)?;
        let (driver, bytes) = (stream.driver(), self.size_in_bytes());
        let to = with_exposed_provenance_mut(buffer.as_raw() as usize);
        if bytes > 0 {
            // SAFETY: both have that many bytes and have met the stream: each is there until the copy is
            // done. The host's values are neither read nor written before the caller gets them back.
            stream.enqueue(|raw| unsafe { to_host(driver, to, self.span, bytes, raw) })?;
        }
        self.span.allocation.did(stream, Access::Read);
        Pending::until_now(pinned, stream)
    }
}

/// Lets a stream use both sides of a copy. If the page-locked memory is another context's, a pool may not
/// have been opened to the stream's device; a driver was seen to crash then unless a context is current.
fn meet<'s, T: DeviceCopy>(device: Span<'_>, host: &Buffer<T>, stream: &'s Stream) -> Result<Option<Current<'s>>> {
    device.allocation.context().serves(stream)?;
    stream.refuse_captured(COPY)?;
    same_driver(host.context().driver(), stream.driver())?;
    host.context().check_generation()?;
    device.allocation.meet(stream)?;
    host.allocation().meet(stream)?;
    if let Some(current) = device.allocation.current_for(stream)? {
        return Ok(Some(current));
    }
    if host.context() == stream.context() { Ok(None) } else { stream.context().current().map(Some) }
}
