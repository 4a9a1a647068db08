//! Free stretches of a window, found by first fit: the same calls give the same offsets on every run.

use std::collections::BTreeMap;

pub(crate) struct Heap {
    /// Start → length; neighbours are always merged.
    free: BTreeMap<u64, u64>,
}

impl Heap {
    pub(crate) fn new(base: u64, len: u64) -> Self {
        Self { free: BTreeMap::from([(base, len)]) }
    }

    /// Takes the first stretch that fits, aligned to a power of two.
    pub(crate) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let (start, free, at) = self.free.iter().find_map(|(start, free)| {
            let at = start.checked_next_multiple_of(align)?;
            let end = at.checked_add(len)?;
            (end <= start + free).then_some((*start, *free, at))
        })?;
        self.carve(start, free, at, len);
        Some(at)
    }

    /// Takes a given stretch, if it is free.
    pub(crate) fn take_at(&mut self, at: u64, len: u64) -> bool {
        let Some((start, free)) = self.free.range(..=at).next_back().map(|(start, free)| (*start, *free)) else {
            return false;
        };
        let fits = at.checked_add(len).is_some_and(|end| end <= start + free);
        if fits {
            self.carve(start, free, at, len);
        }
        fits
    }

    fn carve(&mut self, start: u64, free: u64, at: u64, len: u64) {
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let (end, free_end) = (at + len, start + free);
        if free_end > end {
            self.free.insert(end, free_end - end);
        }
    }

    /// Gives a stretch back.
    pub(crate) fn give(&mut self, at: u64, len: u64) {
        let mut start = at;
        let mut end = at + len;
        if let Some((before, length)) = self.free.range(..at).next_back().map(|(start, length)| (*start, *length))
            && before + length == at
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(length) = self.free.remove(&end) {
            end += length;
        }
        self.free.insert(start, end - start);
    }

    /// Whether everything between is free.
    pub(crate) fn is_free(&self, at: u64, len: u64) -> bool {
        self.free.range(..=at).next_back().is_some_and(|(start, free)| at + len <= start + free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
