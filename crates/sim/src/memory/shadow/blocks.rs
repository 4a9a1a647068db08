//! Blocks of an allocation that the program hands out itself, by memory annotations.
//!
//! Bytes are given as offsets in the allocation.

use std::collections::BTreeMap;
use std::ops::Range;

use super::access::Access;
use super::operation::AllocationInfo;
use crate::memory::sim_address::Side;

/// The blocks of an allocation; neither those that are lent nor those that went back overlap.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    lent: BTreeMap<u64, Block>,
    /// Parts of blocks that went back, and were not lent again.
    released: BTreeMap<u64, Released>,
}

/// A block that is lent, or was.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) bytes: Range<u64>,
    pub(crate) id: u64,
    pub(crate) born: Access,
}

/// The part of a block that went back.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    end: u64,
    pub(crate) block: Block,
    pub(crate) free: Access,
}

/// The owner of a byte of an allocation with blocks.
#[derive(Debug)]
pub(crate) enum Owner<'a> {
    Lent(&'a Block),
    Released(&'a Released),
    /// It is between blocks; the nearest one is told.
    Unowned(Option<&'a Block>),
}

impl Block {
    /// The block for a report, by the address and the side of its allocation.
    pub(crate) fn info(&self, base: u64, side: Side) -> AllocationInfo {
        let bytes = self.bytes.end - self.bytes.start;
        AllocationInfo::new((base + self.bytes.start, bytes), self.id, side, &self.born)
    }
}

impl Blocks {
    /// The owner of a byte, and the offset up to which it owns all bytes.
    pub(crate) fn owner(&self, at: u64) -> (Owner<'_>, u64) {
        let before = self.lent.range(..=at).next_back().map(|(_, block)| block);
        if let Some(block) = before.filter(|block| block.bytes.end > at) {
            return (Owner::Lent(block), block.bytes.end);
        }
        let released = self.released.range(..=at).next_back().map(|(_, released)| released);
        if let Some(released) = released.filter(|released| released.end > at) {
            return (Owner::Released(released), released.end);
        }
        let after = self.lent.range(at..).next();
        let next =
            after.map(|(start, _)| *start).into_iter().chain(self.released.range(at..).next().map(|(at, _)| *at));
        (Owner::Unowned(before.or(after.map(|(_, block)| block))), next.min().unwrap_or(u64::MAX))
    }

    /// `true` if a block that is lent has some of these bytes.
    pub(crate) fn overlaps(&self, bytes: &Range<u64>) -> bool {
        let before = self.lent.range(..bytes.end).next_back();
        before.is_some_and(|(_, block)| block.bytes.end > bytes.start)
    }

    /// The blocks that went back and had some of these bytes.
    pub(crate) fn released(&self, bytes: &Range<u64>) -> impl Iterator<Item = &Released> {
        let parts = self.released.range(..bytes.end).rev().map(|(_, released)| released);
        parts.take_while(|released| released.end > bytes.start)
    }

    /// Lends a block, which overlaps no other.
    pub(crate) fn lend(&mut self, block: Block) {
        let Range { start, end } = block.bytes;
        while let Some((from, released)) = self.released.range(..end).next_back().filter(|(_, found)| found.end > start)
        {
            let (from, released) = (*from, released.clone());
            self.released.remove(&from);
            if released.end > end {
                self.released.insert(end, released.clone());
            }
            if from < start {
                self.released.insert(from, Released { end: start, ..released });
            }
        }
        self.lent.insert(start, block);
    }

    /// The block that is lent from an offset on.
    pub(crate) fn lent_at(&self, start: u64) -> Option<&Block> {
        self.lent.get(&start)
    }

    /// Takes a block back.
    pub(crate) fn release(&mut self, start: u64, free: Access) {
        if let Some(block) = self.lent.remove(&start) {
            self.released.insert(start, Released { end: block.bytes.end, block, free });
        }
    }
}

#[cfg(test)]
mod tests {
    use warploom_engine::Epoch;

    use super::*;
    use crate::memory::shadow::AccessKind;

    fn access(kind: AccessKind) -> Access {
        Access { epoch: Epoch { timeline: 1, count: 1 }, kind, stream: None, site: None }
    }

    fn lend(blocks: &mut Blocks, bytes: Range<u64>, id: u64) {
        blocks.lend(Block { bytes, id, born: access(AccessKind::Allocate) });
    }

    /// The owners of all bytes in order: the number of a lent block, that of a released one, or 0.
    fn owners(blocks: &Blocks, end: u64) -> Vec<(u64, i64)> {
        let (mut at, mut owners) = (0, Vec::new());
        while at < end {
            let (owner, until) = blocks.owner(at);
            owners.push((
                at,
                match owner {
                    Owner::Lent(block) => block.id as i64,
                    Owner::Released(released) => -(released.block.id as i64),
                    Owner::Unowned(_) => 0,
                },
            ));
            at = until;
        }
        owners
    }

    #[test]
    fn bytes_belong_to_the_last_block_that_had_them() {
        let mut blocks = Blocks::default();
        lend(&mut blocks, 100..200, 1);
        lend(&mut blocks, 300..400, 2);
        assert_eq!(owners(&blocks, 500), [(0, 0), (100, 1), (200, 0), (300, 2), (400, 0)]);
        assert!(blocks.overlaps(&(150..160)) && blocks.overlaps(&(0..101)) && !blocks.overlaps(&(200..300)));
        blocks.release(100, access(AccessKind::Free));
        blocks.release(300, access(AccessKind::Free));
        lend(&mut blocks, 150..320, 3);
        assert_eq!(owners(&blocks, 400), [(0, 0), (100, -1), (150, 3), (320, -2)]);
        assert_eq!(blocks.released(&(140..330)).map(|part| part.block.id).collect::<Vec<_>>(), [2, 1]);
        blocks.release(150, access(AccessKind::Free));
        lend(&mut blocks, 160..170, 4);
        assert_eq!(owners(&blocks, 400), [(0, 0), (100, -1), (150, -3), (160, 4), (170, -3), (320, -2)]);
    }
}
