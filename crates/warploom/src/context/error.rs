//! Errors of contexts: stale, foreign, or of another device.

use crate::Limit;

/// A context that cannot be used, or not together with the rest of the call.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ContextError {
    /// The device's primary context was reset, which ended everything made in it.
    #[error(
        "device {device} was reset: this belongs to generation {expected} of its primary context, which is now in generation \
         {found}; ask the device for its context again"
    )]
    Stale {
        /// The device.
        device: u32,
        /// The generation that the value belongs to.
        expected: u64,
        /// The generation that the context is in, or will be in when it is next asked for.
        found: u64,
    },

    /// The stream and the memory belong to different contexts.
    #[error(
        "the stream belongs to device {stream}, the memory to device {memory}; use a stream of the memory's context"
    )]
    Mismatch {
        /// The stream's device.
        stream: u32,
        /// The memory's device.
        memory: u32,
    },

    /// The current context was created by other code, which may destroy it.
    #[error(
        "the current context, of device {device}, is neither a primary one nor made here; take it over with from_raw"
    )]
    Untracked {
        /// Its device.
        device: u32,
    },

    /// The handle is null.
    #[error("a null handle is no context")]
    Null,

    /// The device has no such limit.
    #[error("device {device} does not have {limit} as a limit, or its driver is older than that; leave it out")]
    UnsupportedLimit {
        /// The limit.
        limit: Limit,
        /// The device.
        device: u32,
    },

    /// The limit can be read only.
    #[error("{limit} of device {device} cannot be set, to {value} or otherwise; it can be read only")]
    FixedLimit {
        /// The limit.
        limit: Limit,
        /// The value asked for.
        value: usize,
        /// The device.
        device: u32,
    },

    /// The driver does not take the value of a limit, which is as before.
    #[error("the driver refuses {value} for {limit} of device {device}, which stays {current}; set a smaller value")]
    LimitRefused {
        /// The limit.
        limit: Limit,
        /// The value asked for.
        value: usize,
        /// The value that it has.
        current: usize,
        /// The device.
        device: u32,
    },

    /// The watch fell behind, or its driver is gone.
    #[error(
        "the watch fell behind or its driver is gone, so that changes of contexts may be missing; make a new watch"
    )]
    WatchLost,
}
