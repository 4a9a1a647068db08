//! Handles of shared pools.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::error::SharedMemory;
use super::origin::Origin;
use super::record::POOL;
use super::{IpcError, recv_fd, send_fd};
use crate::{Result, Uuid};

/// A shared pool, for another process to import: a file descriptor, and the pool's UUID.
///
/// [`DevicePool::export`](crate::DevicePool::export) makes it, [`PoolHandle::send`] and
/// [`PoolHandle::receive`] pass it over a Unix socket, [`DevicePool::import`](crate::DevicePool::import)
/// imports it. It keeps the pool's memory for importers, even after the process that made the pool has ended.
pub struct PoolHandle {
    fd: OwnedFd,
    name: PoolName,
}

/// The part of a handle that is plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolName {
    pub(crate) origin: Origin,
    pub(crate) memory: SharedMemory,
    pub(crate) pool: Uuid,
    /// The device of the pool's context.
    pub(crate) device: Uuid,
}

impl PoolHandle {
    /// The length of its [bytes](PoolHandle::to_bytes).
    pub const LEN: usize = POOL.len();

    pub(crate) fn new(fd: OwnedFd, name: PoolName) -> PoolHandle {
        PoolHandle { fd, name }
    }

    /// The pool's UUID, which its buffers' descriptors name.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.name.pool
    }

    /// The kind of the pool's memory.
    #[must_use]
    pub fn memory(&self) -> SharedMemory {
        self.name.memory
    }

    /// The device of the exporter's context.
    #[must_use]
    pub fn device(&self) -> Uuid {
        self.name.device
    }

    pub(crate) fn name(&self) -> &PoolName {
        &self.name
    }

    /// Sends it to the process at the other end of a socket, which calls [`PoolHandle::receive`].
    ///
    /// # Errors
    ///
    /// As [`send_fd`].
    pub fn send(&self, socket: &UnixStream) -> Result<()> {
        send_fd(socket, &self.fd, &self.to_bytes())
    }

    /// Receives a handle that the process at the other end of a socket sent with [`PoolHandle::send`].
    ///
    /// # Errors
    ///
    /// As [`recv_fd`] and [`PoolHandle::from_parts`].
    pub fn receive(socket: &UnixStream) -> Result<PoolHandle> {
        let mut bytes = [0; PoolHandle::LEN];
        let fd = recv_fd(socket, &mut bytes)?;
        Ok(PoolHandle::from_parts(fd, &bytes)?)
    }

    /// The part that is not the file descriptor, as bytes; for programs that pass file descriptors in a way
    /// of their own.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PoolHandle::LEN] {
        let PoolName { origin, memory, pool, device } = &self.name;
        POOL.write(*origin, *memory, &[pool.as_bytes(), device.as_bytes()])
    }

    /// The handle whose parts these are.
    ///
    /// # Errors
    ///
    /// [`IpcError::Length`], [`IpcError::NotADescriptor`], [`IpcError::Version`] or [`IpcError::Altered`].
    /// The file descriptor is closed then; it is looked at by the import.
    pub fn from_parts(fd: OwnedFd, bytes: &[u8]) -> Result<PoolHandle, IpcError> {
        let (origin, memory, mut body) = POOL.read(bytes)?;
        let fields = (|| Some((body.take()?, body.take()?)))();
        let (pool, device) = fields.ok_or(IpcError::NotADescriptor { what: POOL.what })?;
        let (pool, device) = (Uuid::from_bytes(pool), Uuid::from_bytes(device));
        Ok(PoolHandle { fd, name: PoolName { origin, memory, pool, device } })
    }

    /// Another handle of the same pool.
    ///
    /// # Errors
    ///
    /// [`IpcError::Socket`] if the process has no file descriptors left.
    pub fn try_clone(&self) -> Result<PoolHandle, IpcError> {
        let fd = self.fd.try_clone().map_err(|error| IpcError::socket("duplicating a file descriptor", &error))?;
        Ok(PoolHandle { fd, name: self.name })
    }
}

impl PoolName {
    /// Refuses a pool that this process made, one of another machine, and one of other memory.
    pub(crate) fn check(&self, expected: SharedMemory) -> Result<(), IpcError> {
        self.origin.check(POOL.what)?;
        if self.memory != expected {
            return Err(IpcError::OtherMemory { what: POOL.what, found: self.memory, expected });
        }
        Ok(())
    }
}

impl AsFd for PoolHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl fmt::Debug for PoolHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("PoolHandle");
        text.field("fd", &self.fd).field("uuid", &self.uuid()).field("memory", &self.memory());
        text.field("device", &self.device()).finish()
    }
}
