//! Errors in a machine's description.

mod toml;
mod words;

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::pci::PciAddress;
use super::uuid;
use super::version::{NEWEST_DRIVER, OLDEST_DRIVER};
use crate::nearest::nearest;

pub use self::toml::{Refusal, TomlError, TomlProblem};
pub use self::words::{DidYouMean, Quoted};

/// The reason for which a topology is invalid.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A preset, a device model or another listed name that does not exist.
    #[error("unknown {what} {}{}; known are {}", Quoted(name), DidYouMean(*nearest), known.join(", "))]
    UnknownName {
        /// The kind of thing that the name should have named.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The known name it resembles.
        nearest: Option<&'static str>,
        /// Every name that would have been right.
        known: Vec<&'static str>,
    },

    /// A number beyond its limits.
    #[error("{what} is {value}, expected {}", Range(*min, *max))]
    OutOfRange {
        /// The quantity that the number counts.
        what: &'static str,
        /// The number as given.
        value: i128,
        /// The least allowed.
        min: i128,
        /// The greatest allowed.
        max: i128,
    },

    /// Text that does not have the form of what it should be.
    #[error("{what} {} is not valid: {reason}", Quoted(text))]
    Malformed {
        /// The expected kind of text.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The wrong part, or the expected form.
        reason: String,
    },

    /// A driver version that no machine can have.
    #[error(
        "driver version {version} is not supported, expected {OLDEST_DRIVER} (11.4) to {NEWEST_DRIVER} (13.4), \
         formed as major * 1000 + minor * 10"
    )]
    DriverVersion {
        /// The number as given.
        version: i32,
    },

    /// An attribute number that no driver knows.
    #[error("no device attribute has the number {number}")]
    UnknownAttribute {
        /// The number as given.
        number: i32,
    },

    /// An attribute whose value is another field of the device.
    #[error("attribute {name} follows from {origin} and cannot be set itself")]
    DerivedAttribute {
        /// The attribute.
        name: &'static str,
        /// The value that it follows from.
        origin: &'static str,
    },

    /// More devices than a machine can hold.
    #[error("{count} devices are too many, a machine holds at most {limit}")]
    TooManyDevices {
        /// The number asked for.
        count: usize,
        /// The limit.
        limit: usize,
    },

    /// An ordinal beyond the last device.
    #[error("there is no device {ordinal}, the machine has {}", Devices(*count))]
    NoSuchDevice {
        /// The ordinal as given.
        ordinal: usize,
        /// Number of devices.
        count: usize,
    },

    /// A link from a device to itself.
    #[error("device {ordinal} cannot be its own peer")]
    SelfPeer {
        /// The device.
        ordinal: usize,
    },

    /// Two devices with one UUID.
    #[error("devices {first} and {second} have the same UUID {}", uuid::format(.uuid))]
    DuplicateUuid {
        /// The lower ordinal.
        first: usize,
        /// The higher ordinal.
        second: usize,
        /// The shared value.
        uuid: [u8; 16],
    },

    /// Two devices in one PCI slot.
    #[error("devices {first} and {second} have the same PCI address {pci}")]
    DuplicatePci {
        /// The lower ordinal.
        first: usize,
        /// The higher ordinal.
        second: usize,
        /// The shared value.
        pci: PciAddress,
    },

    /// An error in one device.
    #[error("device {ordinal}: {problem}")]
    Device {
        /// The device.
        ordinal: usize,
        /// The error.
        problem: Box<TopologyError>,
    },

    /// An error in one link.
    #[error("link from device {accessor} to device {owner}: {problem}")]
    Peer {
        /// The device that would reach over the link.
        accessor: usize,
        /// The device whose memory it would reach.
        owner: usize,
        /// The error.
        problem: Box<TopologyError>,
    },

    /// A mistake in a file, with its place.
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

impl TopologyError {
    /// A name that is not in a list.
    pub(crate) fn unknown_name(what: &'static str, name: &str, known: Vec<&'static str>) -> Self {
        Self::UnknownName { what, name: name.to_owned(), nearest: nearest(name, known.iter().copied()), known }
    }

    /// A number that is not between two others.
    pub(crate) fn out_of_range(
        what: &'static str,
        value: impl Into<i128>,
        min: impl Into<i128>,
        max: impl Into<i128>,
    ) -> Self {
        Self::OutOfRange { what, value: value.into(), min: min.into(), max: max.into() }
    }

    /// Text in the wrong form.
    pub(crate) fn malformed(what: &'static str, text: &str, reason: impl Into<String>) -> Self {
        Self::Malformed { what, text: text.to_owned(), reason: reason.into() }
    }

    /// The same problem, said of one device.
    pub(super) fn of_device(self, ordinal: usize) -> Self {
        Self::Device { ordinal, problem: Box::new(self) }
    }
}

/// Limits in as few words as they need.
struct Range(i128, i128);

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{} to {}", self.0, self.1) }
    }
}

/// A number of devices.
struct Devices(usize);

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no devices"),
            1 => f.write_str("1 device"),
            count => write!(f, "{count} devices"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_offers_the_nearest_and_lists_all() {
        let error = TopologyError::unknown_name("preset", "dgxx", vec!["dgx", "laptop"]);
        assert_eq!(error.to_string(), "unknown preset \"dgxx\", did you mean \"dgx\"?; known are dgx, laptop");
    }
}
