//! Where the pages of a managed allocation are.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::engine::Side;

/// What managed memory moves by.
pub(crate) const PAGE: u64 = 64 << 10;

/// The place of every page, as runs of pages that are in the same place.
#[derive(Debug)]
pub(crate) struct Residency {
    /// First page of a run → where it is; `None` where nobody has touched the pages yet. The first key is always 0.
    runs: BTreeMap<u64, Option<Side>>,
    pages: u64,
}

impl Residency {
    /// Pages that nobody has touched.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { runs: BTreeMap::from([(0, None)]), pages: bytes.div_ceil(PAGE) }
    }

    /// Where the page at an offset is, if anywhere.
    pub(crate) fn at(&self, offset: u64) -> Option<Side> {
        self.runs.range(..=offset / PAGE).next_back().and_then(|(_, side)| *side)
    }

    /// Moves every page that a stretch of bytes touches.
    pub(crate) fn moved(&mut self, bytes: Range<u64>, side: Side) {
        let (first, end) = (bytes.start / PAGE, bytes.end.div_ceil(PAGE).min(self.pages));
        if bytes.is_empty() || first >= end {
            return;
        }
        let after = self.at(end * PAGE);
        while let Some(run) = self.runs.range(first..=end).next().map(|(page, _)| *page) {
            self.runs.remove(&run);
        }
        let before = self.runs.range(..first).next_back().and_then(|(_, side)| *side);
        if first == 0 || before != Some(side) {
            self.runs.insert(first, Some(side));
        }
        if end < self.pages && after != Some(side) {
            self.runs.insert(end, after);
        }
    }

    /// How many bytes of pages are somewhere.
    #[cfg_attr(not(test), expect(dead_code, reason = "advice and prefetching, a later issue, ask for it"))]
    pub(crate) fn bytes_on(&self, side: Side) -> u64 {
        let ends = self.runs.keys().copied().skip(1).chain([self.pages]);
        let runs = self.runs.iter().zip(ends).filter(|((_, place), _)| **place == Some(side));
        runs.map(|((start, _), end)| (end - start) * PAGE).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fresh_memory_is_nowhere() {
        let residency = Residency::new(3 * PAGE);
        assert_eq!(residency.at(0), None);
        assert_eq!(residency.at(3 * PAGE - 1), None);
        assert_eq!(residency.bytes_on(Side::Host), 0);
    }

    #[test]
    fn a_byte_takes_its_whole_page_along() {
        let mut residency = Residency::new(10 * PAGE);
        residency.moved(PAGE + 5..PAGE + 6, Side::Device(1));
        assert_eq!(residency.at(PAGE), Some(Side::Device(1)));
        assert_eq!(residency.at(2 * PAGE - 1), Some(Side::Device(1)));
        assert_eq!((residency.at(PAGE - 1), residency.at(2 * PAGE)), (None, None));
        residency.moved(0..0, Side::Host);
        assert_eq!(residency.bytes_on(Side::Host), 0);
    }

    fn side() -> impl Strategy<Value = Side> {
        prop_oneof![Just(Side::Host), Just(Side::Device(0)), Just(Side::Device(1))]
    }

    proptest! {
        #[test]
        fn runs_say_the_same_as_a_list_of_pages(
            moves in prop::collection::vec((0..40 * PAGE, 0..10 * PAGE, side()), 0..60),
        ) {
            let mut residency = Residency::new(39 * PAGE + 1);
            let mut pages = [None; 40];
            for (start, len, side) in moves {
                let end = (start + len).min(39 * PAGE + 1).max(start);
                residency.moved(start..end, side);
                if end > start {
                    pages[(start / PAGE) as usize..end.div_ceil(PAGE) as usize].fill(Some(side));
                }
                for (page, expected) in pages.iter().enumerate() {
                    prop_assert_eq!(residency.at(page as u64 * PAGE), *expected, "page {}", page);
                }
                for side in [Side::Host, Side::Device(0), Side::Device(1)] {
                    let count = pages.iter().filter(|page| **page == Some(side)).count() as u64;
                    prop_assert_eq!(residency.bytes_on(side), count * PAGE);
                }
                let neighbours = residency.runs.values().zip(residency.runs.values().skip(1));
                prop_assert!(neighbours.into_iter().all(|(one, two)| one != two), "{:?}", residency);
            }
        }
    }
}
