//! Errors of fault plans.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::topology::OLDEST_DRIVER;
use crate::topology::text::{DidYouMean, Quoted, TomlError};

/// The longest delay of a call.
pub const MAX_DELAY: Duration = Duration::from_secs(3600);

/// An error in a fault plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// No driver function has this name or this form.
    #[error("no driver function is called {}{}", Quoted(name), DidYouMean(*nearest))]
    UnknownCall {
        /// The name as given.
        name: String,
        /// The known name it resembles.
        nearest: Option<&'static str>,
    },

    /// There is no such class of functions.
    #[error("unknown class {}{}; known are {}", Quoted(name), DidYouMean(*nearest), known.join(", "))]
    UnknownClass {
        /// The name as given.
        name: String,
        /// The known name it resembles.
        nearest: Option<&'static str>,
        /// Every name that would have been right.
        known: Vec<&'static str>,
    },

    /// No status code has this name.
    #[error("no status code is called {}{}", Quoted(name), DidYouMean(*nearest))]
    UnknownCode {
        /// The name as given.
        name: String,
        /// The known name it resembles.
        nearest: Option<&'static str>,
    },

    /// Success is not a fault: a program would use results that were never written.
    #[error("a fault cannot answer CUDA_SUCCESS")]
    Success,

    /// Calls are counted from 1.
    #[error("{what} is 0, expected 1 or more: calls are counted from 1")]
    Zero {
        /// The name of the count.
        what: &'static str,
    },

    /// A delay that is too long.
    #[error("a delay of {seconds} s is too long, expected at most {} s", MAX_DELAY.as_secs())]
    Delay {
        /// The delay, in whole seconds.
        seconds: u64,
    },

    /// A device that the machine does not have.
    #[error("there is no device {device}; the machine has {count}")]
    NoSuchDevice {
        /// The ordinal as given.
        device: u32,
        /// The number that there is.
        count: usize,
    },

    /// A driver version that is not below the machine's own, or that no machine can have.
    #[error("driver version {asked} cannot be had by lowering {have}, expected {} to {have}", OLDEST_DRIVER)]
    DriverVersion {
        /// The version in the plan.
        asked: i32,
        /// The machine's.
        have: i32,
    },

    /// The driver's version and symbols are settled when the machine starts.
    #[error(
        "hidden symbols and a lower driver version are settled before a driver can be opened; give this plan to \
         MachineBuilder::faults instead"
    )]
    TooLate,

    /// A mistake in a text, with its place.
    #[error(transparent)]
    Toml(#[from] Box<TomlError>),

    /// A file that could not be read at all.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The failure in the system's words.
        reason: String,
    },
}
