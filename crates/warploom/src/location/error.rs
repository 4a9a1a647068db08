//! Errors of naming locations.

use crate::Host;

/// A location that does not exist, or that the driver cannot be told.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LocationError {
    /// The number of a NUMA node is negative or has more than 31 bits.
    #[error("{id} is not a NUMA node; they are counted from 0 to {}", i32::MAX)]
    InvalidNumaId {
        /// The number.
        id: i64,
    },

    /// A driver before 12.2 takes no NUMA nodes.
    #[error("{host} needs driver 12.2; on this one, use the host as a whole")]
    NumaUnsupported {
        /// The location that the driver does not take.
        host: Host,
    },

    /// The driver does not take the NUMA node.
    #[error(
        "the driver refuses {host}: there is no such node, or its memory cannot be used like that; name a node that \
         the host has, or the host as a whole"
    )]
    NumaRefused {
        /// The location that the driver does not take.
        host: Host,
    },

    /// The driver places no memory of graphs there.
    #[error("the driver cannot place memory of a graph at {host}; use a device, or page-locked or managed memory")]
    GraphMemory {
        /// The location that the driver refuses.
        host: Host,
    },

    /// The driver named a kind of location that this crate does not know.
    #[error("the driver answered with a location of kind {kind}, which is newer than this crate")]
    UnknownKind {
        /// The driver's number for it.
        kind: u32,
    },
}
