//! Sets of bytes, as sorted stretches.

use std::ops::Range;

use smallvec::SmallVec;

/// Bytes by their offset; stretches that touch are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    sorted: SmallVec<[(u64, u64); 1]>,
}

impl Ranges {
    /// The stretches from the first that ends behind `start` on.
    fn first_ending_after(&self, start: u64) -> usize {
        self.sorted.partition_point(|(_, end)| *end <= start)
    }

    pub(crate) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // Stretches that only touch the new one melt into it, too.
        let first = self.sorted.partition_point(|(_, end)| *end < range.start);
        let behind = self.sorted.partition_point(|(start, _)| *start <= range.end);
        if first == behind {
            self.sorted.insert(first, (range.start, range.end));
            return;
        }
        let (start, end) = (self.sorted[first].0.min(range.start), self.sorted[behind - 1].1.max(range.end));
        self.sorted[first] = (start, end);
        self.sorted.drain(first + 1..behind);
    }

    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let mut index = self.first_ending_after(range.start);
        while let Some((start, end)) = self.sorted.get(index).copied().filter(|(start, _)| *start < range.end) {
            self.sorted.remove(index);
            if start < range.start {
                self.sorted.insert(index, (start, range.start));
                index += 1;
            }
            if end > range.end {
                self.sorted.insert(index, (range.end, end));
                index += 1;
            }
        }
    }

    /// Calls `there` with each stretch of a range that is in the set.
    pub(crate) fn parts(&self, range: &Range<u64>, mut there: impl FnMut(Range<u64>)) {
        for (start, end) in &self.sorted[self.first_ending_after(range.start)..] {
            if *start >= range.end {
                break;
            }
            there((*start).max(range.start)..(*end).min(range.end));
        }
    }

    /// Calls `missing` with each stretch of a range that is not in the set.
    pub(crate) fn gaps(&self, range: Range<u64>, mut missing: impl FnMut(Range<u64>)) {
        let mut at = range.start;
        for (start, end) in &self.sorted[self.first_ending_after(range.start)..] {
            if *start >= range.end {
                break;
            }
            if at < *start {
                missing(at..*start);
            }
            at = *end;
        }
        if at < range.end {
            missing(at..range.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a model that knows every byte.
        #[test]
        fn a_set_of_ranges_is_a_set_of_bytes(steps in prop::collection::vec((0..100u64, 0..20u64, any::<bool>()), 1..60)) {
            let (mut ranges, mut model) = (Ranges::default(), [false; 128]);
            for (start, len, adds) in steps {
                let range = start..start + len;
                if adds { ranges.add(range.clone()) } else { ranges.remove(range.clone()) }
                for byte in range {
                    model[byte as usize] = adds;
                }
                let mut missing = [false; 128];
                ranges.gaps(0..128, |gap| gap.for_each(|byte| missing[byte as usize] = true));
                prop_assert!(model.iter().zip(&missing).all(|(there, missing)| there != missing));
                let mut there = [false; 128];
                ranges.parts(&(0..128), |part| part.for_each(|byte| there[byte as usize] = true));
                prop_assert_eq!(model, there);
                prop_assert!(ranges.sorted.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", ranges);
            }
        }
    }
}
