//! Addresses that graphs allocate from: whole granules that no graph has, and holes between a graph's allocations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The unit of a graph's addresses, and of the memory charged to a device.
pub(crate) const GRANULE: u64 = 32 << 20;

/// Granules that no graph has.
#[derive(Default)]
pub(super) struct FreeGranules {
    /// Gaps between granules of graphs, in the order in which they came to be.
    gaps: Vec<Range<u64>>,
    /// The granules that came last. As on an H200, they stay apart from gaps beside them until others come,
    /// or until no gap is large enough.
    newest: Option<Range<u64>>,
}

impl FreeGranules {
    /// All granules of a range.
    pub(super) fn new(range: Range<u64>) -> Self {
        let whole = range.start.next_multiple_of(GRANULE)..range.end / GRANULE * GRANULE;
        Self { gaps: if whole.is_empty() { Vec::new() } else { vec![whole] }, newest: None }
    }

    /// Takes granules for so many bytes, from the smallest gap. Of several it is the newest granules, or else the
    /// oldest gap.
    pub(super) fn take(&mut self, bytes: u64) -> Option<Range<u64>> {
        let bytes = bytes.checked_next_multiple_of(GRANULE)?;
        let start = self.smallest(bytes).or_else(|| {
            let newest = self.newest.take()?;
            self.merge(newest);
            self.smallest(bytes)
        })?;
        self.take_at(start, bytes)
    }

    /// The start of the smallest gap of at least so many bytes.
    fn smallest(&self, bytes: u64) -> Option<u64> {
        let fitting = self.newest.iter().chain(&self.gaps).filter(|gap| gap.end - gap.start >= bytes);
        fitting.min_by_key(|gap| gap.end - gap.start).map(|gap| gap.start)
    }

    /// Takes granules for so many bytes from an address on, if a gap begins there that has as many.
    pub(super) fn take_at(&mut self, start: u64, bytes: u64) -> Option<Range<u64>> {
        let bytes = bytes.checked_next_multiple_of(GRANULE)?;
        let mut gaps = self.newest.iter_mut().chain(&mut self.gaps);
        let gap = gaps.find(|gap| gap.start == start && gap.end - gap.start >= bytes)?;
        gap.start += bytes;
        self.newest.take_if(|gap| gap.is_empty());
        self.gaps.retain(|gap| !gap.is_empty());
        Some(start..start + bytes)
    }

    /// Gives granules back.
    pub(super) fn give_back(&mut self, range: Range<u64>) {
        if let Some(older) = self.newest.replace(range) {
            self.merge(older);
        }
    }

    /// Adds a gap, with those beside it.
    fn merge(&mut self, mut range: Range<u64>) {
        self.gaps.retain(|gap| {
            let is_beside = gap.end == range.start || gap.start == range.end;
            if is_beside {
                range = gap.start.min(range.start)..gap.end.max(range.end);
            }
            !is_beside
        });
        self.gaps.push(range);
    }
}

/// Unused addresses in the granules of a graph.
#[derive(Default)]
pub(super) struct Holes {
    /// By their first addresses.
    ends: BTreeMap<u64, u64>,
    /// By their sizes.
    sizes: BTreeSet<(u64, u64)>,
}

impl Holes {
    /// Takes addresses: from the smallest hole; from the last one, with granules behind it; or from other granules.
    pub(super) fn take(&mut self, bytes: u64, free: &mut FreeGranules) -> Option<u64> {
        if let Some((_, start)) = self.sizes.range((bytes, 0)..).next().copied() {
            return self.take_from(start, bytes);
        }
        if let Some((start, end)) = self.ends.last_key_value().map(|(start, end)| (*start, *end))
            && end % GRANULE == 0
            && let Some(more) = free.take_at(end, bytes - (end - start))
        {
            self.insert(more);
            return self.take_from(start, bytes);
        }
        let granules = free.take(bytes)?;
        let start = granules.start;
        self.insert(granules);
        self.take_from(start, bytes)
    }

    /// Takes the first bytes of the hole that an address is in.
    fn take_from(&mut self, inside: u64, bytes: u64) -> Option<u64> {
        let (start, end) = self.ends.range(..=inside).next_back().map(|(start, end)| (*start, *end))?;
        self.remove(start, end);
        if end > start + bytes {
            self.insert(start + bytes..end);
        }
        Some(start)
    }

    /// Adds unused addresses.
    fn insert(&mut self, mut range: Range<u64>) -> Range<u64> {
        if let Some(end) = self.ends.get(&range.end).copied() {
            self.remove(range.end, end);
            range.end = end;
        }
        let before = self.ends.range(..range.start).next_back().map(|(start, end)| (*start, *end));
        if let Some((start, end)) = before.filter(|(_, end)| *end == range.start) {
            self.remove(start, end);
            range.start = start;
        }
        self.ends.insert(range.start, range.end);
        self.sizes.insert((range.end - range.start, range.start));
        range
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.ends.remove(&start);
        self.sizes.remove(&(end - start, start));
    }

    /// Gives addresses back, and granules that nothing of the graph is in any more.
    pub(super) fn give_back(&mut self, range: Range<u64>, free: &mut FreeGranules) {
        let hole = self.insert(range);
        let whole = hole.start.next_multiple_of(GRANULE)..hole.end / GRANULE * GRANULE;
        if whole.is_empty() {
            return;
        }
        self.remove(hole.start, hole.end);
        for rest in [hole.start..whole.start, whole.end..hole.end] {
            if !rest.is_empty() {
                self.insert(rest);
            }
        }
        free.give_back(whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 64 * GRANULE;
    const MIB: u64 = 1 << 20;

    /// The number of granules, and their parts, from the first address on.
    fn place(address: Option<u64>) -> Option<(u64, u64)> {
        address.map(|address| ((address - BASE) / GRANULE, (address - BASE) % GRANULE / MIB))
    }

    fn free() -> FreeGranules {
        FreeGranules::new(BASE - 5..BASE + 100 * GRANULE + 5)
    }

    /// The granules that allocations of so many granules get when some of `count` single ones were given back.
    fn next(count: usize, given_back: &[usize], sizes: &[u64]) -> Vec<u64> {
        let mut free = free();
        let all: Vec<_> = (0..count).filter_map(|_| free.take(1)).collect();
        given_back.iter().for_each(|place| free.give_back(all[*place].clone()));
        let taken = sizes.iter().filter_map(|size| free.take(size * GRANULE));
        taken.map(|taken| (taken.start - BASE) / GRANULE).collect()
    }

    #[test]
    fn the_newest_granules_are_taken_first_and_then_the_oldest() {
        assert_eq!(next(6, &[1, 3], &[1; 4]), [3, 1, 6, 7]);
        assert_eq!(next(6, &[4, 5], &[1; 4]), [5, 4, 6, 7]);
        assert_eq!(next(6, &[1, 2, 4], &[1; 4]), [4, 1, 2, 6]);
        assert_eq!(next(8, &[1, 3, 5], &[1; 4]), [5, 1, 3, 8]);
    }

    #[test]
    fn gaps_beside_each_other_become_one_when_others_come() {
        assert_eq!(next(6, &[3, 2, 1], &[3, 1, 1]), [6, 1, 2]);
        assert_eq!(next(6, &[3, 2, 1, 5], &[3, 1]), [1, 5]);
        assert_eq!(next(6, &[0, 2, 1, 5], &[94, 3, 1]), [6, 0, 5]);
        assert!(next(6, &[], &[95]).is_empty());
        assert_eq!(next(6, &[5], &[95]), [5], "or when nothing else is large enough");
    }

    #[test]
    fn granules_come_from_the_smallest_gap() {
        let mut free = free();
        let all: Vec<_> = [1, 2, 1, 4, 1, 2, 1].iter().filter_map(|count| free.take(count * GRANULE)).collect();
        for place in [1, 3, 5] {
            free.give_back(all[place].clone());
        }
        let sizes = [1, 1, 1, 3, 2, 1, 1];
        let next = sizes.map(|count| place(free.take(count * GRANULE).map(|taken| taken.start)));
        assert_eq!(next, [9, 10, 1, 4, 12, 2, 7].map(|granule| Some((granule, 0))));
    }

    #[test]
    fn holes_are_filled_from_the_smallest_on() {
        let (mut free, mut one, mut other) = (free(), Holes::default(), Holes::default());
        one.take(20 * MIB, &mut free);
        other.take(1, &mut free);
        one.take(25 * MIB, &mut free);
        let next = [MIB, 6 * MIB, 10 * MIB, MIB].map(|bytes| place(one.take(bytes, &mut free)));
        assert_eq!(next, [Some((2, 25)), Some((2, 26)), Some((0, 20)), Some((0, 30))]);
    }

    #[test]
    fn the_last_hole_goes_on_in_free_granules() {
        let (mut free, mut one, mut other) = (free(), Holes::default(), Holes::default());
        let first = [40, 30].map(|size| place(one.take(size * MIB, &mut free)));
        assert_eq!(first, [Some((0, 0)), Some((1, 8))]);
        other.take(1, &mut free);
        assert_eq!(place(one.take(31 * MIB, &mut free)), Some((4, 0)), "the granule behind is another's");
    }

    #[test]
    fn granules_without_allocations_are_given_back() {
        let (mut free, mut holes) = (free(), Holes::default());
        let taken: Vec<u64> = [20, 60, 10].iter().filter_map(|size| holes.take(size * MIB, &mut free)).collect();
        assert_eq!(taken.len(), 3);
        holes.give_back(taken[1]..taken[1] + 60 * MIB, &mut free);
        assert_eq!(place(free.take(1).map(|taken| taken.start)), Some((1, 0)));
        assert_eq!(place(holes.take(12 * MIB, &mut free)), Some((0, 20)));
        holes.give_back(taken[0]..taken[0] + 32 * MIB, &mut free);
        assert_eq!(place(free.take(1).map(|taken| taken.start)), Some((0, 0)));
    }
}
