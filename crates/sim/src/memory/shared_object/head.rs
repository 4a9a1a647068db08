//! Head of a shared object: its mapped words.
#![expect(unsafe_code, reason = "refers to words of a mapped file")]

use std::sync::atomic::AtomicU64;

use crate::memory::span::Span;

/// The mapped start of a shared object's file, up to the last word.
#[derive(Debug)]
pub(super) struct Head(Span);

impl Head {
    /// The head in a span that shows the start of a file. The file is sealed against a change of its length,
    /// and all programs access it as words, once its header is read.
    pub(super) fn new(span: Span) -> Self {
        Self(span)
    }

    /// Words of the file from an offset on, a multiple of 8; none if they are not all in the head.
    pub(super) fn words(&self, offset: u64, len: u64) -> &[AtomicU64] {
        let Some(end) = len.checked_mul(8).and_then(|bytes| bytes.checked_add(offset)) else { return &[] };
        if end > self.0.len() || !offset.is_multiple_of(8) {
            return &[];
        }
        let first = std::ptr::with_exposed_provenance((self.0.address() + offset) as usize);
        // SAFETY: aligned words that the span has mapped, which lives as long as `self`. The seals keep the
        // file at its length, and the words are accessed as atomics only, here and in other processes.
        unsafe { std::slice::from_raw_parts(first, len as usize) }
    }
}
