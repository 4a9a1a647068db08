//! Free blocks by size: lists of size classes, and a map of those that are not empty.
//!
//! Each power of two has eight classes. A block is looked for in its own class first, where some are too
//! small, and then in the next class that has any, where all are large enough.

use super::blocks::{BlockState, Blocks, NONE};
use super::size::GRANULE;

/// Classes of each power of two, as a power of two.
const STEP: u32 = 3;
const CLASSES: usize = 1 << STEP;
/// Powers of two of sizes, counted in granules.
const LEVELS: usize = (usize::BITS - GRANULE.ilog2() - STEP + 1) as usize;
/// Blocks of a list that are compared to find the smallest that is large enough.
const COMPARED: usize = 64;

/// Lists of free blocks.
pub(super) struct FreeLists {
    /// The levels with blocks.
    levels: u64,
    /// The classes with blocks, by level.
    classes: [u8; LEVELS],
    heads: [[usize; CLASSES]; LEVELS],
}

const _: () = assert!(LEVELS <= u64::BITS as usize && CLASSES <= u8::BITS as usize, "a bit for each");

impl Default for FreeLists {
    fn default() -> FreeLists {
        FreeLists { levels: 0, classes: [0; LEVELS], heads: [[NONE; CLASSES]; LEVELS] }
    }
}

/// The level and the class of blocks of a size.
fn class_of(bytes: usize) -> (usize, usize) {
    let granules = bytes / GRANULE;
    if granules < CLASSES {
        return (0, granules);
    }
    let level = granules.ilog2() - STEP;
    ((level + 1) as usize, (granules >> level) % CLASSES)
}

impl FreeLists {
    /// Adds a block, which is free from now on.
    pub(super) fn insert(&mut self, blocks: &mut Blocks, at: usize) {
        let (level, class) = class_of(blocks[at].bytes);
        let head = std::mem::replace(&mut self.heads[level][class], at);
        (blocks[at].list_before, blocks[at].list_after) = (NONE, head);
        blocks[at].state = BlockState::Listed;
        if head != NONE {
            blocks[head].list_before = at;
        }
        self.classes[level] |= 1 << class;
        self.levels |= 1 << level;
    }

    /// Takes a block out.
    pub(super) fn remove(&mut self, blocks: &mut Blocks, at: usize) {
        let (before, after) = (blocks[at].list_before, blocks[at].list_after);
        if after != NONE {
            blocks[after].list_before = before;
        }
        if before != NONE {
            blocks[before].list_after = after;
            return;
        }
        let (level, class) = class_of(blocks[at].bytes);
        self.heads[level][class] = after;
        if after == NONE {
            self.classes[level] &= !(1 << class);
            if self.classes[level] == 0 {
                self.levels &= !(1 << level);
            }
        }
    }

    /// A block of at least so many bytes, close to the smallest there is, and of at most `most`.
    pub(super) fn find(&self, blocks: &Blocks, bytes: usize, most: usize) -> Option<usize> {
        let (level, class) = class_of(bytes);
        let found = self.smallest_of((level, class), blocks, bytes).or_else(|| {
            let next = self.next_class(level, class)?;
            self.smallest_of(next, blocks, bytes)
        });
        found.filter(|at| blocks[*at].bytes <= most)
    }

    /// The first class behind another that has blocks.
    fn next_class(&self, level: usize, class: usize) -> Option<(usize, usize)> {
        let here = u32::from(self.classes[level]) >> (class + 1);
        if here != 0 {
            return Some((level, class + 1 + here.trailing_zeros() as usize));
        }
        let above = self.levels & (u64::MAX << level << 1);
        let level = if above == 0 { return None } else { above.trailing_zeros() as usize };
        Some((level, self.classes[level].trailing_zeros() as usize))
    }

    fn smallest_of(&self, (level, class): (usize, usize), blocks: &Blocks, bytes: usize) -> Option<usize> {
        let head = Some(self.heads[level][class]).filter(|at| *at != NONE);
        let list = std::iter::successors(head, |at| Some(blocks[*at].list_after).filter(|at| *at != NONE));
        let large_enough = list.take(COMPARED).filter(|at| blocks[*at].bytes >= bytes);
        large_enough.min_by_key(|at| (blocks[*at].bytes, blocks[*at].address))
    }

    /// Any block.
    pub(super) fn first(&self) -> Option<usize> {
        let level = if self.levels == 0 { return None } else { self.levels.trailing_zeros() as usize };
        Some(self.heads[level][self.classes[level].trailing_zeros() as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::super::size::Kind;
    use super::*;

    #[test]
    fn classes_are_in_order_of_size() {
        let mut sizes: Vec<usize> = (1..4000).map(|granules| granules * GRANULE).collect();
        sizes.extend((22..63).flat_map(|power| [1 << power, (1 << power) + (1 << (power - 1))]));
        assert!(sizes.windows(2).all(|pair| class_of(pair[0]) <= class_of(pair[1])));
        let (level, class) = class_of(usize::MAX - GRANULE + 1);
        assert!(level < LEVELS && class < CLASSES);
    }

    #[test]
    fn the_smallest_block_that_is_large_enough_is_found() {
        let (mut blocks, mut lists) = (Blocks::default(), FreeLists::default());
        let granules = [9_usize, 200, 3, 17, 1000, 201];
        for (at, granules) in (1..).zip(granules) {
            let block = blocks.add((at << 32, granules * GRANULE), (0, Kind::Small), 0);
            lists.insert(&mut blocks, block);
        }
        let mut found = |granules: usize| {
            let at = lists.find(&blocks, granules * GRANULE, usize::MAX)?;
            lists.remove(&mut blocks, at);
            Some(blocks[at].bytes / GRANULE)
        };
        assert_eq!([1, 200, 200, 10].map(&mut found), [Some(3), Some(200), Some(201), Some(17)]);
        assert_eq!([10, 10, 9].map(&mut found), [Some(1000), None, Some(9)]);
        assert_eq!((lists.levels, lists.first()), (0, None));
        let large = blocks.add((1 << 40, 16 * GRANULE), (0, Kind::Small), 0);
        lists.insert(&mut blocks, large);
        let most = |granules| lists.find(&blocks, 10 * GRANULE, granules * GRANULE);
        assert_eq!([15, 16].map(most), [None, Some(large)]);
    }
}
