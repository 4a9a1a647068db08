//! Bulk copies: bytes that the device moves beside the threads, counted by an `mbarrier` or by groups.

use super::atomic::{Atom, Change};

/// The form of `cp.async.bulk` and `cp.reduce.async.bulk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BulkCopy {
    pub(crate) route: Route,
    /// Combines each element of the destination with that of the source; none copies.
    pub(crate) reduction: Option<Reduction>,
    /// `true` if the bytes go to the same offset in several blocks of the cluster: a bit of the mask for each.
    pub(crate) is_multicast: bool,
}

/// The operation on each element, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) change: Change,
    pub(crate) scalar: Atom,
}

/// The memories that a bulk copy reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To shared memory of the cluster; an `mbarrier` there counts the bytes.
    GlobalToShared,
    /// From the block's own shared memory to that of a block of the cluster, counted in the same way.
    SharedToShared,
    /// From the block's own shared memory; the thread waits for groups of them.
    SharedToGlobal,
}

/// The form of `st.async` and `red.async`: registers to shared memory of the cluster, where an `mbarrier`
/// counts the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsyncStore {
    /// Bytes of an element: 4 or 8.
    pub(crate) bytes: u8,
    /// Elements: 1, 2 or 4.
    pub(crate) count: u8,
    /// Combines the value with the element that is there; none stores.
    pub(crate) reduction: Option<Reduction>,
}
