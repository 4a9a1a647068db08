//! Descriptors of buffers.

use std::fmt;

use super::IpcError;
use super::error::SharedMemory;
use super::origin::Origin;
use super::record::BUFFER;
use crate::Uuid;

/// A buffer of a shared pool, described for other processes; made by
/// [`Buffer::descriptor`](crate::Buffer::descriptor).
///
/// It is plain data: it keeps no memory, and names no stream. It travels as its
/// [bytes](BufferDescriptor::to_bytes), or with the feature `serde` as part of a message, and the receiver
/// makes a buffer of it with [`Buffer::import`](crate::Buffer::import).
///
/// Reading it back checks its length, kind, format and checksum:
///
/// ```
/// use warploom::ipc::{BufferDescriptor, IpcError};
///
/// let error = BufferDescriptor::from_bytes(&[0; 20]).unwrap_err();
/// assert_eq!(error, IpcError::NotADescriptor { what: "buffer descriptor" });
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BufferDescriptor {
    pub(crate) origin: Origin,
    pub(crate) memory: SharedMemory,
    pub(crate) pool: Uuid,
    pub(crate) bytes: u64,
    /// The driver's export data.
    pub(crate) payload: [u8; 64],
}

impl BufferDescriptor {
    /// The length of its [bytes](BufferDescriptor::to_bytes).
    pub const LEN: usize = BUFFER.len();

    /// The pool that the buffer is one of; its importer is found by
    /// [`ImportedPool::find`](super::ImportedPool::find).
    #[must_use]
    pub fn pool(&self) -> Uuid {
        self.pool
    }

    /// The size of the buffer in bytes, as its exporter says.
    #[must_use]
    pub fn size_in_bytes(&self) -> u64 {
        self.bytes
    }

    /// The kind of its memory.
    #[must_use]
    pub fn memory(&self) -> SharedMemory {
        self.memory
    }

    /// The descriptor as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; BufferDescriptor::LEN] {
        let body: [&[u8]; 3] = [self.pool.as_bytes(), &self.bytes.to_le_bytes(), &self.payload];
        BUFFER.write(self.origin, self.memory, &body)
    }

    /// The descriptor that was written as these bytes.
    ///
    /// # Errors
    ///
    /// [`IpcError::Length`], [`IpcError::NotADescriptor`], [`IpcError::Version`] or [`IpcError::Altered`].
    pub fn from_bytes(bytes: &[u8]) -> Result<BufferDescriptor, IpcError> {
        let (origin, memory, mut body) = BUFFER.read(bytes)?;
        let fields = (|| Some((body.take()?, body.take()?, body.take()?)))();
        let (pool, bytes, payload) = fields.ok_or(IpcError::NotADescriptor { what: BUFFER.what })?;
        let (pool, bytes) = (Uuid::from_bytes(pool), u64::from_le_bytes(bytes));
        Ok(BufferDescriptor { origin, memory, pool, bytes, payload })
    }

    /// Refuses one that was not made for this process to import.
    pub(crate) fn check_origin(&self) -> Result<(), IpcError> {
        self.origin.check(BUFFER.what)
    }
}

impl fmt::Debug for BufferDescriptor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("BufferDescriptor");
        text.field("pool", &self.pool).field("bytes", &self.bytes).field("memory", &self.memory);
        text.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_descriptor_is_read_as_it_was_written() {
        let descriptor = BufferDescriptor {
            origin: Origin::here().unwrap(),
            memory: SharedMemory::Pinned,
            pool: Uuid::from_bytes([5; 16]),
            bytes: u64::MAX - 1,
            payload: std::array::from_fn(|at| at as u8),
        };
        assert_eq!(BufferDescriptor::from_bytes(&descriptor.to_bytes()), Ok(descriptor));
    }
}
