//! The shared part of a cache: its state, and the resource below.
//!
//! The lock is held while blocks change hands, and never during a driver call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_driver::MemoryAnnotations;
use warploom_driver::sys::types::CUdeviceptr;

use super::blocks::NONE;
use super::options::{CacheOptions, OtherStreams};
use super::size::block_size;
use super::state::{Other, Search, State, Taken};
use crate::memory::allocation::Allocation;
use crate::memory::allocation_ref::AllocationRef;
use crate::memory::resource::{AnyOrdered, StreamOrdered, refuse_captured};
use crate::{Context, Device, Error, MemoryError, Result, Stream, capture};

/// Turns of a search among the blocks of other streams, which others may take and free meanwhile.
const TURNS: usize = 16;

/// A cache of blocks of a stream-ordered resource.
pub(in crate::memory) struct BlockCache {
    pub(super) state: Mutex<State>,
    pub(super) below: Arc<dyn StreamOrdered>,
    pub(super) options: CacheOptions,
    is_pinned: bool,
    /// The driver's record of blocks, if it is one that checks programs.
    annotations: Option<MemoryAnnotations>,
}

impl BlockCache {
    pub(super) fn new(below: Arc<dyn StreamOrdered>, options: CacheOptions) -> BlockCache {
        let annotations = if below.is_annotated() { None } else { below.context().driver().memory_annotations() };
        let is_pinned = below.is_pinned();
        BlockCache { state: Mutex::default(), below, options, is_pinned, annotations }
    }

    /// Everything but the shell.
    pub(super) fn take_all(&mut self) -> BlockCache {
        let (below, options, is_pinned) = (Arc::clone(&self.below), self.options, self.is_pinned);
        let state = Mutex::new(std::mem::take(&mut *self.lock()));
        BlockCache { state, below, options, is_pinned, annotations: None }
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`allocate`](crate::memory::resource::allocate), without dynamic dispatch; the block is remembered
    /// for the free.
    #[inline]
    pub(super) fn hold(this: &Arc<BlockCache>, bytes: usize, stream: &Stream) -> Result<AllocationRef> {
        this.context().serves(stream)?;
        let Taken { address, block } = if bytes == 0 { this.take_nothing(stream)? } else { this.take(bytes, stream)? };
        let (resource, home) = (AnyOrdered::Cache(Arc::clone(this), block), stream.clone());
        // SAFETY: the cache has handed it out just now, in the order of the stream, unless there are no bytes.
        Ok(AllocationRef::new(|| unsafe { Allocation::ordered((address, bytes), this.is_pinned, resource, home) }))
    }

    /// No block, for an allocation of no bytes.
    #[cold]
    fn take_nothing(&self, stream: &Stream) -> Result<Taken> {
        refuse_captured(|| self.name(), stream)?;
        Ok(Taken { address: 0, block: NONE })
    }

    #[inline]
    fn take(&self, bytes: usize, stream: &Stream) -> Result<Taken> {
        refuse_captured(|| self.name(), stream)?;
        stream.check_thread()?;
        let size = block_size(bytes).ok_or(MemoryError::TooLarge { len: bytes, element: 1 })?;
        let taken = self.lock().take(size, stream);
        let taken = match taken {
            Some(taken) => taken,
            None => self.take_elsewhere(size, stream)?,
        };
        if let Some(annotations) = &self.annotations {
            self.lend(annotations, taken, bytes, stream)?;
        }
        Ok(taken)
    }

    /// Tells a driver that checks programs of a block that changes hands. If that fails, the block is free
    /// again.
    #[cold]
    fn lend(&self, annotations: &MemoryAnnotations, taken: Taken, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the block is memory of the resource below, and the stream is alive.
        let lent = stream.signal(|raw| unsafe { annotations.lend(taken.address, bytes, raw) });
        if lent.is_err() {
            self.lock().give(taken.address, taken.block, stream);
        }
        lent
    }

    #[cold]
    #[inline(never)]
    fn take_elsewhere(&self, size: usize, stream: &Stream) -> Result<Taken> {
        if let Some(taken) = self.take_from_others(size, stream)? {
            return Ok(taken);
        }
        if let Some(taken) = self.take_after_adopting(size, stream)? {
            return Ok(taken);
        }
        self.take_new(size, stream)
    }

    /// A block that another stream has freed.
    fn take_from_others(&self, size: usize, stream: &Stream) -> Result<Option<Taken>> {
        let mut declined = Vec::new();
        for _ in 0..TURNS {
            let search = self.lock().take_from_others(size, stream, &declined);
            match search {
                Search::Found(taken) => return Ok(Some(taken)),
                Search::Nothing => return Ok(None),
                Search::Behind(other) if self.comes_after(stream, &other)? => self.lock().saw(stream, &other),
                Search::Behind(other) => declined.push(other.lane),
            }
        }
        Ok(None)
    }

    /// Makes a stream come after the work of another so far; `false` if that is not wanted, or not to be had.
    fn comes_after(&self, stream: &Stream, other: &Other) -> Result<bool> {
        let other = other.stream.for_teardown();
        match self.options.other_streams {
            OtherStreams::Wait => stream.follow(&other).map(|()| true),
            OtherStreams::Idle if capture::any() && capture::of(&other).is_some() => Ok(false),
            OtherStreams::Idle => other.is_idle(),
            OtherStreams::Never => Ok(false),
        }
    }

    /// A block of memory that other streams have freed, coalesced.
    fn take_after_adopting(&self, size: usize, stream: &Stream) -> Result<Option<Taken>> {
        let others = self.lock().others(size, stream);
        for other in &others {
            if self.comes_after(stream, other)? {
                self.lock().adopt(stream, other);
            }
        }
        drop(others);
        let idle = self.lock().take_idle_lanes();
        drop(idle); // without the lock: streams may end with them
        Ok(self.lock().take(size, stream))
    }

    /// A block of new memory. If the resource below has too little, or a limit is reached, all unused memory
    /// is given back first.
    fn take_new(&self, size: usize, stream: &Stream) -> Result<Taken> {
        // A stream that takes the place of others in giving memory back waits for them.
        let order = (self.options.other_streams == OtherStreams::Wait).then_some(stream);
        if order.is_some() && self.lock().exceeds_allowance(size) {
            self.release(order, size)?;
        }
        let limit = self.options.limit;
        let mut reserved = self.lock().reserve(size, limit, false);
        if reserved.is_err() {
            self.release(order, usize::MAX)?;
            reserved = self.lock().reserve(size, limit, false);
        }
        let over_limit = |used| Error::Memory(MemoryError::OverLimit { asked: size, used, limit });
        let bytes = reserved.map_err(over_limit)?;
        match self.grow(bytes, size, stream) {
            Err(error) if error.is_out_of_memory() => {
                self.release(order, usize::MAX)?;
                let bytes = {
                    let mut state = self.lock();
                    state.statistics.retries += 1;
                    state.reserve(size, limit, true).map_err(over_limit)?
                };
                self.grow(bytes, size, stream)
            }
            grown => grown,
        }
    }

    /// A block of a new segment, whose bytes are counted as reserved.
    fn grow(&self, bytes: usize, size: usize, stream: &Stream) -> Result<Taken> {
        match self.below.allocate_raw(bytes, stream) {
            Ok(address) => Ok(self.lock().add_segment((address, bytes), size, stream)),
            Err(error) => {
                self.lock().statistics.reserved -= bytes;
                Err(error)
            }
        }
    }

    /// Takes a block back, which is looked for at a position first.
    ///
    /// # Safety
    ///
    /// As for [`StreamOrdered::deallocate_raw`].
    #[inline]
    pub(in crate::memory) unsafe fn free(&self, address: CUdeviceptr, hint: usize, stream: &Stream) -> Result<()> {
        stream.refuse_captured("a free to a cache")?;
        if let Some(annotations) = &self.annotations {
            // SAFETY: the caller gives back memory of this cache, in the order of a stream that is alive.
            stream.signal(|raw| unsafe { annotations.release(address, raw) })?;
        }
        let is_known = self.lock().give(address, hint, stream);
        if is_known { Ok(()) } else { Err(MemoryError::OtherResource.into()) }
    }
}

// SAFETY: blocks are parts of segments of the resource below, which are as large as they say and do not
// overlap. A block is handed out once until it is freed: in the order of the stream that freed it or
// allocated its segment, or of one that waits for that stream.
unsafe impl StreamOrdered for BlockCache {
    #[inline]
    fn context(&self) -> &Context {
        self.below.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        self.context().serves(stream)?;
        self.take(bytes, stream).map(|taken| taken.address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { self.free(address, NONE, stream) }
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

    fn is_annotated(&self) -> bool {
        self.annotations.is_some() || self.below.is_annotated()
    }

    fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        self.below.is_open_to(device)
    }
}
