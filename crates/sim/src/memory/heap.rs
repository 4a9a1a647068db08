//! Free stretches of an address space, found by best fit: the same calls give the same addresses on every
//! run.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Heap {
    /// Start → length; neighbours are always merged.
    free: BTreeMap<u64, u64>,
    /// The same stretches as (length, start): the first that fits is the smallest, and the lowest of those.
    by_length: BTreeSet<(u64, u64)>,
    /// Stretches do not merge across multiples of this.
    wall: u64,
}

impl Heap {
    pub(crate) fn new(base: u64, len: u64) -> Self {
        let mut heap = Self::walled(u64::MAX);
        heap.add(base, len);
        heap
    }

    /// A heap with nothing in it yet, whose stretches never reach across a multiple of `wall`.
    pub(crate) fn walled(wall: u64) -> Self {
        Self { free: BTreeMap::new(), by_length: BTreeSet::new(), wall }
    }

    fn add(&mut self, start: u64, len: u64) {
        self.free.insert(start, len);
        self.by_length.insert((len, start));
    }

    fn remove(&mut self, start: u64) -> Option<u64> {
        let len = self.free.remove(&start)?;
        self.by_length.remove(&(len, start));
        Some(len)
    }

    /// Takes the smallest stretch that fits, aligned to a power of two.
    pub(crate) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let (start, free, at) = self.by_length.range((len, 0)..).find_map(|(free, start)| {
            let at = start.checked_next_multiple_of(align)?;
            let end = at.checked_add(len)?;
            (end <= start + free).then_some((*start, *free, at))
        })?;
        self.carve(start, free, at, len);
        Some(at)
    }

    /// The free stretch that holds a given one.
    fn holding(&self, at: u64, len: u64) -> Option<(u64, u64)> {
        let (start, free) = self.free.range(..=at).next_back()?;
        (at.checked_add(len)? <= start + free).then_some((*start, *free))
    }

    /// Takes a given stretch, if it is free.
    pub(crate) fn take_at(&mut self, at: u64, len: u64) -> bool {
        let Some((start, free)) = self.holding(at, len) else { return false };
        self.carve(start, free, at, len);
        true
    }

    fn carve(&mut self, start: u64, free: u64, at: u64, len: u64) {
        self.remove(start);
        if at > start {
            self.add(start, at - start);
        }
        let (end, free_end) = (at + len, start + free);
        if free_end > end {
            self.add(end, free_end - end);
        }
    }

    /// Gives a stretch back.
    pub(crate) fn give(&mut self, at: u64, len: u64) {
        debug_assert!(!self.touches_free(at, len), "{len} bytes at {at:#x} are given back once");
        let (mut start, mut end) = (at, at + len);
        if !at.is_multiple_of(self.wall)
            && let Some((before, length)) = self.free.range(..at).next_back().map(|(start, length)| (*start, *length))
            && before + length == at
        {
            self.remove(before);
            start = before;
        }
        if !end.is_multiple_of(self.wall)
            && let Some(length) = self.remove(end)
        {
            end += length;
        }
        self.add(start, end - start);
    }

    fn touches_free(&self, at: u64, len: u64) -> bool {
        self.free.range(..at + len).next_back().is_some_and(|(start, free)| start + free > at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Heap {
        /// `true` if everything between is free.
        fn is_free(&self, at: u64, len: u64) -> bool {
            self.holding(at, len).is_some()
        }
    }

    #[test]
    fn given_stretches_merge_back_into_one() {
        let mut heap = Heap::new(0x1000, 0x1000);
        let taken: Vec<u64> = (0..4).map(|_| heap.take(0x400, 0x100).expect("there is room")).collect();
        assert_eq!(taken, [0x1000, 0x1400, 0x1800, 0x1c00]);
        assert_eq!(heap.take(1, 1), None);
        for at in [0x1400, 0x1c00, 0x1000, 0x1800] {
            heap.give(at, 0x400);
        }
        assert_eq!(heap.take(0x1000, 1), Some(0x1000));
    }

    #[test]
    fn alignment_leaves_the_gap_free() {
        let mut heap = Heap::new(0x1001, 0x1000);
        assert_eq!(heap.take(0x10, 0x100), Some(0x1100));
        assert!(heap.is_free(0x1001, 0xff));
        assert!(heap.take_at(0x1001, 0xff));
        assert!(!heap.take_at(0x1001, 1));
    }

    #[test]
    fn the_smallest_hole_that_fits_is_used_first() {
        let mut heap = Heap::new(0, 0x10000);
        for _ in 0..16 {
            heap.take(0x1000, 1).expect("there is room");
        }
        heap.give(0x2000, 0x3000);
        heap.give(0x8000, 0x1000);
        heap.give(0xa000, 0x1000);
        assert_eq!(heap.take(0x1000, 1), Some(0x8000));
        assert_eq!(heap.take(0x800, 1), Some(0xa000));
        assert_eq!(heap.take(0x1000, 1), Some(0x2000));
    }

    #[test]
    fn stretches_do_not_grow_across_a_wall() {
        let mut heap = Heap::walled(0x1000);
        heap.give(0x3000, 0x1000);
        heap.give(0x4000, 0x1000);
        assert_eq!(heap.take(0x1800, 1), None);
        let first = heap.take(0x800, 1).expect("there is room");
        heap.give(first, 0x800);
        assert!(heap.is_free(0x3000, 0x1000));
        assert!(!heap.is_free(0x3800, 0x1000));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Take { len: u64, align: u64 },
        TakeAt { at: u64, len: u64 },
        Give(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..300u64, 0..6u32).prop_map(|(len, bits)| Step::Take { len, align: 1 << bits }),
            (BASE..BASE + LEN, 1..200u64).prop_map(|(at, len)| Step::TakeAt { at, len }),
            any::<usize>().prop_map(Step::Give),
        ]
    }

    const BASE: u64 = 77;
    const LEN: u64 = 4096;

    proptest! {
        /// Against a model that knows every byte: a block is in range, aligned and overlaps no other; a
        /// request is refused only when no hole has room; and when all blocks are freed, all is one hole.
        #[test]
        fn a_heap_never_hands_a_byte_out_twice(steps in prop::collection::vec(step(), 1..200)) {
            let mut heap = Heap::new(BASE, LEN);
            let mut taken: Vec<(u64, u64)> = Vec::new();
            let mut used = vec![false; (BASE + LEN) as usize];
            for step in steps {
                let got = match step {
                    Step::Take { len, align } => {
                        let room = (BASE..=BASE + LEN - len).filter(|at| at.is_multiple_of(align)).any(|at| {
                            !used[at as usize..(at + len) as usize].contains(&true)
                        });
                        let at = heap.take(len, align);
                        prop_assert_eq!(at.is_some(), room);
                        prop_assert!(at.is_none_or(|at| at.is_multiple_of(align)));
                        at.map(|at| (at, len))
                    }
                    Step::TakeAt { at, len } => {
                        let end = at + len;
                        let room = end <= BASE + LEN && !used[at as usize..end as usize].contains(&true);
                        prop_assert_eq!(heap.is_free(at, len), room);
                        prop_assert_eq!(heap.take_at(at, len), room);
                        room.then_some((at, len))
                    }
                    Step::Give(which) => {
                        if !taken.is_empty() {
                            let (at, len) = taken.swap_remove(which % taken.len());
                            heap.give(at, len);
                            used[at as usize..(at + len) as usize].fill(false);
                        }
                        None
                    }
                };
                if let Some((at, len)) = got {
                    prop_assert!(at >= BASE && at + len <= BASE + LEN);
                    let bytes = &mut used[at as usize..(at + len) as usize];
                    prop_assert!(!bytes.contains(&true));
                    bytes.fill(true);
                    taken.push((at, len));
                }
            }
            for (at, len) in taken {
                heap.give(at, len);
            }
            prop_assert_eq!(heap.take(LEN, 1), Some(BASE));
        }
    }
}
