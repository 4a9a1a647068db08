//! Errors of sharing memory and events with other processes.

use std::io;

use crate::Uuid;

/// A descriptor that is not valid here, a value that cannot be shared, or a failed message between processes.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IpcError {
    /// A descriptor has too few or too many bytes.
    #[error("a {what} has {expected} bytes, not {found}; pass on all that the exporter wrote, and nothing else")]
    Length {
        /// The kind of descriptor.
        what: &'static str,
        /// The bytes that there are.
        found: usize,
        /// The bytes that there must be.
        expected: usize,
    },

    /// The bytes are not a descriptor, or one of another kind.
    #[error("the bytes are not a {what} of this library; pass on what its exporter wrote")]
    NotADescriptor {
        /// The kind of descriptor that was expected.
        what: &'static str,
    },

    /// The descriptor was written by a library with another format.
    #[error("the {what} has format {found}, and this library reads format {known}; use the same version in both")]
    Version {
        /// The kind of descriptor.
        what: &'static str,
        /// The descriptor's format.
        found: u16,
        /// The format that is read here.
        known: u16,
    },

    /// The checksum of a descriptor is not that of its bytes.
    #[error("the {what} was altered on its way: its checksum is wrong; send it again")]
    Altered {
        /// The kind of descriptor.
        what: &'static str,
    },

    /// The descriptor was made on another machine, or before this one was started again.
    #[error("the {what} was made on another machine, or before a restart of this one; export it again, here")]
    OtherMachine {
        /// The kind of descriptor.
        what: &'static str,
    },

    /// The descriptor was made in this process.
    #[error("the {what} was made in this process; use the exported value itself")]
    OwnProcess {
        /// The kind of descriptor.
        what: &'static str,
    },

    /// The descriptor is that of another kind of memory.
    #[error("the {what} is one of {found} memory, not of {expected} memory; import it as the kind that it is")]
    OtherMemory {
        /// The kind of descriptor.
        what: &'static str,
        /// The memory of the descriptor.
        found: SharedMemory,
        /// The memory that is imported there.
        expected: SharedMemory,
    },

    /// The memory is that of another device than the context's.
    #[error("the memory is that of device {found}, not of {expected}; import it in a context of its own device")]
    OtherDevice {
        /// The device of the memory.
        found: Uuid,
        /// The context's device.
        expected: Uuid,
    },

    /// The driver mapped memory of another device than the pool's.
    #[error("the imported memory is that of device {found}, not of device {expected}; it is not handed out")]
    MappedElsewhere {
        /// The ordinal of the device whose memory it is.
        found: i32,
        /// The ordinal of the pool's device.
        expected: u32,
    },

    /// The pool has been imported for another context of this process.
    #[error("pool {pool} is imported for another context of this process; use that import, or drop it first")]
    OtherContext {
        /// The pool.
        pool: Uuid,
    },

    /// The pool was imported, and its last import is not over yet.
    #[error("the last import of pool {pool} is not over: it ends with a capture; end that, and import again")]
    Ending {
        /// The pool.
        pool: Uuid,
    },

    /// The buffer is one of another pool.
    #[error("the buffer is one of pool {found}, not of pool {expected}; import it from its own pool")]
    OtherPool {
        /// The buffer's pool.
        found: Uuid,
        /// The pool that it was to be imported from.
        expected: Uuid,
    },

    /// The descriptor claims more bytes than the driver mapped.
    #[error("the descriptor claims {claimed} bytes, and the mapping has {mapped}; it is not handed out")]
    BeyondMapping {
        /// The bytes of the descriptor.
        claimed: u64,
        /// The bytes from its address to the end of the mapping.
        mapped: u64,
    },

    /// The descriptor claims sizes that no memory has.
    #[error("the descriptor claims {bytes} of {mapped} bytes; memory has at least 1, and fits into addresses")]
    Size {
        /// The bytes of the buffer.
        bytes: u64,
        /// The bytes of its memory.
        mapped: u64,
    },

    /// The bytes of the descriptor are not a whole number of values.
    #[error("{bytes} bytes are not a whole number of values of {size} bytes; import the type that was exported")]
    Values {
        /// The bytes of the descriptor.
        bytes: usize,
        /// The size of a value.
        size: usize,
    },

    /// The memory cannot be exported.
    #[error("memory of {resource} cannot be shared; allocate it from a pool or a resource made with shareable()")]
    NotShareable {
        /// The resource that it came from.
        resource: &'static str,
    },

    /// A buffer of no bytes, which has no memory to share.
    #[error("a buffer of 0 bytes has no memory to share; send its length only")]
    Empty,

    /// A buffer that has grown is several pieces of memory.
    #[error("the buffer has grown to {pieces} pieces of memory, and a handle is that of one; copy it into a new one")]
    Pieces {
        /// The number of pieces.
        pieces: usize,
    },

    /// An imported pool cannot allocate.
    #[error("pool {pool} is imported and cannot allocate; allocate in the process that made it, or from another pool")]
    CannotAllocate {
        /// The pool.
        pool: Uuid,
    },

    /// The device cannot share memory in this way.
    #[error("device {device} has no {what} that other processes can open; copy through memory of the host")]
    Unsupported {
        /// The device.
        device: u32,
        /// The missing feature.
        what: &'static str,
    },

    /// A message could not be sent or received.
    #[error("{doing} failed: {kind}; look at the socket and at the process at its other end")]
    Socket {
        /// The operation.
        doing: &'static str,
        /// The kind of failure.
        kind: io::ErrorKind,
    },

    /// The other process closed the socket before all of the message was there.
    #[error("the other process closed the socket after {received} of {expected} bytes; it may have ended")]
    Closed {
        /// The bytes that were received.
        received: usize,
        /// The bytes of the message.
        expected: usize,
    },

    /// A message came without exactly one file descriptor.
    #[error("the message came with {found} file descriptors, not with one; send it with PoolHandle::send and the like")]
    FileDescriptors {
        /// The number of file descriptors.
        found: usize,
    },
}

/// Kinds of memory that can be shared.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedMemory {
    /// Memory of a device.
    Device,
    /// Page-locked memory of the host.
    Pinned,
}

impl std::fmt::Display for SharedMemory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(match self {
            SharedMemory::Device => "device",
            SharedMemory::Pinned => "page-locked",
        })
    }
}

impl IpcError {
    pub(super) fn socket(doing: &'static str, error: &io::Error) -> IpcError {
        IpcError::Socket { doing, kind: error.kind() }
    }
}
