//! What can go wrong: what the driver answers, and what is refused before it is asked.

use warploom_driver::sys::types::CUresult;

/// A result whose failure is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something could not be done. A call that fails changes nothing.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The driver was asked and refused, or lacks the function.
    #[error(transparent)]
    Driver(#[from] warploom_driver::Error),

    /// There is no such device.
    #[error("device {ordinal} does not exist; the driver has {count}")]
    NoSuchDevice {
        /// The device asked for.
        ordinal: u32,
        /// How many there are.
        count: u32,
    },

    /// A buffer has at least one byte.
    #[error("a buffer of 0 bytes cannot be allocated")]
    EmptyBuffer,

    /// A copy fills its destination exactly.
    #[error("{source_len} bytes cannot be copied to {destination_len}; the lengths must be equal")]
    LengthMismatch {
        /// The bytes there are.
        source_len: usize,
        /// The bytes there is room for.
        destination_len: usize,
    },

    /// A stream works on memory of its own device.
    #[error(
        "the stream belongs to device {stream}, the memory to device {memory}; use a stream of the memory's context"
    )]
    ContextMismatch {
        /// The stream's device.
        stream: u32,
        /// The memory's device.
        memory: u32,
    },

    /// What belongs to different drivers cannot meet.
    #[error("one belongs to driver {one:?}, the other to {other:?}; copy through the host")]
    DriverMismatch {
        /// The description of one driver.
        one: String,
        /// The description of the other.
        other: String,
    },
}

impl Error {
    /// The driver's status, if the driver was called at all.
    #[must_use]
    pub fn code(&self) -> Option<CUresult> {
        match self {
            Error::Driver(error) => error.code(),
            _ => None,
        }
    }

    /// Whether there was too little memory.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_out_of_memory())
    }

    /// Whether the context is lost, and the process's use of CUDA with it.
    #[must_use]
    pub fn is_context_fatal(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_context_fatal())
    }
}

/// Reports what went wrong in a `drop`, which has nobody to tell.
pub(crate) fn report(result: Result<(), impl Into<Error>>) {
    if let Err(error) = result {
        let error: Error = error.into();
        tracing::warn!(target: "warploom", %error, "while dropping");
    }
}
