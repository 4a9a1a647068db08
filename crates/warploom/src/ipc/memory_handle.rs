//! Handles of physical memory.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::error::SharedMemory;
use super::origin::Origin;
use super::record::MEMORY;
use super::{IpcError, recv_fd, send_fd};
use crate::{Result, Uuid};

/// The physical memory of one buffer, for another process to map: a file descriptor, and the sizes.
///
/// [`VirtualMemory::export`](crate::VirtualMemory::export) makes it, [`MemoryHandle::send`] and
/// [`MemoryHandle::receive`] pass it over a Unix socket,
/// [`VirtualMemory::import`](crate::VirtualMemory::import) maps it. It keeps the memory, even after the
/// process that made it has ended.
pub struct MemoryHandle {
    fd: OwnedFd,
    pub(crate) name: MemoryName,
}

/// The part of a handle that is plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryName {
    pub(crate) origin: Origin,
    /// The device of the memory.
    pub(crate) device: Uuid,
    /// The size of the buffer.
    pub(crate) bytes: u64,
    /// The size of the memory, which is a multiple of a granularity.
    pub(crate) mapped: u64,
}

impl MemoryHandle {
    /// The length of its [bytes](MemoryHandle::to_bytes).
    pub const LEN: usize = MEMORY.len();

    pub(crate) fn new(fd: OwnedFd, name: MemoryName) -> MemoryHandle {
        MemoryHandle { fd, name }
    }

    /// The size of the buffer in bytes, as its exporter says.
    #[must_use]
    pub fn size_in_bytes(&self) -> u64 {
        self.name.bytes
    }

    /// The device of the memory.
    #[must_use]
    pub fn device(&self) -> Uuid {
        self.name.device
    }

    /// Sends it to the process at the other end of a socket, which calls [`MemoryHandle::receive`].
    ///
    /// # Errors
    ///
    /// As [`send_fd`].
    pub fn send(&self, socket: &UnixStream) -> Result<()> {
        send_fd(socket, &self.fd, &self.to_bytes())
    }

    /// Receives a handle that the process at the other end of a socket sent with [`MemoryHandle::send`].
    ///
    /// # Errors
    ///
    /// As [`recv_fd`] and [`MemoryHandle::from_parts`].
    pub fn receive(socket: &UnixStream) -> Result<MemoryHandle> {
        let mut bytes = [0; MemoryHandle::LEN];
        let fd = recv_fd(socket, &mut bytes)?;
        Ok(MemoryHandle::from_parts(fd, &bytes)?)
    }

    /// The part that is not the file descriptor, as bytes; for programs that pass file descriptors in a way
    /// of their own.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; MemoryHandle::LEN] {
        let MemoryName { origin, device, bytes, mapped } = &self.name;
        let body: [&[u8]; 3] = [device.as_bytes(), &bytes.to_le_bytes(), &mapped.to_le_bytes()];
        MEMORY.write(*origin, SharedMemory::Device, &body)
    }

    /// The handle whose parts these are.
    ///
    /// # Errors
    ///
    /// [`IpcError::Length`], [`IpcError::NotADescriptor`], [`IpcError::Version`] or [`IpcError::Altered`],
    /// and [`IpcError::Size`] for sizes that no memory has. The file descriptor is closed then; it is looked
    /// at by the import.
    pub fn from_parts(fd: OwnedFd, bytes: &[u8]) -> Result<MemoryHandle, IpcError> {
        let (origin, _, mut body) = MEMORY.read(bytes)?;
        let fields = (|| Some((body.take()?, body.take()?, body.take()?)))();
        let (device, bytes, mapped) = fields.ok_or(IpcError::NotADescriptor { what: MEMORY.what })?;
        let (bytes, mapped) = (u64::from_le_bytes(bytes), u64::from_le_bytes(mapped));
        if bytes == 0 || bytes > mapped || mapped > isize::MAX as u64 {
            return Err(IpcError::Size { bytes, mapped });
        }
        Ok(MemoryHandle { fd, name: MemoryName { origin, device: Uuid::from_bytes(device), bytes, mapped } })
    }

    /// Refuses memory that this process made, and that of another machine.
    pub(crate) fn check_origin(&self) -> Result<(), IpcError> {
        self.name.origin.check(MEMORY.what)
    }
}

impl AsFd for MemoryHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Debug for MemoryHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("MemoryHandle");
        text.field("fd", &self.fd).field("bytes", &self.size_in_bytes()).field("device", &self.device()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::record::tests::forged;

    /// Offsets of the two sizes in a record: after 40 bytes of head and the device.
    const SIZES: usize = 56;

    fn fd() -> OwnedFd {
        UnixStream::pair().unwrap().0.into()
    }

    #[test]
    fn sizes_that_no_memory_has_are_refused() {
        let origin = Origin::here().unwrap();
        let name = MemoryName { origin, device: Uuid::from_bytes([1; 16]), bytes: 100, mapped: 2 << 20 };
        let record = MemoryHandle::new(fd(), name).to_bytes();
        assert_eq!(MemoryHandle::from_parts(fd(), &record).unwrap().name, name);
        for (bytes, mapped) in [(0_u64, 4096), (5000, 4096), (100, u64::MAX), (u64::MAX, u64::MAX), (0, 0)] {
            let sizes = [bytes.to_le_bytes(), mapped.to_le_bytes()].concat();
            let refused = MemoryHandle::from_parts(fd(), &forged(record, SIZES, &sizes)).unwrap_err();
            assert_eq!(refused, IpcError::Size { bytes, mapped });
        }
    }
}
