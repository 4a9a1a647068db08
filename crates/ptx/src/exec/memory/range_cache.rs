//! A cache of the ranges of global memory that instructions last went to.

use crate::device::direct::Direct;
use crate::device::memory::Memory;

/// Ranges that were found; a power of two.
const KEPT: usize = 16;

/// The ranges that instructions last went to. A new cache is made for every step of a grid.
#[derive(Debug)]
pub(crate) struct RangeCache {
    ranges: [Direct; KEPT],
}

impl Default for RangeCache {
    fn default() -> Self {
        RangeCache { ranges: [Direct::NONE; KEPT] }
    }
}

impl RangeCache {
    /// The range that an instruction's address lies in, if it can be reached directly.
    #[inline(always)]
    pub(crate) fn range(&mut self, memory: &dyn Memory, instruction: usize, address: u64) -> Option<&Direct> {
        let kept = &mut self.ranges[instruction % KEPT];
        if !kept.contains(address) {
            *kept = find(memory, address)?;
        }
        Some(kept)
    }
}

/// Not part of the loop that calls it.
#[cold]
fn find(memory: &dyn Memory, address: u64) -> Option<Direct> {
    memory.direct(address).filter(|range| range.contains(address))
}
