//! Address space handed out as the driver hands memory out: in whole blocks, which small allocations share.

use std::collections::BTreeMap;

use super::{BLOCK, Heap};

/// Allocations up to this size share blocks.
const SMALL: u64 = BLOCK / 2;
/// The driver's alignment of every allocation.
const ALIGNMENT: u64 = 512;

/// One or more blocks that were taken together, which `CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR`, `…_MAPPING_SIZE` and
/// `…_MEMORY_BLOCK_ID` describe.
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

/// A space of blocks. It knows addresses only; charging blocks and mapping pages is the owner's business.
pub(crate) struct Blocks {
    space: Heap,
    /// The free ranges in blocks that small allocations share.
    shared: Heap,
    taken: BTreeMap<u64, Block>,
    next_serial: u64,
}

impl Blocks {
    /// A space with no room yet.
    pub(crate) fn new() -> Self {
        Self { space: Heap::walled(u64::MAX), shared: Heap::walled(BLOCK), taken: BTreeMap::new(), next_serial: 1 }
    }

    /// Adds room. The last block stays unused, so that nothing ever reaches from one piece of room into the next.
    pub(crate) fn add_room(&mut self, base: u64, len: u64) {
        self.space.give(base, len - BLOCK);
    }

    /// True if an allocation of this size gets blocks of its own.
    pub(crate) fn is_large(bytes: u64) -> bool {
        bytes > SMALL
    }

    /// Takes whole blocks; `None` if there is no such hole.
    pub(crate) fn take(&mut self, len: u64) -> Option<Block> {
        let base = self.space.take(len, BLOCK)?;
        let block = Block { base, len, serial: self.next_serial };
        self.next_serial += 1;
        self.taken.insert(base, block);
        Some(block)
    }

    /// Takes room for a small allocation in a block that others use, too.
    pub(crate) fn take_shared(&mut self, bytes: u64) -> Option<u64> {
        self.shared.take(bytes.next_multiple_of(ALIGNMENT), ALIGNMENT)
    }

    /// Makes a taken block one that small allocations share.
    pub(crate) fn share(&mut self, block: Block) {
        self.shared.give(block.base, block.len);
    }

    /// Gives back a small allocation. Its block comes with the last one in it: taken still, but shared no more.
    pub(crate) fn give_shared(&mut self, address: u64, bytes: u64) -> Option<Block> {
        self.shared.give(address, bytes.next_multiple_of(ALIGNMENT));
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
        let mut space = Blocks::new();
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
    fn nothing_reaches_from_one_piece_of_room_into_the_next() {
        let mut space = Blocks::new();
        space.add_room(BLOCK * 10, BLOCK * 3);
        space.add_room(BLOCK * 13, BLOCK * 3);
        assert_eq!(space.take(BLOCK * 3), None);
        assert!(space.take(BLOCK * 2).is_some() && space.take(BLOCK * 2).is_some());
    }
}
