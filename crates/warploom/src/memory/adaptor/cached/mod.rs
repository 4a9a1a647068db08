//! `Cached`: a stream-ordered resource that keeps freed memory for the next allocations.
//!
//! | an allocation takes | driver calls |
//! |---|---|
//! | a block that its stream has freed, or a part of one | none |
//! | a block that another stream has freed | record and wait for an event, unless it has waited already |
//! | a block of a new segment | those of the resource below |
//!
//! A *segment* is memory of the resource below. It is split into *blocks*; free neighbours of one stream are
//! coalesced. Each stream has a *lane*, its free blocks.
//!
//! A block goes from one buffer to the next without a driver call, so that padding which the host left
//! uninitialised in page-locked or managed memory would be read as bytes of other values: the host gets no
//! values with padding there to write. Bytes that a driver has copied or handed out are initialised to the
//! compiler, wherever they came from, so that device memory and memory of pools need no such rule.
#![expect(unsafe_code, reason = "hands out parts of memory that another resource answers for")]

mod block_cache;
mod blocks;
mod free_lists;
mod lane;
mod lease;
mod lock;
mod options;
mod release;
mod size;
mod state;
mod statistics;

pub(in crate::memory) use lease::Lease;
pub use options::{CacheOptions, OtherStreams};
pub use statistics::CacheStatistics;

use std::fmt;
use std::sync::Arc;

use self::block_cache::BlockCache;
use self::lease::CacheHandle;
use crate::memory::resource::{OrderedResource, StreamOrdered, size};
use crate::{Buffer, Context, DeviceCopy, Queue, Result};

/// A stream-ordered resource that keeps freed memory for the next allocations, so that most of them make no
/// driver call.
///
/// A buffer is used and dropped as one of the resource below; the memory it gives back serves the next
/// allocation on the same stream at once. A stream that has none of its own takes memory that another has
/// freed, after it was made to wait for that stream's work so far ([`OtherStreams`]). Before the cache takes
/// more memory than a sixteenth above the peak of what buffers had, it gives unused memory back. If the
/// resource below runs out of memory, everything that no buffer uses is given back to it, and the allocation
/// is tried once more.
///
/// A clone is another handle to the same cache. It ends with its last handle and buffer, and gives its memory
/// back. Until another stream takes it over, or it is given back, free memory holds the stream that freed it.
/// Advice on managed memory stays with memory that is reused. The host cannot write values with padding to
/// page-locked or managed memory of a cache
/// ([`MemoryError::ReusedPadding`](crate::MemoryError::ReusedPadding)).
///
/// ```
/// use warploom::{Cached, DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let cache = Cached::new(&DevicePool::new(&context)?);
/// for step in 0..100 {
///     let mut activations = cache.allocate::<f32>(1 << 20, &stream)?;
///     activations.fill(step as f32, &stream)?;
/// }
/// let statistics = cache.statistics();
/// assert_eq!((statistics.misses, statistics.hits), (1, 99));
/// assert_eq!(cache.release_unused()?, 4 << 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cached {
    shared: Arc<CacheHandle>,
}

impl Cached {
    /// A cache of a stream-ordered resource.
    #[must_use]
    pub fn new(resource: &impl OrderedResource) -> Cached {
        Cached::with(resource, CacheOptions::new())
    }

    /// A cache with a limit, or that treats other streams' memory differently.
    ///
    /// ```
    /// use warploom::{CacheOptions, Cached, DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let cache = Cached::with(&DevicePool::new(&context)?, CacheOptions::new().limit(8 << 20));
    /// let kept = cache.allocate::<u8>(6 << 20, &stream)?;
    /// let refused = cache.allocate::<u8>(3 << 20, &stream).map(drop);
    /// assert!(refused.is_err_and(|error| error.is_out_of_memory()));
    /// drop(kept);
    /// cache.allocate::<u8>(8 << 20, &stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with(resource: &impl OrderedResource, options: CacheOptions) -> Cached {
        let cache = BlockCache::new(resource.resource(), options);
        Cached { shared: Arc::new(CacheHandle::new(cache)) }
    }

    /// A buffer of `len` uninitialised values; see [`OrderedResource::allocate`].
    ///
    /// # Errors
    ///
    /// As [`OrderedResource::allocate`], and [`MemoryError::OverLimit`](crate::MemoryError::OverLimit) if a
    /// limit is reached.
    #[inline]
    pub fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let allocation = CacheHandle::allocate(&self.shared, size::<T>(len)?, queue.stream())?;
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::held(allocation, len) })
    }

    /// A buffer of `len` values whose bytes are all 0.
    ///
    /// # Errors
    ///
    /// As [`Cached::allocate`].
    pub fn zeroed<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        OrderedResource::zeroed(self, len, queue)
    }

    /// A buffer with these values. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// As [`Cached::allocate`].
    pub fn upload<T: DeviceCopy>(&self, values: &[T], queue: &impl Queue) -> Result<Buffer<T>> {
        OrderedResource::upload(self, values, queue)
    }

    /// The context of its memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        BlockCache::context(&self.shared)
    }

    /// Gives all memory back that no buffer uses, in the order of the streams that freed it. Returns the
    /// number of bytes. Memory of which a part is in use stays, as does memory of a stream that is captured.
    ///
    /// # Errors
    ///
    /// The driver's error, if a stream could not be made to wait, or the error of the resource below. In the
    /// latter case that memory is lost: it is not used again, and still counts as
    /// [reserved](CacheStatistics::reserved).
    pub fn release_unused(&self) -> Result<usize> {
        self.context().check_generation()?;
        self.shared.release(None, usize::MAX)
    }

    /// The statistics so far.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        self.shared.lock().statistics
    }

    /// Has [`CacheStatistics::reserved_peak`] and [`CacheStatistics::in_use_peak`] start again from the
    /// current value. The cache keeps memory for the latter: as much, and a sixteenth more.
    pub fn reset_peaks(&self) {
        let statistics = &mut self.shared.lock().statistics;
        (statistics.reserved_peak, statistics.in_use_peak) = (statistics.reserved, statistics.in_use);
    }
}

impl OrderedResource for Cached {
    fn resource(&self) -> Arc<dyn StreamOrdered> {
        Arc::<CacheHandle>::clone(&self.shared)
    }

    #[inline]
    fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        Cached::allocate(self, len, queue)
    }
}

impl fmt::Debug for Cached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cached").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}
