//! Errors of copies.

/// A copy that was refused before the driver was called.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CopyError {
    /// Source and destination have different lengths.
    #[error("{source_len} values cannot be copied to {destination_len}; the lengths must be equal")]
    LengthMismatch {
        /// The values of the source.
        source_len: usize,
        /// The values of the destination.
        destination_len: usize,
    },

    /// Source and destination have different widths or heights.
    #[error(
        "rows of width and height {source_shape:?} cannot be copied to rows of {destination_shape:?}; both must be equal"
    )]
    ShapeMismatch {
        /// Width and height of the source.
        source_shape: (usize, usize),
        /// Width and height of the destination.
        destination_shape: (usize, usize),
    },

    /// Source and destination are volumes of different extents.
    #[error(
        "a volume of width, height and depth {source_extent:?} cannot be copied to one of {destination_extent:?}; all must be \
         equal"
    )]
    ExtentMismatch {
        /// Width, height and depth of the source.
        source_extent: (usize, usize, usize),
        /// Width, height and depth of the destination.
        destination_extent: (usize, usize, usize),
    },

    /// Source and destination overlap.
    #[error("{bytes} bytes from {from:#x} on overlap as many from {to:#x} on; copy through another buffer")]
    Overlap {
        /// The address of the source.
        from: u64,
        /// The address of the destination.
        to: u64,
        /// The length of both.
        bytes: usize,
    },

    /// The stream belongs to neither device of a copy between devices.
    #[error(
        "the stream belongs to device {stream}, the copy is from device {from} to device {to}; use a stream of the context of \
         either"
    )]
    StreamMismatch {
        /// The stream's device.
        stream: u32,
        /// The source's.
        from: u32,
        /// The destination's.
        to: u32,
    },

    /// The legacy default stream takes neither copies with options nor discards.
    #[error("the legacy default stream takes neither copies with options nor discards; use another stream")]
    LegacyStream,

    /// A copy with options cannot be captured.
    #[error("the stream is being captured, and a copy with options cannot be; copy without options")]
    Capturing,

    /// A source that was allocated in the order of a stream cannot be read out of that order.
    #[error(
        "the source was allocated in the order of a stream, and cannot be read out of order; use SourceOrder::Stream, or memory \
         that is allocated at once"
    )]
    SourceOrder,

    /// The driver has no call that reads the source before it returns; between devices, none has.
    #[error(
        "no call here reads a source before it returns; use SourceOrder::Stream, and wait before changing the source"
    )]
    DuringCall,
}
