//! Errors of managed memory: advice, prefetch, discard and access by the host.

use crate::{Error, Location};

/// Managed memory that is not there, or that cannot be used like that.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    /// The device has no managed memory.
    #[error("device {device} has no managed memory; copy from and to page-locked memory instead")]
    Unsupported {
        /// The device.
        device: u32,
    },

    /// The driver's default pools cannot allocate managed memory.
    #[error("the driver has no pool of its own for managed memory on device {device}; make one with ManagedPool::new")]
    NoDefaultPool {
        /// The device.
        device: u32,
    },

    /// The memory is not managed.
    #[error(
        "{what}: {} not managed; allocate it from ManagedMemory or a ManagedPool",
        index.map_or_else(|| "the memory is".to_owned(), |index| format!("the memory of item {index} is"))
    )]
    NotManaged {
        /// The operation.
        what: &'static str,
        /// The item of a batch, from 0 on.
        index: Option<usize>,
    },

    /// A device of the driver must be idle while the host uses managed memory.
    #[error(
        "device {device} must be idle while the host uses managed memory; copy instead, or wait for its work and use the \
         unsafe form"
    )]
    HostAccessUnsupported {
        /// The device.
        device: u32,
    },

    /// The range has no bytes.
    #[error("{what}: there is no advice about 0 bytes; take a range that is not empty")]
    EmptyRange {
        /// The operation.
        what: &'static str,
    },

    /// The advice does not take these locations.
    #[error("{advice} cannot be {}; it takes devices and the host as a whole", list(locations))]
    LocationNotAllowed {
        /// The advice.
        advice: &'static str,
        /// All locations that it does not take, ascending.
        locations: Vec<Location>,
    },

    /// One of several changes of advice failed.
    #[error(
        "advice about {failed} failed after that about {}, and {}: {error}", list_or_nothing(applied),
        if *undone { "everything is as it was before" } else { "not everything could be taken back" }
    )]
    PartlyAdvised {
        /// The changes made before.
        applied: Vec<Location>,
        /// The change that failed.
        failed: Location,
        /// `true` if the changes made before were undone.
        undone: bool,
        /// The error of the change that failed.
        error: Box<Error>,
    },

    /// Advice about one of several ranges failed.
    #[error(
        "advice about item {index} failed, and {}: {error}",
        if *undone { "that about the items before it is as it was" } else { "not everything could be taken back" }
    )]
    AdviceFailed {
        /// The item, from 0 on.
        index: usize,
        /// `true` if the advice about the items before it was restored.
        undone: bool,
        /// The error of the item.
        error: Box<Error>,
    },

    /// The batch has no ranges.
    #[error("a batch of 0 ranges; give it at least 1")]
    EmptyBatch,

    /// A batch takes one location for all ranges, or one for each.
    #[error("{locations} locations for {ranges} ranges; give as many, or one for all")]
    LocationCount {
        /// The number of ranges.
        ranges: usize,
        /// The number of locations.
        locations: usize,
    },
}

/// `device 1, host`
fn list(locations: &[Location]) -> String {
    locations.iter().map(Location::to_string).collect::<Vec<_>>().join(", ")
}

/// As [`list`], or `nothing`.
fn list_or_nothing(locations: &[Location]) -> String {
    if locations.is_empty() { "nothing".to_owned() } else { list(locations) }
}
