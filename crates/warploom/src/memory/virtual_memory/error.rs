//! Errors of virtual memory: reservations, mappings and growth.

/// Virtual memory that is not there, or that cannot be mapped or grown like that.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum VirtualMemoryError {
    /// The device has no virtual memory, or not this kind of it.
    #[error("device {device} has no {what}; allocate it in another way")]
    Unsupported {
        /// The device.
        device: u32,
        /// The missing feature.
        what: &'static str,
    },

    /// The alignment is not a power of two.
    #[error("an alignment of {alignment} is not a power of two; use one, or 0 for any alignment")]
    Alignment {
        /// The alignment asked for.
        alignment: usize,
    },

    /// The driver reserves no addresses with this alignment.
    #[error(
        "the driver refuses an alignment of {alignment:#x} for {bytes} bytes; all memory is aligned to {granularity:#x}: \
         ask for a smaller power of two, or 0 for any alignment"
    )]
    AlignmentRefused {
        /// The alignment asked for.
        alignment: usize,
        /// The bytes to reserve.
        bytes: usize,
        /// The alignment that all memory has.
        granularity: usize,
    },

    /// The address is not a multiple of the granularity and of the alignment asked for.
    #[error("nothing can be mapped at {address:#x}, which is not a multiple of {multiple:#x}")]
    Misaligned {
        /// The address asked for.
        address: u64,
        /// The required multiple.
        multiple: usize,
    },

    /// A buffer was to grow to fewer values.
    #[error("a buffer of {from} values cannot grow to {to}; allocate a smaller one and copy")]
    Shrinking {
        /// The values it has.
        from: usize,
        /// The values asked for.
        to: usize,
    },
}
