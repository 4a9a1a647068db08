//! Freed blocks of the device heap, kept for a while to detect use after free.

use std::collections::VecDeque;
use std::ops::Range;

use crate::ffi::handle::ContextHandle;

/// Mapped bytes before and after a block: the header of hardware, and its rounding.
pub(crate) const MARGINS: [u64; 2] = [16, 64];

/// Limits on the freed blocks that are kept: blocks, and bytes.
pub(crate) const KEPT: (usize, u64) = (1024, 1 << 20);

/// The blocks freed last.
#[derive(Debug, Default)]
pub(crate) struct FreedBlocks {
    pub(crate) blocks: VecDeque<FreedBlock>,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FreedBlock {
    pub(crate) context: ContextHandle,
    pub(crate) device: u16,
    pub(crate) base: u64,
    pub(crate) size: u64,
    pub(crate) host: usize,
}

impl FreedBlock {
    pub(crate) fn bytes(&self) -> Range<u64> {
        self.base..self.base + self.size
    }

    pub(crate) fn room(&self) -> Range<u64> {
        room(&self.bytes())
    }
}

/// The range of a block with its margins.
pub(crate) fn room(block: &Range<u64>) -> Range<u64> {
    block.start - MARGINS[0]..block.end + MARGINS[1]
}
