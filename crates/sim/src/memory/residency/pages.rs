//! Managed pages: advice, prefetch location and residency of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::memory::requested_location::RequestedLocation;
use crate::memory::residence::Residence;

/// The size of a page: the unit of advice and of migration.
pub(crate) const PAGE: u64 = 4096;

/// Advice about a page, and its residency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) read_mostly: bool,
    pub(crate) preferred: Option<RequestedLocation>,
    /// Devices, and the host as such.
    pub(crate) accessed_by: BTreeSet<Residence>,
    /// The destination of the last prefetch.
    pub(crate) prefetched: Option<RequestedLocation>,
    /// More than one location only if it is mostly read; none before the first access.
    pub(crate) resident: BTreeSet<Residence>,
}

impl Page {
    /// `true` if there is a copy at a place; at the host as such, on any of its nodes.
    pub(crate) fn is_at(&self, place: Residence) -> bool {
        self.resident.contains(&place)
            || place == Residence::Host && self.resident.iter().any(|place| matches!(place, Residence::HostNode(_)))
    }

    /// The preferred location.
    pub(crate) fn preferred(&self) -> Option<Residence> {
        self.preferred.map(|requested| requested.place)
    }

    /// Has the only copy at a place.
    pub(crate) fn settle(&mut self, place: Residence) {
        self.resident = BTreeSet::from([place]);
    }

    /// Follows an access; `reaches` says if the accessor can use the page at a location.
    pub(crate) fn touched(&mut self, by: Residence, writes: bool, reaches: impl Fn(Residence) -> bool) {
        if self.is_at(by) {
            if writes {
                self.resident.retain(|place| place.side() == by.side());
            }
            return;
        }
        let Some(here) = self.resident.first().copied() else {
            return self.settle(self.preferred().filter(|place| reaches(*place)).unwrap_or(by));
        };
        if self.read_mostly && !writes {
            self.resident.insert(by);
        } else if reaches(here) && (self.preferred() == Some(here) || self.accessed_by.contains(&by)) {
            self.settle(here);
        } else {
            self.settle(by);
        }
    }
}

/// All pages of the address space, as runs of pages that are alike.
#[derive(Debug)]
pub(crate) struct Pages {
    /// First page of a run → the state of its pages. The first key is always 0.
    runs: BTreeMap<u64, Page>,
}

/// The pages that a stretch of bytes touches.
fn pages(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / PAGE..bytes.end.div_ceil(PAGE)
}

impl Pages {
    pub(crate) fn new() -> Self {
        Self { runs: BTreeMap::from([(0, Page::default())]) }
    }

    /// The page at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Page> {
        self.runs.range(..=address / PAGE).next_back().map(|(_, page)| page)
    }

    /// Changes every page that a stretch of bytes touches.
    pub(crate) fn update(&mut self, bytes: &Range<u64>, mut change: impl FnMut(&mut Page, u64)) {
        let Range { start, end } = pages(bytes);
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let ends: Vec<u64> = self.runs.range(start..end).skip(1).map(|(first, _)| *first).chain([end]).collect();
        for ((first, page), behind) in self.runs.range_mut(start..end).zip(ends) {
            change(page, (behind - first) * PAGE);
        }
        self.melt(start, end);
    }

    /// The different pages that a stretch of bytes touches.
    pub(crate) fn over(&self, bytes: &Range<u64>) -> impl Iterator<Item = &Page> {
        let Range { start, end } = pages(bytes);
        let first = self.runs.range(..=start).next_back();
        let rest = self.runs.range(start + 1..end.max(start + 1));
        first.into_iter().chain(rest).map(|(_, page)| page)
    }

    /// The value that all pages of a range have in common, if they do.
    pub(crate) fn common<T: PartialEq>(&self, bytes: &Range<u64>, of: impl Fn(&Page) -> T) -> Option<T> {
        let mut values = self.over(bytes).map(of);
        let first = values.next()?;
        values.all(|value| value == first).then_some(first)
    }

    /// Lets a run begin at a page.
    fn split(&mut self, at: u64) {
        if let Some((first, page)) = self.runs.range(..=at).next_back()
            && *first != at
        {
            let page = page.clone();
            self.runs.insert(at, page);
        }
    }

    /// Makes neighbours one that are alike, from the run before `start` to the one at `end`.
    fn melt(&mut self, start: u64, end: u64) {
        let before = self.runs.range(..start).next_back().map_or(start, |(first, _)| *first);
        let mut last: Option<&Page> = None;
        let mut alike = Vec::new();
        for (first, page) in self.runs.range(before..=end) {
            if last == Some(page) {
                alike.push(*first);
            }
            last = Some(page);
        }
        for first in alike {
            self.runs.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fresh_pages_are_blank() {
        let pages = Pages::new();
        assert_eq!(pages.at(0), Some(&Page::default()));
        assert_eq!(pages.over(&(5 * PAGE..9 * PAGE)).count(), 1);
    }

    #[test]
    fn a_byte_stands_for_its_page() {
        let mut pages = Pages::new();
        pages.update(&(PAGE + 5..PAGE + 6), |page, _| page.read_mostly = true);
        let marked = |address| pages.at(address).is_some_and(|page| page.read_mostly);
        assert!(marked(PAGE) && marked(2 * PAGE - 1));
        assert!(!marked(PAGE - 1) && !marked(2 * PAGE));
        pages.update(&(PAGE..PAGE), |_, _| panic!("there is no page in nothing"));
    }

    proptest! {
        #[test]
        fn runs_say_the_same_as_a_list_of_pages(
            moves in prop::collection::vec((0..40 * PAGE, 0..10 * PAGE, 0..3_u16), 0..60),
        ) {
            let mut pages = Pages::new();
            let mut model = vec![None; 51];
            for (start, len, device) in moves {
                let mut changed = 0;
                pages.update(&(start..start + len), |page, bytes| {
                    page.preferred = Some(Residence::Device(device).into());
                    changed += bytes;
                });
                let touched = (start / PAGE) as usize..(start + len).div_ceil(PAGE) as usize;
                let touched = touched.start..touched.end.max(touched.start);
                prop_assert_eq!(changed, touched.len() as u64 * PAGE);
                model[touched].fill(Some(Residence::Device(device)));
                for (page, expected) in model.iter().enumerate() {
                    let found = pages.at(page as u64 * PAGE).and_then(Page::preferred);
                    prop_assert_eq!(found, *expected, "page {}", page);
                }
                let neighbours = pages.runs.values().zip(pages.runs.values().skip(1));
                prop_assert!(neighbours.into_iter().all(|(one, two)| one != two), "{:?}", pages);
            }
        }
    }
}
