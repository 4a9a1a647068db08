//! Options of a cache.

/// Options of a [`Cached`](super::Cached) resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CacheOptions {
    pub(super) limit: usize,
    pub(super) other_streams: OtherStreams,
}

/// The reuse of memory that other streams have freed, where a stream has none of its own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OtherStreams {
    /// The allocating stream is made to wait for the other stream's work so far, by an event. The host does
    /// not wait.
    #[default]
    Wait,
    /// Only memory of streams that are idle, which is asked of the driver.
    Idle,
    /// None: each stream has its own memory until [`Cached::release_unused`](super::Cached::release_unused),
    /// or until the program has dropped it and it is idle.
    Never,
}

impl Default for CacheOptions {
    fn default() -> CacheOptions {
        CacheOptions::new()
    }
}

impl CacheOptions {
    /// No limit, and memory of other streams is waited for.
    pub const fn new() -> CacheOptions {
        CacheOptions { limit: usize::MAX, other_streams: OtherStreams::Wait }
    }

    /// The most bytes to take from the resource below.
    pub const fn limit(self, bytes: usize) -> CacheOptions {
        CacheOptions { limit: bytes, ..self }
    }

    /// The reuse of memory that other streams have freed.
    pub const fn other_streams(self, other_streams: OtherStreams) -> CacheOptions {
        CacheOptions { other_streams, ..self }
    }
}
