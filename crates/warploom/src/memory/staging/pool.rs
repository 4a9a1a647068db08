//! The page-locked blocks that a context keeps for copies.
#![expect(unsafe_code, reason = "allocates and frees page-locked memory, and records raw events")]

use std::mem::ManuallyDrop;
use std::ptr::null_mut;

use warploom_driver::ResultExt as _;
use warploom_driver::sys::types::{CU_MEMHOSTALLOC_DEVICEMAP, CUevent_flags, CUevent_st};
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::{BLOCK, CHUNK, IN_TURNS, KEPT};
use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::event::EventPool;
use crate::handle::Handle;
use crate::stream::StreamKey;
use crate::{Context, Driver, Result, Stream};

/// The flags of a block's event.
const UNTIMED: u32 = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;

/// Memory of the host that a copy goes through: chunks for the pieces that are on their way.
pub(super) struct Block {
    memory: Handle<u8>,
    is_pinned: bool,
    /// The event at the end of uploads that are not waited for, once there was one.
    end: Option<Handle<CUevent_st>>,
    /// The stream that may not have reached that end yet.
    user: Option<StreamKey>,
}

impl Block {
    /// The chunk of a piece, which has as many bytes at least.
    pub(super) fn chunk(&self, piece: usize) -> *mut u8 {
        self.memory.raw().wrapping_add(piece % IN_TURNS * CHUNK)
    }

    /// `true` if it can stay in use after its copy: page-locked memory is kept.
    pub(super) fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Marks the end of the stream's work that uses it. It is not handed out before that.
    pub(super) fn mark_end(&mut self, stream: &Stream) -> Result<()> {
        let context = stream.context();
        let end = match self.end.take() {
            Some(end) => end,
            None => context.cached().events.take(context, UNTIMED)?,
        };
        let end = self.end.insert(end);
        // SAFETY: the event is of the stream's context, and kept with the block.
        stream.signal(|raw| unsafe { context.driver().cuEventRecord(end.raw(), raw) })?;
        self.user = Some(stream.key());
        Ok(())
    }

    /// `true` if its end has been reached.
    fn is_reached(&self, driver: &Driver) -> Result<bool> {
        let Some(end) = &self.end else { return Ok(true) };
        // A capture of another stream would forbid the call.
        let _relaxed = RelaxedMode::new(driver);
        // SAFETY: the event is kept with the block.
        Ok(unsafe { driver.cuEventQuery(end.raw()) }.ready()?)
    }

    /// Waits for its end.
    fn wait(&self, driver: &Driver) -> Result<()> {
        let Some(end) = &self.end else { return Ok(()) };
        // As above.
        let _relaxed = RelaxedMode::new(driver);
        // SAFETY: the event is kept with the block.
        Ok(unsafe { driver.cuEventSynchronize(end.raw()) }?)
    }

    /// Pageable memory, for more copies at a time than there is page-locked memory for: the driver stages it.
    fn pageable() -> Block {
        let mut memory = ManuallyDrop::new(Vec::<u8>::with_capacity(BLOCK));
        Block { memory: Handle::new(memory.as_mut_ptr()), is_pinned: false, end: None, user: None }
    }

    fn pinned(context: &Context) -> Result<Block> {
        let _current = context.current()?;
        // A capture of another stream would forbid the call.
        let _relaxed = RelaxedMode::new(context.driver());
        let mut memory = null_mut();
        // SAFETY: `memory` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuMemHostAlloc(&raw mut memory, BLOCK, CU_MEMHOSTALLOC_DEVICEMAP) }?;
        Ok(Block { memory: Handle::new(memory.cast()), is_pinned: true, end: None, user: None })
    }
}

/// The blocks of a context.
#[derive(Default)]
pub(crate) struct StagingPool(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    /// Blocks that no copy holds, the one that was given back last at the end.
    idle: Vec<Block>,
    /// Blocks that the device may still use, after a wait failed.
    suspect: Vec<Block>,
    /// The number of page-locked blocks, of which copies have the rest.
    pinned: usize,
}

impl Blocks {
    /// An idle block that nothing uses, preferably one that the driver need not be asked about.
    fn take_free(&mut self, driver: &Driver) -> Result<Option<Block>> {
        let mut free = self.idle.iter().position(|block| block.user.is_none());
        for (at, block) in self.idle.iter().enumerate() {
            if free.is_none() && block.is_reached(driver)? {
                free = Some(at);
            }
        }
        Ok(free.map(|at| Block { user: None, ..self.idle.remove(at) }))
    }

    /// The idle block that this stream has used longest ago.
    fn take_used_by(&mut self, stream: &Stream) -> Option<Block> {
        let at = self.idle.iter().position(|block| block.user == Some(stream.key()))?;
        Some(self.idle.remove(at))
    }
}

impl StagingPool {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock()
    }

    /// A block that nothing uses, for a copy on a stream. Page-locked memory that other streams use is not
    /// waited for: their work may have to wait for the caller.
    pub(super) fn take(&self, stream: &Stream) -> Result<Block> {
        let (context, driver) = (stream.context(), stream.driver());
        let mut blocks = self.lock();
        if let Some(free) = blocks.take_free(driver)? {
            return Ok(free);
        }
        if blocks.pinned < KEPT {
            blocks.pinned += 1;
            drop(blocks);
            return Block::pinned(context).inspect_err(|_| self.lock().pinned -= 1);
        }
        let Some(used) = blocks.take_used_by(stream) else { return Ok(Block::pageable()) };
        drop(blocks);
        match used.wait(driver) {
            Ok(()) => Ok(Block { user: None, ..used }),
            Err(error) => {
                self.put_aside(used);
                Err(error)
            }
        }
    }

    /// Takes back a block that nothing uses any more, or nothing after the end that was marked.
    pub(super) fn give_back(&self, block: Block) {
        if block.is_pinned {
            self.lock().idle.push(block);
        } else {
            // SAFETY: it came from a vector of no values and this capacity, and the caller gives it up.
            drop(unsafe { Vec::from_raw_parts(block.memory.raw(), 0, BLOCK) });
        }
    }

    /// Takes back a block that the device may still use. It is freed with the context, if at all.
    pub(super) fn put_aside(&self, block: Block) {
        if block.is_pinned {
            self.lock().suspect.push(block);
        }
    }

    /// Frees the blocks, before the context goes. That waits for everything enqueued in the context.
    pub(crate) fn end(self, driver: &Driver, events: &EventPool) {
        let blocks = self.0.into_inner();
        let mut all = blocks.idle.into_iter().chain(blocks.suspect).peekable();
        let _relaxed = all.peek().and_then(|_| RelaxedMode::new(driver));
        for block in all {
            // SAFETY: it came from `cuMemHostAlloc` in a context that is still alive, and is given back once.
            // The call waits for work that may still use it.
            report(|| Subject::Staging, unsafe { driver.cuMemFreeHost(block.memory.raw().cast()) });
            if let Some(end) = block.end {
                events.give_back(driver, UNTIMED, end);
            }
        }
    }
}
