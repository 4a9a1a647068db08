//! Address space handed out as the driver hands memory out: in whole blocks, which small allocations share.

use std::collections::BTreeMap;

use super::{BLOCK, Heap};

/// Allocations up to this size share blocks.
const SMALL: u64 = BLOCK / 2;
/// The driver's alignment of every allocation.
const ALIGNMENT: u64 = 512;

/// One or more blocks that were taken together, which `CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR`,
/// `…_MAPPING_SIZE` and `…_MEMORY_BLOCK_ID` describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) base: u64,
    pub(crate) len: u64,
    /// Counts the blocks of their space; never reused.
    pub(crate) serial: u64,
}

impl Block {
    fn end(&self) -> u64 {
        self.base + self.len
    }
}

/// The minimum distance between allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// As close as the driver puts them.
    #[default]
    Dense,
    /// With unused bytes behind each, where there is room: an access behind the end does not reach a
    /// neighbour, so that a machine that checks finds it.
    Apart,
}

impl Spacing {
    /// The unused bytes behind each allocation.
    const GAP: u64 = 64;

    /// The bytes to set apart for an allocation: a multiple of `ALIGNMENT`, as the driver takes, or one more.
    pub(crate) fn room(self, bytes: u64) -> Option<u64> {
        let dense = bytes.checked_next_multiple_of(ALIGNMENT)?;
        match self {
            Spacing::Apart if dense - bytes < Self::GAP => dense.checked_add(ALIGNMENT),
            Spacing::Apart | Spacing::Dense => Some(dense),
        }
    }
}

/// The bytes that the driver takes for a small allocation.
fn dense(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// A space of blocks. It knows addresses only; charging blocks and mapping pages is the owner's business.
pub(crate) struct Blocks {
    space: Heap,
    /// The free ranges in blocks that small allocations share.
    shared: Heap,
    taken: BTreeMap<u64, Block>,
    next_serial: u64,
    spacing: Spacing,
    /// Small allocations with unused bytes behind them, and the bytes that the driver would take for them.
    spaced: BTreeMap<u64, u64>,
}

impl Blocks {
    /// A space with no room yet.
    pub(crate) fn new(spacing: Spacing) -> Self {
        Self {
            space: Heap::walled(u64::MAX),
            shared: Heap::walled(BLOCK),
            taken: BTreeMap::new(),
            next_serial: 1,
            spacing,
            spaced: BTreeMap::new(),
        }
    }

    /// Adds room. The last block stays unused, so that nothing ever reaches from one piece of room into the
    /// next.
    pub(crate) fn add_room(&mut self, base: u64, len: u64) {
        self.space.give(base, len - BLOCK);
    }

    /// `true` if an allocation of this size gets blocks of its own.
    pub(crate) fn is_large(bytes: u64) -> bool {
        bytes > SMALL
    }

    /// Takes whole blocks; `None` if there is no such hole.
    pub(crate) fn take(&mut self, len: u64) -> Option<Block> {
        let base = self.take_apart(len).or_else(|| self.space.take(len, BLOCK))?;
        let block = Block { base, len, serial: self.next_serial };
        self.next_serial += 1;
        self.taken.insert(base, block);
        Some(block)
    }

    /// Takes whole blocks with a free one on either side, if allocations are to lie apart.
    fn take_apart(&mut self, len: u64) -> Option<u64> {
        if self.spacing == Spacing::Dense {
            return None;
        }
        let before = self.space.take(len.checked_add(2 * BLOCK)?, BLOCK)?;
        self.space.give(before, BLOCK);
        self.space.give(before + BLOCK + len, BLOCK);
        Some(before + BLOCK)
    }

    /// Takes room for a small allocation in a block that others use, too.
    pub(crate) fn take_shared(&mut self, bytes: u64) -> Option<u64> {
        let (room, dense) = (self.spacing.room(bytes)?, dense(bytes));
        if let Some(address) = self.shared.take(room, ALIGNMENT) {
            if room > dense {
                self.spaced.insert(address, dense);
            }
            return Some(address);
        }
        if let Some(address) = self.shared.take(dense, ALIGNMENT) {
            return Some(address);
        }
        // Before a block more is charged, the bytes between allocations are used.
        for (address, dense) in std::mem::take(&mut self.spaced) {
            self.shared.give(address + dense, ALIGNMENT);
        }
        self.shared.take(dense, ALIGNMENT)
    }

    /// Makes a taken block one that small allocations share.
    pub(crate) fn share(&mut self, block: Block) {
        self.shared.give(block.base, block.len);
    }

    /// Gives back a small allocation. Its block comes with the last one in it: taken still, but shared no
    /// more.
    pub(crate) fn give_shared(&mut self, address: u64, bytes: u64) -> Option<Block> {
        let gap = if self.spaced.remove(&address).is_some() { ALIGNMENT } else { 0 };
        self.shared.give(address, dense(bytes) + gap);
        let block = self.containing(address)?;
        self.shared.take_at(block.base, block.len).then_some(block)
    }

    /// Gives back whole blocks: all or some of what was taken.
    pub(crate) fn give(&mut self, base: u64, len: u64) {
        let end = base + len;
        while let Some(block) = self.taken.range(..end).next_back().map(|(_, block)| *block)
            && block.end() > base
        {
            self.taken.remove(&block.base);
            if block.base < base {
                self.taken.insert(block.base, Block { len: base - block.base, ..block });
            }
            if block.end() > end {
                self.taken.insert(end, Block { base: end, len: block.end() - end, ..block });
            }
        }
        self.space.give(base, len);
    }

    /// The block an address is in.
    pub(crate) fn containing(&self, address: u64) -> Option<Block> {
        let (_, block) = self.taken.range(..=address).next_back()?;
        (address < block.end()).then_some(*block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(blocks: u64) -> Blocks {
        let mut space = Blocks::new(Spacing::Dense);
        space.add_room(BLOCK * 100, BLOCK * (blocks + 1));
        space
    }

    #[test]
    fn small_allocations_fill_a_block_before_they_ask_for_another() {
        let mut space = space(2);
        assert_eq!(space.take_shared(1), None);
        let block = space.take(BLOCK).expect("there is room");
        space.share(block);
        let taken: Vec<u64> = [1, 1, 256, 257, 513, SMALL]
            .map(|bytes| space.take_shared(bytes).expect("there is room") - block.base)
            .to_vec();
        assert_eq!(taken, [0, 512, 1024, 1536, 2048, 3072]);
        assert_eq!(space.take_shared(SMALL), None);
    }

    #[test]
    fn a_block_comes_back_with_its_last_allocation() {
        let mut space = space(1);
        let block = space.take(BLOCK).expect("there is room");
        space.share(block);
        let first = space.take_shared(100).expect("there is room");
        let second = space.take_shared(100).expect("there is room");
        assert_eq!(space.give_shared(first, 100), None);
        assert_eq!(space.give_shared(second, 100), Some(block));
        assert_eq!(space.take_shared(100), None, "the block is shared no more");
        space.give(block.base, block.len);
        assert_eq!(space.containing(block.base), None);
        assert_eq!(space.take(BLOCK).map(|block| block.serial), Some(2));
    }

    #[test]
    fn a_part_of_what_was_taken_can_be_given_back() {
        let mut space = space(8);
        let block = space.take(BLOCK * 8).expect("there is room");
        space.give(block.base + BLOCK * 2, BLOCK * 3);
        assert_eq!(space.containing(block.base + BLOCK), Some(Block { len: BLOCK * 2, ..block }));
        assert_eq!(space.containing(block.base + BLOCK * 3), None);
        let rest = Block { base: block.base + BLOCK * 5, len: BLOCK * 3, serial: block.serial };
        assert_eq!(space.containing(block.base + BLOCK * 7), Some(rest));
        space.give(block.base + BLOCK * 5, BLOCK * 3);
        space.give(block.base, BLOCK * 2);
        assert_eq!(space.take(BLOCK * 8).map(|block| block.base), Some(block.base));
    }

    #[test]
    fn allocations_lie_apart_where_there_is_room() {
        let mut space = Blocks::new(Spacing::Apart);
        space.add_room(BLOCK * 100, BLOCK * 9);
        let blocks = [0; 3].map(|_| space.take(BLOCK).expect("there is room").base / BLOCK - 100);
        assert_eq!(blocks, [1, 3, 5]);
        let block = space.containing(BLOCK * 101).expect("it was taken");
        space.share(block);
        let taken = [512, 100, 480, SMALL - 512, SMALL - 2048];
        let taken = taken.map(|bytes| (bytes, space.take_shared(bytes).expect("there is room") - block.base));
        assert_eq!(taken.map(|(_, at)| at), [0, 1024, 1536, 2560, SMALL + 2048]);
        for (bytes, at) in taken {
            space.give_shared(block.base + at, bytes);
        }
        assert_eq!(space.take_shared(1), None, "the block came back with the last of them");
    }

    #[test]
    fn nothing_reaches_from_one_piece_of_room_into_the_next() {
        let mut space = Blocks::new(Spacing::Dense);
        space.add_room(BLOCK * 10, BLOCK * 3);
        space.add_room(BLOCK * 13, BLOCK * 3);
        assert_eq!(space.take(BLOCK * 3), None);
        assert!(space.take(BLOCK * 2).is_some() && space.take(BLOCK * 2).is_some());
    }
}
