//! Errors of allocating memory and of taking parts of it.

use crate::{AccessLevel, Error, VolumeShape};

/// Memory that cannot be allocated, or not be used like that.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Memory of a graph, rows of a pitch, or memory of a resource to be wrapped, without bytes.
    #[error("0 bytes can neither be allocated by a graph or with a pitch, nor be wrapped with a resource")]
    EmptyBuffer,

    /// The size in bytes overflows.
    #[error("{len} values of {element} bytes are more than an allocation can have; allocate fewer")]
    TooLarge {
        /// The number of values.
        len: usize,
        /// The size of a value.
        element: usize,
    },

    /// The range is reversed, or exceeds the values.
    #[error("range {start}..{end} exceeds {len} values; it ends at most there, and not before it starts")]
    OutOfRange {
        /// The start of the range.
        start: usize,
        /// The end of the range.
        end: usize,
        /// The number of values.
        len: usize,
    },

    /// Chunks of no values.
    #[error("chunks of 0 values never come to an end; give them at least 1")]
    EmptyChunks,

    /// The bytes are not a whole number of aligned values.
    #[error(
        "{bytes} bytes at {address:#x} are not a whole number of values of {size} bytes that are aligned to {align}"
    )]
    Cast {
        /// The number of bytes.
        bytes: usize,
        /// Their address.
        address: u64,
        /// The size of the other type.
        size: usize,
        /// Its alignment.
        align: usize,
    },

    /// Values of a type with padding cannot be shown as values of another type.
    #[error("{padded} has padding, whose bytes are uninitialised: its values cannot be cast; give each byte a field")]
    CastPadding {
        /// The type with padding.
        padded: &'static str,
    },

    /// The host was to write values with padding to memory that a cache gives to other buffers.
    #[error(
        "{padded} has padding, whose bytes the host would leave uninitialised in memory that a cache gives to other \
         buffers; give each byte a field, or allocate without a cache"
    )]
    ReusedPadding {
        /// The type with padding.
        padded: &'static str,
    },

    /// The driver cannot fill with the value. It fills with 1, 2, 4, 8, 12 or 16 bytes, none of them padding.
    #[error(
        "memory cannot be filled with a value of {size} bytes; only with 1, 2, 4, 8, 12 or 16 bytes, or bytes that \
         are all the same, without padding; a graph and rows take no more than 4"
    )]
    Fill {
        /// The size of the value.
        size: usize,
    },

    /// The memory is not aligned for the numbers that the driver fills it with.
    #[error("memory at {address:#x} cannot be filled with numbers of {align} bytes; start at a multiple of that")]
    FillAlignment {
        /// The address of the memory.
        address: u64,
        /// The alignment that is needed.
        align: usize,
    },

    /// The memory is not page-locked.
    #[error("the memory is not page-locked memory of the host; allocate it from PinnedMemory")]
    NotPinned,

    /// The memory is not freed in the order of a stream.
    #[error("this memory is not freed in the order of a stream; only that of stream-ordered resources is")]
    NotStreamOrdered,

    /// The memory did not come from a resource, which could allocate more.
    #[error("this memory did not come from a resource; allocate from one and copy")]
    NoResource,

    /// The buffer was allocated from another resource.
    #[error("the buffer was not allocated from this resource; ask the one that it came from")]
    OtherResource,

    /// A graph, a capture or other work holds the memory, which therefore cannot be changed.
    #[error("the {bytes} bytes at {address:#x} are held by a graph or by other work; drop that first")]
    Held {
        /// The address of the memory.
        address: u64,
        /// Its size.
        bytes: usize,
    },

    /// A graph was to be launched that uses memory which the host borrows.
    #[error(
        "the graph uses {bytes} bytes at {address:#x}, which the host borrows; before the launch, drop what \
         ManagedBuffer::host returned, or make the PinnedBuffer a buffer again with into_buffer"
    )]
    HostBorrowed {
        /// The address of the memory.
        address: u64,
        /// Its size.
        bytes: usize,
    },

    /// The limit of a [`Limited`](crate::Limited) resource or of a
    /// [pool](crate::PoolOptions::max_size) is reached.
    #[error("{asked} bytes exceed the limit: {used} of {limit} are used; free some, or raise the limit")]
    OverLimit {
        /// The bytes asked for.
        asked: usize,
        /// The bytes in use.
        used: usize,
        /// The limit.
        limit: usize,
    },

    /// The device or the driver has no pools of this kind of memory.
    #[error("device {device} has no pools of {of} with this driver; allocate it without a pool")]
    PoolUnsupported {
        /// The kind of memory.
        of: &'static str,
        /// The device.
        device: u32,
    },

    /// The current pool was made by other code, which may destroy it, or for another context.
    #[error(
        "the current pool of {of} of device {device} is neither the driver's own nor one that was made here for this \
         context; make a pool, take default_of, or take this one with current_untracked and keep it alive"
    )]
    Untracked {
        /// The kind of memory.
        of: &'static str,
        /// The device.
        device: u32,
    },

    /// The device has no such access to the memory.
    #[error(
        "device {device} cannot {needs} memory at {address:#x}, of which it has {level}; allocate with another \
         VirtualOptions::own_access or peer"
    )]
    NoAccess {
        /// The device.
        device: u32,
        /// The address of the memory.
        address: u64,
        /// `read` or `write`.
        needs: &'static str,
        /// The access that it has.
        level: AccessLevel,
    },

    /// Rows that would overlap.
    #[error("rows of {width} values overlap at a pitch of {pitch}; a row is at most as wide as the pitch")]
    RowTooWide {
        /// The values of a row.
        width: usize,
        /// The values from the start of a row to the start of the next.
        pitch: usize,
    },

    /// Rows that exceed the slice.
    #[error("{height} rows of {width} values at a pitch of {pitch} exceed {len} values; take fewer or shorter rows")]
    RowsOutOfRange {
        /// The values from the start of a row to the start of the next.
        pitch: usize,
        /// The values of a row.
        width: usize,
        /// The number of rows.
        height: usize,
        /// The number of values of the slice.
        len: usize,
    },

    /// Planes that would overlap.
    #[error(
        "planes of {height} rows overlap at a distance of {plane_height}; a plane has at most as many rows as the distance"
    )]
    PlaneTooHigh {
        /// The rows of a plane.
        height: usize,
        /// The rows from the start of a plane to the start of the next.
        plane_height: usize,
    },

    /// A volume that exceeds the slice.
    #[error(
        "{} planes of {} rows of {} values, at a pitch of {} and {} rows apart, exceed {len} values; take fewer or smaller \
         planes",
        shape.depth(), shape.height(), shape.width(), shape.pitch(), shape.plane_height()
    )]
    VolumeOutOfRange {
        /// The shape of the volume.
        shape: VolumeShape,
        /// The number of values of the slice.
        len: usize,
    },

    /// The driver's pitch is not a whole number of values, unless their size is a power of two.
    #[error(
        "the driver's pitch is not a whole number of values of {element} bytes; allocate rows of bytes, or without a pitch"
    )]
    Pitch {
        /// The size of a value.
        element: usize,
    },

    /// One item of a batch was refused.
    #[error("item {index} of the batch: {error}")]
    InBatch {
        /// The item, from 0 on.
        index: usize,
        /// Its error.
        error: Box<Error>,
    },
}
