//! Leases: blocks in the hands of allocations, with the streams that they were allocated on.
//!
//! A cache lives while it has a handle or a lease, and a lane while it has a lease. Both are counted under
//! the lock of the cache, which is taken for the block anyway; so an allocation counts no reference to the
//! cache or to its stream, each of which would be a locked instruction to make and another to drop.
#![expect(unsafe_code, reason = "points to a cache and a stream that are counted elsewhere")]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;

use super::block_cache::BlockCache;
use super::blocks::NONE;
use super::lane::Home;
use super::state::{State, Taken};
use crate::memory::allocation::Allocation;
use crate::memory::allocation_ref::AllocationRef;
use crate::memory::resource::{StreamOrdered, allocate};
use crate::{Context, Device, MemoryError, Result, Stream};

/// A handle that a program has to a cache, shared by [`Cached`](super::Cached) values and by resources above.
pub(super) struct CacheHandle(Arc<BlockCache>);

/// A block in the hands of an allocation.
pub(in crate::memory) struct Lease {
    /// The cache holds itself while it has a lease.
    cache: NonNull<BlockCache>,
    /// The stream of the lane, which stays while it has a lease.
    home: NonNull<Home>,
    /// The position of the block; [`NONE`] once the lease has ended.
    block: usize,
}

// SAFETY: it gives out shared references to a cache and a stream, which may be used from any thread; and the
// last one drops the cache, which may happen on any thread.
unsafe impl Send for Lease
where
    BlockCache: Send + Sync,
    Stream: Send + Sync,
{
}
// SAFETY: as above.
unsafe impl Sync for Lease
where
    BlockCache: Send + Sync,
    Stream: Send + Sync,
{
}

/// A block that was taken and counted as leased.
#[derive(Clone, Copy)]
pub(super) struct Leased {
    taken: Taken,
    home: NonNull<Home>,
}

/// Reasons for which a cache lives, besides the references of calls.
#[derive(Default)]
pub(super) struct Holders {
    /// The cache itself, until there is neither a handle nor a lease.
    this: Option<Arc<BlockCache>>,
    handles: usize,
    leases: usize,
}

impl Holders {
    /// The cache, for another handle, which is counted.
    fn open(&mut self) -> Option<Arc<BlockCache>> {
        let this = self.this.clone()?;
        self.handles += 1;
        Some(this)
    }

    /// The cache, to be dropped without the lock, if nothing holds it any more.
    #[inline]
    fn last(&mut self) -> Option<Arc<BlockCache>> {
        if self.leases == 0 && self.handles == 0 { self.this.take() } else { None }
    }
}

impl State {
    /// As [`State::take`], for a lease.
    #[inline]
    pub(super) fn take_leased(&mut self, bytes: usize, stream: &Stream) -> Option<Leased> {
        let lane = self.lane_of(stream)?;
        let taken = self.take_of(bytes, lane)?;
        Some(self.count_lease(taken, lane, stream))
    }

    /// Counts a block that was taken for the stream as leased.
    pub(super) fn lease(&mut self, taken: Taken, stream: &Stream) -> Leased {
        let lane = self.lane_for(stream);
        self.blocks[taken.block].lane = lane;
        self.count_lease(taken, lane, stream)
    }

    #[inline]
    fn count_lease(&mut self, taken: Taken, lane: usize, stream: &Stream) -> Leased {
        self.holders.leases += 1;
        Leased { taken, home: self.lane_at(lane, stream).lease() }
    }

    /// Takes note of the end of a lease. The cache, to be dropped without the lock, if that was the last
    /// thing to hold it.
    #[inline]
    fn end_lease(&mut self, lane: usize) -> Option<Arc<BlockCache>> {
        if let Some(lane) = &mut self.lanes[lane] {
            lane.leases -= 1;
        }
        self.holders.leases -= 1;
        self.holders.last()
    }
}

impl Lease {
    /// A block of a cache.
    ///
    /// # Safety
    ///
    /// The cache has a handle or another lease, and so holds itself.
    #[inline]
    unsafe fn new(cache: &BlockCache, bytes: usize, stream: &Stream) -> Result<(CUdeviceptr, Lease)> {
        let Leased { taken, home } = cache.take_leased(bytes, stream)?;
        let lease = Lease { cache: NonNull::from(cache), home, block: taken.block };
        // If that fails, the block is free again, and the drop of the lease uncounts it.
        cache.tell_of_taken(taken, bytes, stream)?;
        Ok((taken.address, lease))
    }

    /// A block of the same cache.
    pub(in crate::memory) fn another(&self, bytes: usize, stream: &Stream) -> Result<(CUdeviceptr, Lease)> {
        // SAFETY: this is another lease.
        unsafe { Lease::new(self.cache(), bytes, stream) }
    }

    #[inline]
    fn cache(&self) -> &BlockCache {
        // SAFETY: the cache holds itself until its count of leases is 0, and this one is counted.
        unsafe { self.cache.as_ref() }
    }

    /// The resource below the cache.
    pub(in crate::memory) fn below(&self) -> &dyn StreamOrdered {
        &*self.cache().below
    }

    /// The cache as a resource, by another handle.
    pub(in crate::memory) fn resource(&self) -> Option<Arc<dyn StreamOrdered>> {
        let this = self.cache().lock().holders.open()?;
        Some(Arc::new(CacheHandle(this)))
    }

    /// The stream that the block was allocated on.
    #[inline]
    pub(in crate::memory) fn home(&self) -> &Stream {
        // SAFETY: the lane holds its home, and stays until its count of leases is 0; this one is counted. The
        // cache, which holds the lane, stays as long.
        unsafe { &self.home.as_ref().stream }
    }

    /// Gives the block back, in the order of the given stream or else of its home.
    ///
    /// # Errors
    ///
    /// Any error. Then the lease is as before, and the block stays in use after it.
    ///
    /// # Safety
    ///
    /// As for [`StreamOrdered::deallocate_raw`]; `address` is that of the block. After a success, the lease
    /// is not used any more, except that it is dropped.
    #[inline]
    pub(in crate::memory) unsafe fn end(&mut self, address: CUdeviceptr, order: Option<&Stream>) -> Result<()> {
        // Cache and home may go as soon as the lock is released; so these references are not used after that.
        // SAFETY: as in `cache` and `home`.
        let (cache, home) = unsafe { (self.cache.as_ref(), self.home.as_ref()) };
        cache.tell_of_free(address, order.unwrap_or(&home.stream))?;
        let mut state = cache.state.lock();
        let is_known = match order {
            None => state.give_to(address, self.block, home.lane),
            Some(order) => state.give(address, self.block, order),
        };
        if !is_known {
            return Err(MemoryError::OtherResource.into());
        }
        let last = state.end_lease(home.lane);
        drop(state);
        self.block = NONE;
        drop(last);
        Ok(())
    }

    /// Ends a lease whose block is not given back: the cache keeps it, and does not use it again.
    #[cold]
    #[inline(never)]
    fn abandon(&mut self) {
        // SAFETY: as in `end`.
        let (cache, home) = unsafe { (self.cache.as_ref(), self.home.as_ref()) };
        let mut state = cache.state.lock();
        let last = state.end_lease(home.lane);
        drop(state);
        drop(last);
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        if self.block != NONE {
            self.abandon();
        }
    }
}

impl CacheHandle {
    pub(super) fn new(cache: BlockCache) -> CacheHandle {
        let cache = Arc::new(cache);
        cache.state.lock().holders = Holders { this: Some(Arc::clone(&cache)), handles: 1, leases: 0 };
        CacheHandle(cache)
    }

    /// As [`allocate`](crate::memory::resource::allocate), without dynamic dispatch.
    #[inline]
    pub(super) fn allocate(this: &Arc<CacheHandle>, bytes: usize, stream: &Stream) -> Result<AllocationRef> {
        if bytes == 0 {
            return CacheHandle::allocate_nothing(this, stream);
        }
        // SAFETY: this is a handle.
        let (address, lease) = unsafe { Lease::new(this, bytes, stream) }?;
        // SAFETY: the lease is that of the block at the address, which has as many bytes.
        Ok(AllocationRef::new(|| unsafe { Allocation::leased((address, bytes), this.is_pinned, lease) }))
    }

    /// An allocation of no bytes, and without a block.
    #[cold]
    #[inline(never)]
    fn allocate_nothing(this: &Arc<CacheHandle>, stream: &Stream) -> Result<AllocationRef> {
        let resource: Arc<dyn StreamOrdered> = Arc::<CacheHandle>::clone(this);
        allocate(resource, 0, stream)
    }
}

impl Deref for CacheHandle {
    type Target = BlockCache;

    #[inline]
    fn deref(&self) -> &BlockCache {
        &self.0
    }
}

impl Drop for CacheHandle {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.holders.handles -= 1;
        let last = state.holders.last();
        drop(state);
        drop(last);
    }
}

// SAFETY: blocks are parts of segments of the resource below, which are as large as they say and do not
// overlap. A block is handed out once until it is freed: in the order of the stream that freed it or
// allocated its segment, or of one that waits for that stream.
unsafe impl StreamOrdered for CacheHandle {
    fn context(&self) -> &Context {
        self.below.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let taken = self.take(bytes, stream)?;
        self.tell_of_taken(taken, bytes, stream)?;
        Ok(taken.address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize, stream: &Stream) -> Result<()> {
        self.tell_of_free(address, stream)?;
        let is_known = self.state.lock().give(address, NONE, stream);
        if is_known { Ok(()) } else { Err(MemoryError::OtherResource.into()) }
    }

    fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    fn name(&self) -> &'static str {
        self.below.name()
    }

    fn is_managed(&self) -> bool {
        self.below.is_managed()
    }

    fn reuses_memory(&self) -> bool {
        true
    }

    fn is_annotated(&self) -> bool {
        self.annotations.is_some() || self.below.is_annotated()
    }

    fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        self.below.is_open_to(device)
    }
}
