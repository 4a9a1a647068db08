//! Words of page-locked memory that streams write and wait for.
//!
//! Freeing page-locked memory waits for everything in the context, and a stream may be waiting for a word
//! that the host has yet to write. So words come from pages that stay until the context goes, and taking one
//! or giving it back makes no driver call, but for a new page.
#![expect(unsafe_code, reason = "allocates and frees page-locked memory")]

use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_driver::sys::types::{CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE};

use super::Context;
use crate::capture::RelaxedMode;
use crate::diagnostics::{Subject, report};
use crate::{Driver, Result};

/// The size of a page.
const PAGE: usize = 4096;

/// The distance between words: a line of the cache, so that the host's accesses to one do not slow another.
const WORD: usize = 64;

/// The words of a context. Nothing in here holds the context.
#[derive(Default)]
pub(crate) struct Words(Arc<Pages>);

#[derive(Default)]
struct Pages(Mutex<Free>);

#[derive(Default)]
struct Free {
    /// The addresses of all pages.
    pages: Vec<usize>,
    /// The addresses of words that are not taken.
    words: Vec<usize>,
}

impl Pages {
    fn lock(&self) -> MutexGuard<'_, Free> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A word, until it is dropped, which may happen on any thread and makes no driver call. The caller keeps the
/// context until then.
pub(crate) struct Word {
    pages: Arc<Pages>,
    address: usize,
}

impl Word {
    /// Its address, for the host and for devices; 8 bytes belong to it.
    pub(crate) fn address(&self) -> usize {
        self.address
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        self.pages.lock().words.push(self.address);
    }
}

impl Words {
    /// Takes a word of this context, which is theirs.
    pub(crate) fn take(&self, context: &Context) -> Result<Word> {
        if let Some(address) = self.0.lock().words.pop() {
            return Ok(Word { pages: Arc::clone(&self.0), address });
        }
        // In another mode, a capture on this thread or any other would be invalidated.
        let _relaxed = RelaxedMode::new(context.driver());
        let _current = context.current()?;
        let mut memory = null_mut();
        let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: `memory` is writable, and `_current` keeps the context current.
        unsafe { context.driver().cuMemHostAlloc(&raw mut memory, PAGE, flags) }?;
        let page = memory.expose_provenance();
        // SAFETY: the driver has allocated the page just now, and nothing else uses it.
        unsafe { memory.cast::<u8>().write_bytes(0, PAGE) };
        let mut free = self.0.lock();
        free.pages.push(page);
        free.words.extend((page + WORD..page + PAGE).step_by(WORD));
        Ok(Word { pages: Arc::clone(&self.0), address: page })
    }

    /// Frees the pages, before the context goes. A word that is never given back belongs to no one then: its
    /// stream went with the context.
    pub(super) fn end(&self, driver: &Driver) {
        let pages = std::mem::take(&mut *self.0.lock()).pages;
        for page in pages {
            // SAFETY: `take` has allocated it, and it is freed once; words are used only while their context
            // is kept.
            report(|| Subject::Word, unsafe { driver.cuMemFreeHost(with_exposed_provenance_mut(page)) });
        }
    }
}
