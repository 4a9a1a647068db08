//! Errors of NCCL.

use std::fmt;
use std::path::PathBuf;

use super::NcclVersion;
use super::load::LIBRARY_VARIABLE;
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};

/// An error of loading or calling NCCL.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NcclError {
    /// No NCCL library was found.
    #[error(
        "no NCCL found, tried {}; install it (the package libnccl2, or the Python wheel nvidia-nccl-cu13), or name its library \
         in {LIBRARY_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// The attempts, in order.
        tried: Vec<Attempt>,
    },

    /// The library lacks functions of NCCL.
    #[error("{} is not NCCL {} or newer: it has no {missing}", path.display(), NcclVersion::OLDEST)]
    NotNccl {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// The library is too old.
    #[error("NCCL {have} is too old; install {} or newer", NcclVersion::OLDEST)]
    TooOld {
        /// Its version.
        have: NcclVersion,
    },

    /// A call of NCCL failed.
    #[error("{function} failed: {code}: {detail}")]
    Call {
        /// The function that was called.
        function: &'static str,
        /// The status.
        code: NcclCode,
        /// NCCL's own words, which may be about an earlier failure.
        detail: String,
    },

    /// An operation failed after its call had returned.
    #[error("the communicator has failed: {code}: {detail}; abort it, and make a new one with the ranks that are left")]
    Failed {
        /// The error.
        code: NcclCode,
        /// NCCL's own words.
        detail: String,
    },

    /// An earlier call failed, and the other ranks may not agree with this one any more.
    #[error("a call with this communicator has failed before; abort it, and make a new one")]
    Broken,

    /// It was dropped before its work was done.
    #[error("the communicator was dropped while its streams had work, and was aborted; end it with close")]
    DroppedInUse,

    /// The driver is not the one that NCCL finds by itself.
    #[error(
        "NCCL uses the driver of this system, not {driver:?}; load that driver, or give NCCL functions of your own"
    )]
    OtherDriver {
        /// The driver that was given.
        driver: String,
    },

    /// The context is not a primary one.
    #[error("NCCL works in the primary context of device {device}, not in others; ask the device for its context")]
    NotPrimary {
        /// The device of the context that was given.
        device: u32,
    },

    /// A stream or memory belongs to another context than the communicator.
    #[error(
        "the {what} belongs to device {device}, the communicator to device {communicator}; both must have the same context"
    )]
    OtherContext {
        /// `stream` or `memory`.
        what: &'static str,
        /// Its device.
        device: u32,
        /// The communicator's device.
        communicator: u32,
    },

    /// NCCL enqueues from threads and in contexts of its own choice, where the handle of a default stream
    /// means another stream.
    #[error("NCCL takes no default stream; make one with Context::stream")]
    DefaultStream,

    /// The rank was joined twice.
    #[error("rank {rank} has been joined in this process already; each rank is joined once")]
    RankTaken {
        /// The rank.
        rank: u32,
    },

    /// Source and destination have different lengths.
    #[error("{send} values are to be sent, and {receive} received; the lengths must be equal")]
    LengthMismatch {
        /// The values to send.
        send: usize,
        /// The room for received values.
        receive: usize,
    },

    /// The rank is not below the number of ranks.
    #[error("there is no rank {rank} among {size}; they are counted from 0, and there are at most {}", i32::MAX)]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// The number of them.
        size: u32,
    },

    /// Two ranks were given the same device.
    #[error("device {device} is named twice; each rank has a device of its own")]
    SameDevice {
        /// The device.
        device: u32,
    },

    /// No ranks were given.
    #[error("no rank was given; give at least 1")]
    NoRanks,

    /// The parts of all ranks do not make up the whole.
    #[error("a part of {part} values for each of {size} ranks is not a whole of {whole} values")]
    PartMismatch {
        /// The values of one rank's part.
        part: usize,
        /// The values of the whole.
        whole: usize,
        /// The number of ranks.
        size: u32,
    },

    /// The root of a reduction has no destination.
    #[error("rank {root} is the root, which receives the result; give it memory for that")]
    NoReceiver {
        /// The root.
        root: u32,
    },

    /// The communicator belongs to another NCCL than the group.
    #[error("the communicator belongs to another NCCL than the group; make both from the same")]
    OtherLibrary,

    /// Ranks of this process do different operations.
    #[error(
        "rank {rank} was to {given}, where another rank of this process had {expected}; all ranks do the same, in the same order"
    )]
    Mismatch {
        /// The rank that differs.
        rank: u32,
        /// Its operation.
        given: String,
        /// The operation of the other rank.
        expected: String,
    },

    /// The id has the wrong length.
    #[error("{len} bytes are not a unique id, which has {}", super::raw::NCCL_UNIQUE_ID_BYTES)]
    UniqueIdLength {
        /// The number of bytes given.
        len: usize,
    },
}

impl NcclError {
    /// NCCL's status, if it was called.
    #[must_use]
    pub fn code(&self) -> Option<NcclCode> {
        match self {
            NcclError::Call { code, .. } | NcclError::Failed { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl From<NcclError> for Error {
    fn from(error: NcclError) -> Error {
        Error::Nccl(Box::new(error))
    }
}

/// NCCL's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NcclCode(pub i32);

impl NcclCode {
    /// Done, or enqueued.
    pub const SUCCESS: NcclCode = NcclCode(0);
    /// A call of the driver failed.
    pub const UNHANDLED_CUDA_ERROR: NcclCode = NcclCode(1);
    /// A call of the operating system failed.
    pub const SYSTEM_ERROR: NcclCode = NcclCode(2);
    /// A mistake of NCCL's, or memory that was overwritten.
    pub const INTERNAL_ERROR: NcclCode = NcclCode(3);
    /// An argument was wrong.
    pub const INVALID_ARGUMENT: NcclCode = NcclCode(4);
    /// The call was wrong.
    pub const INVALID_USAGE: NcclCode = NcclCode(5);
    /// Another rank, or the way to it, failed.
    pub const REMOTE_ERROR: NcclCode = NcclCode(6);
    /// Not done yet.
    pub const IN_PROGRESS: NcclCode = NcclCode(7);

    /// Its name in `nccl.h`; `None` for one that a newer NCCL invented.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            NcclCode::SUCCESS => "ncclSuccess",
            NcclCode::UNHANDLED_CUDA_ERROR => "ncclUnhandledCudaError",
            NcclCode::SYSTEM_ERROR => "ncclSystemError",
            NcclCode::INTERNAL_ERROR => "ncclInternalError",
            NcclCode::INVALID_ARGUMENT => "ncclInvalidArgument",
            NcclCode::INVALID_USAGE => "ncclInvalidUsage",
            NcclCode::REMOTE_ERROR => "ncclRemoteError",
            NcclCode::IN_PROGRESS => "ncclInProgress",
            _ => return None,
        })
    }
}

impl fmt::Display for NcclCode {
    /// `ncclRemoteError (6)`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name().unwrap_or("a code newer than those known here"), self.0)
    }
}
