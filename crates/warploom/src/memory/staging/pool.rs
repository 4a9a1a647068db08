//! The page-locked blocks that a context keeps for copies.
#![expect(unsafe_code, reason = "allocates and frees page-locked memory")]

use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warploom_driver::sys::types::CU_MEMHOSTALLOC_DEVICEMAP;

use super::{BLOCK, CHUNK, IN_TURNS, KEPT};
use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::{Context, Driver, Result};

/// Memory of the host that a copy goes through: chunks for the pieces that are on their way.
pub(super) struct Block {
    memory: Handle<u8>,
    is_pinned: bool,
}

impl Block {
    /// The chunk of a piece, which has as many bytes at least.
    pub(super) fn chunk(&self, piece: usize) -> *mut u8 {
        self.memory.raw().wrapping_add(piece % IN_TURNS * CHUNK)
    }

    /// Pageable memory, for more copies at a time than there is page-locked memory for: the driver stages it.
    fn pageable() -> Block {
        let mut memory = ManuallyDrop::new(Vec::<u8>::with_capacity(BLOCK));
        Block { memory: Handle::new(memory.as_mut_ptr()), is_pinned: false }
    }

    fn pinned(context: &Context) -> Result<Block> {
        let _current = context.current()?;
        // A capture of another stream would forbid the call.
        let _relaxed = RelaxedMode::new(context.driver());
        let mut memory = null_mut();
        // SAFETY: `memory` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuMemHostAlloc(&raw mut memory, BLOCK, CU_MEMHOSTALLOC_DEVICEMAP) }?;
        Ok(Block { memory: Handle::new(memory.cast()), is_pinned: true })
    }
}

/// The blocks of a context.
#[derive(Default)]
pub(crate) struct StagingPool(Mutex<Blocks>);

#[derive(Default)]
struct Blocks {
    idle: Vec<Block>,
    /// Blocks that the device may still use, after a wait failed.
    suspect: Vec<Block>,
    /// The number of page-locked blocks, of which copies have the rest.
    pinned: usize,
}

impl StagingPool {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that nothing uses. Page-locked memory that a copy holds is not waited for: the copy may have
    /// to wait for the caller.
    pub(super) fn take(&self, context: &Context) -> Result<Block> {
        let mut blocks = self.lock();
        if let Some(idle) = blocks.idle.pop() {
            return Ok(idle);
        }
        if blocks.pinned >= KEPT {
            return Ok(Block::pageable());
        }
        blocks.pinned += 1;
        drop(blocks);
        Block::pinned(context).inspect_err(|_| self.lock().pinned -= 1)
    }

    /// Takes back a block that nothing uses any more.
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
    pub(crate) fn end(self, driver: &Driver) {
        let blocks = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all = blocks.idle.into_iter().chain(blocks.suspect).peekable();
        let _relaxed = all.peek().and_then(|_| RelaxedMode::new(driver));
        for block in all {
            // SAFETY: it came from `cuMemHostAlloc` in a context that is still alive, and is given back once.
            // The call waits for work that may still use it.
            report(|| Subject::Staging, unsafe { driver.cuMemFreeHost(block.memory.raw().cast()) });
        }
    }
}
