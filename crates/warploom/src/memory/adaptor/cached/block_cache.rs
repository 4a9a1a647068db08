//! The shared part of a cache: its state, and the resource below.
//!
//! The lock is held while blocks change hands, and never during a driver call.

use std::sync::Arc;

use warploom_driver::MemoryAnnotations;
use warploom_driver::sys::types::CUdeviceptr;

use super::lease::Leased;
use super::lock::{Guard, Lock};
use super::options::{CacheOptions, OtherStreams};
use super::size::block_size;
use super::state::{Other, Search, State, Taken};
use crate::memory::resource::{StreamOrdered, refuse_captured};
use crate::{Context, Error, MemoryError, Result, Stream, capture};

/// Turns of a search among the blocks of other streams, which others may take and free meanwhile.
const TURNS: usize = 16;

/// A cache of blocks of a stream-ordered resource.
pub(in crate::memory) struct BlockCache {
    pub(super) state: Lock<State>,
    pub(super) below: Arc<dyn StreamOrdered>,
    pub(super) options: CacheOptions,
    pub(super) is_pinned: bool,
    /// The driver's record of blocks, if it is one that checks programs.
    pub(super) annotations: Option<MemoryAnnotations>,
}

impl BlockCache {
    pub(super) fn new(below: Arc<dyn StreamOrdered>, options: CacheOptions) -> BlockCache {
        let annotations = if below.is_annotated() { None } else { below.context().driver().memory_annotations() };
        let is_pinned = below.is_pinned();
        BlockCache { state: Lock::default(), below, options, is_pinned, annotations }
    }

    /// Everything but the shell.
    pub(super) fn take_all(&mut self) -> BlockCache {
        let (below, options, is_pinned) = (Arc::clone(&self.below), self.options, self.is_pinned);
        let state = Lock::new(std::mem::take(self.state.get_mut()));
        BlockCache { state, below, options, is_pinned, annotations: None }
    }

    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, State> {
        self.state.lock()
    }

    #[inline]
    pub(super) fn context(&self) -> &Context {
        self.below.context()
    }

    /// A block for a lease, which is counted.
    #[inline]
    pub(super) fn take_leased(&self, bytes: usize, stream: &Stream) -> Result<Leased> {
        let size = self.size_for(bytes, stream)?;
        let leased = self.lock().take_leased(size, stream);
        match leased {
            Some(leased) => Ok(leased),
            None => self.take_elsewhere(size, stream).map(|taken| self.lock().lease(taken, stream)),
        }
    }

    /// A block that is not leased.
    pub(super) fn take(&self, bytes: usize, stream: &Stream) -> Result<Taken> {
        let size = self.size_for(bytes, stream)?;
        let taken = self.lock().take(size, stream);
        taken.map_or_else(|| self.take_elsewhere(size, stream), Ok)
    }

    /// The size of a block for so many bytes, if the stream may allocate here.
    #[inline]
    fn size_for(&self, bytes: usize, stream: &Stream) -> Result<usize> {
        self.context().serves(stream)?;
        refuse_captured(|| self.below.name(), stream)?;
        stream.check_thread()?;
        Ok(block_size(bytes).ok_or(MemoryError::TooLarge { len: bytes, element: 1 })?)
    }

    /// Tells a driver that checks programs of a block that was taken. If that fails, the block is free again.
    #[inline]
    pub(super) fn tell_of_taken(&self, taken: Taken, bytes: usize, stream: &Stream) -> Result<()> {
        match &self.annotations {
            Some(annotations) => self.lend(annotations, taken, bytes, stream),
            None => Ok(()),
        }
    }

    #[cold]
    fn lend(&self, annotations: &MemoryAnnotations, taken: Taken, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the block is memory of the resource below, and the stream is alive.
        let lent = stream.signal(|raw| unsafe { annotations.lend(taken.address, bytes, raw) });
        if lent.is_err() {
            self.lock().give(taken.address, taken.block, stream);
        }
        lent
    }

    /// Refuses a free in the order of a stream that is captured, and tells a driver that checks programs of
    /// any other.
    #[inline]
    pub(super) fn tell_of_free(&self, address: CUdeviceptr, stream: &Stream) -> Result<()> {
        stream.refuse_captured("a free to a cache")?;
        match &self.annotations {
            // SAFETY: a block of this cache is given back, in the order of a stream that is alive.
            Some(annotations) => stream.signal(|raw| unsafe { annotations.release(address, raw) }),
            None => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_elsewhere(&self, size: usize, stream: &Stream) -> Result<Taken> {
        if let Some(taken) = self.take_from_others(size, stream)? {
            let forsaken = self.lock().forsaken();
            // What cannot be had now is had later.
            drop(self.adopt(forsaken, stream));
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
        let is_forsaken = other.is_forsaken;
        let other = other.stream.for_teardown();
        match self.options.other_streams {
            OtherStreams::Wait => stream.follow(&other).map(|()| true),
            OtherStreams::Idle if capture::any() && capture::of(&other).is_some() => Ok(false),
            OtherStreams::Idle => other.is_idle(),
            OtherStreams::Never if is_forsaken => other.is_idle(),
            OtherStreams::Never => Ok(false),
        }
    }

    /// A block of memory that other streams have freed, coalesced.
    fn take_after_adopting(&self, size: usize, stream: &Stream) -> Result<Option<Taken>> {
        let others = self.lock().others(size, stream);
        self.adopt(others, stream)?;
        Ok(self.lock().take(size, stream))
    }

    /// Has a stream take over the free blocks of others, and lets the streams go that have none.
    fn adopt(&self, others: Vec<Other>, stream: &Stream) -> Result<()> {
        for other in &others {
            if self.comes_after(stream, other)? {
                self.lock().adopt(stream, other);
            }
        }
        drop(others);
        let idle = self.lock().take_idle_lanes();
        drop(idle); // without the lock: streams may end with them
        Ok(())
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
        // Also if the resource below panics.
        let reserved = Reserved { cache: self, bytes };
        let address = self.below.allocate_raw(bytes, stream)?;
        std::mem::forget(reserved);
        Ok(self.lock().add_segment((address, bytes), size, stream))
    }
}

/// Bytes that count as reserved until this is dropped.
struct Reserved<'a> {
    cache: &'a BlockCache,
    bytes: usize,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.cache.lock().statistics.reserved -= self.bytes;
    }
}
