//! Blocks of memory, in a list that hands out positions.
//!
//! Neighbours in a segment are linked, so that free ones are coalesced; free blocks are also linked into
//! lists of their own. Positions of blocks that are gone are used again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Index, IndexMut};

use warploom_driver::sys::types::CUdeviceptr;

use super::size::Kind;

/// No block.
pub(super) const NONE: usize = usize::MAX;

/// A stretch of memory of one segment.
pub(super) struct Block {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: usize,
    pub(super) state: BlockState,
    pub(super) segment: usize,
    /// The kind of the segment.
    pub(super) kind: Kind,
    /// The lane that it was allocated on or, if it is free, that it was freed on.
    pub(super) lane: usize,
    /// The time at which its lane got it.
    pub(super) freed_at: u64,
    /// The neighbours in the segment.
    pub(super) before: usize,
    pub(super) after: usize,
    /// The neighbours in a list of free blocks.
    pub(super) list_before: usize,
    pub(super) list_after: usize,
}

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// The position has no block.
    Vacant,
    /// In the hands of a buffer.
    Used,
    /// Freed, for the next allocation of the same size; not coalesced yet.
    Quick,
    /// Free, coalesced with its neighbours.
    Listed,
}

/// All blocks of a cache.
#[derive(Default)]
pub(super) struct Blocks {
    all: Vec<Block>,
    vacant: Vec<usize>,
    by_address: HashMap<CUdeviceptr, usize, BuildHasherDefault<AddressHasher>>,
}

impl Blocks {
    /// Adds a used block without neighbours.
    pub(super) fn add(
        &mut self,
        (address, bytes): (CUdeviceptr, usize),
        (segment, kind): (usize, Kind),
        lane: usize,
    ) -> usize {
        let block = Block {
            address,
            bytes,
            state: BlockState::Used,
            segment,
            kind,
            lane,
            freed_at: 0,
            before: NONE,
            after: NONE,
            list_before: NONE,
            list_after: NONE,
        };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.all[at] = block;
                at
            }
            None => {
                self.all.push(block);
                self.all.len() - 1
            }
        };
        self.by_address.insert(address, at);
        at
    }

    /// Takes a block out; its neighbours are not changed.
    pub(super) fn remove(&mut self, at: usize) {
        self.by_address.remove(&self.all[at].address);
        self.all[at].state = BlockState::Vacant;
        self.all[at].address = 0;
        self.vacant.push(at);
    }

    /// The block in use that starts at an address; it is looked for at a position first.
    #[inline]
    pub(super) fn used_at(&self, address: CUdeviceptr, hint: usize) -> Option<usize> {
        let is_meant = |at: &usize| {
            self.all.get(*at).is_some_and(|block| block.address == address && block.state == BlockState::Used)
        };
        Some(hint).filter(is_meant).or_else(|| self.by_address.get(&address).copied().filter(is_meant))
    }

    /// Cuts a block after so many bytes; the position of the rest, which is used like the block.
    pub(super) fn cut(&mut self, at: usize, bytes: usize) -> usize {
        let Block { address, bytes: all, segment, kind, lane, after, .. } = self[at];
        let rest = self.add((address + bytes as u64, all - bytes), (segment, kind), lane);
        self[rest].freed_at = self[at].freed_at;
        (self[rest].before, self[rest].after) = (at, after);
        if after != NONE {
            self[after].before = rest;
        }
        (self[at].bytes, self[at].after) = (bytes, rest);
        rest
    }

    /// Makes a block one with the one behind it.
    pub(super) fn join(&mut self, at: usize) {
        let Block { after: gone, .. } = self[at];
        let Block { bytes, after, freed_at, .. } = self[gone];
        self[at].bytes += bytes;
        self[at].after = after;
        self[at].freed_at = self[at].freed_at.max(freed_at);
        if after != NONE {
            self[after].before = at;
        }
        self.remove(gone);
    }
}

impl Index<usize> for Blocks {
    type Output = Block;

    #[inline]
    fn index(&self, at: usize) -> &Block {
        &self.all[at]
    }
}

impl IndexMut<usize> for Blocks {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Block {
        &mut self.all[at]
    }
}

/// Spreads addresses, which differ in few bits; no input of strangers comes here.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let spread = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ spread >> 32;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
