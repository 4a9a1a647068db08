//! Statistics of a cache.

/// Statistics of a [`Cached`](super::Cached) resource. Bytes count with the rounding of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Bytes taken from the resource below, including memory that could not be given back to it.
    pub reserved: usize,
    /// The most bytes that were ever taken from the resource below.
    pub reserved_peak: usize,
    /// Bytes in the hands of buffers.
    pub in_use: usize,
    /// The most bytes that were ever in the hands of buffers.
    pub in_use_peak: usize,
    /// Bytes kept for the next allocations.
    pub cached: usize,
    /// Allocations from kept memory.
    pub hits: u64,
    /// Of these, allocations from memory that another stream had freed.
    pub crossings: u64,
    /// Allocations that took memory from the resource below.
    pub misses: u64,
    /// Blocks that were split.
    pub splits: u64,
    /// Blocks that were coalesced with a neighbour.
    pub merges: u64,
    /// Allocations that were tried again after the resource below had run out of memory.
    pub retries: u64,
    /// Segments: pieces of memory of the resource below.
    pub segments: usize,
}

impl CacheStatistics {
    #[inline]
    pub(super) fn takes(&mut self, bytes: usize) {
        self.in_use += bytes;
        self.cached -= bytes;
        self.in_use_peak = self.in_use_peak.max(self.in_use);
    }

    #[inline]
    pub(super) fn gives(&mut self, bytes: usize) {
        self.in_use -= bytes;
        self.cached += bytes;
    }

    /// Counts bytes before they are asked for.
    pub(super) fn reserves(&mut self, bytes: usize) {
        self.reserved += bytes;
        self.reserved_peak = self.reserved_peak.max(self.reserved);
    }
}
