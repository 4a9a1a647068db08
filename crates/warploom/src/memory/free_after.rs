//! Freeing memory after the work of a stream.
//!
//! [`DeviceMemory`](crate::DeviceMemory) and [`PinnedMemory`](crate::PinnedMemory) free their buffers when
//! everything is done that was enqueued with them through this crate. The crate does not know of work that
//! used a buffer by its raw address; `free_after` takes a stream to wait for. It belongs to the resource and
//! not to the buffer so that virtual memory, which waits for each stream by name, does not have it.

use std::fmt;
use std::sync::Arc;

use super::resource::Synchronous;
use crate::device::same_driver;
use crate::{Buffer, DeviceCopy, Error, MemoryError, Queue, Result};

/// An error of freeing a buffer, with the buffer if it is still there. `?` makes an [`Error`] of it and drops
/// the buffer, which is freed after all known uses, those of the given stream included.
pub struct FreeError<T: DeviceCopy> {
    /// The buffer, as it was; `None` if freeing it was tried and failed.
    pub buffer: Option<Buffer<T>>,
    /// The error.
    pub error: Error,
}

impl<T: DeviceCopy> fmt::Debug for FreeError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FreeError").field("buffer", &self.buffer).field("error", &self.error).finish()
    }
}

impl<T: DeviceCopy> fmt::Display for FreeError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the buffer was not freed: {}", self.error)
    }
}

impl<T: DeviceCopy> std::error::Error for FreeError<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<T: DeviceCopy> From<FreeError<T>> for Error {
    fn from(failed: FreeError<T>) -> Error {
        failed.error
    }
}

/// Waits for a stream, and frees a buffer of the resource.
pub(super) fn free_after<T: DeviceCopy, R: Synchronous>(
    resource: &Arc<R>,
    buffer: Buffer<T>,
    queue: &impl Queue,
) -> Result<(), FreeError<T>> {
    match wait(resource, &buffer, queue) {
        Ok(()) => buffer.close().map_err(|error| FreeError { buffer: None, error }),
        Err(error) => Err(FreeError { buffer: Some(buffer), error }),
    }
}

fn wait<T: DeviceCopy, R: Synchronous>(resource: &Arc<R>, buffer: &Buffer<T>, queue: &impl Queue) -> Result<()> {
    let (allocation, stream) = (buffer.allocation(), queue.stream());
    if !allocation.is_from(resource) {
        return Err(MemoryError::OtherResource.into());
    }
    same_driver(resource.context().driver(), stream.driver())?;
    // A buffer that could not be freed is returned and may be dropped, which must come after the stream, too.
    allocation.meet(stream)?;
    stream.synchronize()
}
