//! The page-locked chunks that a context keeps for copies.
#![expect(unsafe_code, reason = "allocates and frees page-locked memory")]

use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warploom_driver::Driver;

use super::{CHUNK, KEPT};
use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::{Context, Result};

/// Memory of the host that one piece of a copy goes through.
pub(super) struct Chunk {
    memory: Handle<u8>,
    is_pinned: bool,
}

impl Chunk {
    pub(super) fn start(&self) -> *mut u8 {
        self.memory.raw()
    }

    /// Pageable memory, for more copies at a time than there is page-locked memory for: the driver stages it.
    fn pageable() -> Chunk {
        let mut memory = ManuallyDrop::new(Vec::<u8>::with_capacity(CHUNK));
        Chunk { memory: Handle::new(memory.as_mut_ptr()), is_pinned: false }
    }

    fn pinned(context: &Context) -> Result<Chunk> {
        let _current = context.current()?;
        // A capture of another stream would forbid the call.
        let _relaxed = RelaxedMode::new(context.driver());
        let mut memory = null_mut();
        // SAFETY: `memory` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuMemHostAlloc(&raw mut memory, CHUNK, 0) }?;
        Ok(Chunk { memory: Handle::new(memory.cast()), is_pinned: true })
    }
}

/// The chunks of a context.
#[derive(Default)]
pub(crate) struct StagingPool(Mutex<Chunks>);

#[derive(Default)]
struct Chunks {
    idle: Vec<Chunk>,
    /// Chunks that the device may still use, after a wait failed.
    suspect: Vec<Chunk>,
    /// The number of page-locked chunks, of which copies have the rest.
    pinned: usize,
}

impl StagingPool {
    fn lock(&self) -> MutexGuard<'_, Chunks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A chunk that nothing uses. Page-locked memory that a copy holds is not waited for: the copy may have
    /// to wait for the caller.
    pub(super) fn take(&self, context: &Context) -> Result<Chunk> {
        let mut chunks = self.lock();
        if let Some(idle) = chunks.idle.pop() {
            return Ok(idle);
        }
        if chunks.pinned >= KEPT {
            return Ok(Chunk::pageable());
        }
        chunks.pinned += 1;
        drop(chunks);
        Chunk::pinned(context).inspect_err(|_| self.lock().pinned -= 1)
    }

    /// Takes back a chunk that nothing uses any more.
    pub(super) fn give_back(&self, chunk: Chunk) {
        if chunk.is_pinned {
            self.lock().idle.push(chunk);
        } else {
            // SAFETY: it came from a vector of no values and this capacity, and the caller gives it up.
            drop(unsafe { Vec::from_raw_parts(chunk.start(), 0, CHUNK) });
        }
    }

    /// Takes back a chunk that the device may still use. It is freed with the context, if at all.
    pub(super) fn put_aside(&self, chunk: Chunk) {
        if chunk.is_pinned {
            self.lock().suspect.push(chunk);
        }
    }

    /// Frees the chunks, before the context goes. That waits for everything enqueued in the context.
    pub(crate) fn end(self, driver: &Driver) {
        let chunks = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut all = chunks.idle.into_iter().chain(chunks.suspect).peekable();
        let _relaxed = all.peek().and_then(|_| RelaxedMode::new(driver));
        for chunk in all {
            // SAFETY: it came from `cuMemHostAlloc` in a context that is still alive, and is given back once.
            // The call waits for work that may still use it.
            report(|| Subject::Staging, unsafe { driver.cuMemFreeHost(chunk.start().cast()) });
        }
    }
}
