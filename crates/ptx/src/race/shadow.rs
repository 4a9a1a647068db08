//! Who touched memory last, word by word, and byte by byte where somebody touches less than a word.
//!
//! Of each word the last plain write is kept, the plain reads since (two of them, by different threads, where nothing orders
//! them), and the last strong write, or read where there is none. What a page has not seen costs nothing:
//!
//! | a page of 1 KiB that is | takes |
//! |---|---|
//! | only written, or only touched by strong accesses | 4 KiB |
//! | only read | 8 KiB |
//! | read and written | 12 KiB |
//! | touched by less than a word | four times as much |
//!
//! There is a limit to all of it; beyond, the pages that were met first are forgotten.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::hazard::Deed;
use super::stamp::Stamp;

const PAGE: u64 = 1024;

/// What is remembered of memory.
#[derive(Debug)]
pub(super) struct Shadow {
    /// Those that are known, and those that are free.
    pages: Vec<Page>,
    free: Vec<usize>,
    by_number: HashMap<u64, usize>,
    /// The one that was touched last: its number, and where it is.
    last: (u64, usize),
    /// In the order in which they were met.
    met: VecDeque<u64>,
    /// Stamps that there are, and that there may be.
    used: usize,
    limit: usize,
}

#[derive(Debug, Default)]
struct Page {
    /// Cells are bytes, not words.
    fine: bool,
    writes: Vec<Stamp>,
    reads: Vec<[Stamp; 2]>,
    strong: Vec<Stamp>,
}

/// An earlier access that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) first: Stamp,
    pub(super) deed: Deed,
    /// The byte at which both meet, and the one behind.
    pub(super) start: u64,
    pub(super) end: u64,
}

/// What is done to a stretch of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) stamp: Stamp,
    pub(super) deed: Deed,
}

impl Page {
    fn cells(&self) -> usize {
        if self.fine { PAGE as usize } else { PAGE as usize / 4 }
    }

    fn size(&self) -> usize {
        self.writes.len() + 2 * self.reads.len() + self.strong.len()
    }

    /// Makes every word four bytes.
    fn refine(&mut self) {
        if self.fine {
            return;
        }
        fn four<T: Copy>(cells: &mut Vec<T>) {
            *cells = cells.iter().flat_map(|cell| [*cell; 4]).collect();
        }
        four(&mut self.writes);
        four(&mut self.reads);
        four(&mut self.strong);
        self.fine = true;
    }

    /// Makes room for what an access leaves behind.
    fn grow(&mut self, deed: Deed) {
        let cells = self.cells();
        match deed {
            Deed::Write if self.writes.is_empty() => self.writes = vec![Stamp::NONE; cells],
            Deed::Read if self.reads.is_empty() => self.reads = vec![[Stamp::NONE; 2]; cells],
            Deed::StrongRead | Deed::StrongWrite | Deed::Update if self.strong.is_empty() => {
                self.strong = vec![Stamp::NONE; cells];
            }
            _ => {}
        }
    }

    /// Touches one cell; `found` gets what is not known to be over.
    #[inline]
    fn touch(
        &mut self,
        cell: usize,
        visit: &Visit,
        knows: &impl Fn(&Stamp) -> bool,
        mut found: impl FnMut(Stamp, Deed),
    ) {
        let Visit { stamp, deed } = *visit;
        let unknown = |earlier: &Stamp| earlier.is_some() && !knows(earlier);
        if let Some(write) = self.writes.get(cell).filter(|write| unknown(write)) {
            found(*write, Deed::Write);
        }
        if deed.writes()
            && let Some(reads) = self.reads.get(cell)
        {
            reads.iter().filter(|read| unknown(read)).for_each(|read| found(*read, Deed::Read));
        }
        if !deed.is_strong()
            && let Some(strong) = self.strong.get(cell)
            && (deed.writes() || strong.writes)
            && unknown(strong)
        {
            found(*strong, if strong.writes { Deed::StrongWrite } else { Deed::StrongRead });
        }
        match deed {
            Deed::Read => {
                let [first, second] = &mut self.reads[cell];
                if !first.is_some() || first.is_by(&stamp) || knows(first) {
                    *first = stamp;
                    if second.is_some() && knows(second) {
                        *second = Stamp::NONE;
                    }
                } else {
                    *second = stamp;
                }
            }
            Deed::Write => {
                self.writes[cell] = stamp;
                if let Some(reads) = self.reads.get_mut(cell) {
                    *reads = [Stamp::NONE; 2];
                }
                if let Some(strong) = self.strong.get_mut(cell) {
                    *strong = Stamp::NONE;
                }
            }
            Deed::StrongRead | Deed::StrongWrite | Deed::Update => {
                let strong = &mut self.strong[cell];
                if stamp.writes || !strong.writes {
                    *strong = stamp;
                }
            }
        }
    }
}

impl Shadow {
    /// With room for so many stamps.
    pub(super) fn new(limit: usize) -> Self {
        let (pages, free, by_number) = (Vec::new(), Vec::new(), HashMap::new());
        Self { pages, free, by_number, last: (u64::MAX, 0), met: VecDeque::new(), used: 0, limit }
    }

    /// Touches bytes; `found` gets what is not known to be over.
    pub(super) fn touch(
        &mut self,
        bytes: Range<u64>,
        visit: &Visit,
        knows: impl Fn(&Stamp) -> bool,
        found: &mut Vec<Conflict>,
    ) {
        let mut at = bytes.start;
        while at < bytes.end {
            let (number, start) = (at / PAGE, at / PAGE * PAGE);
            let end = bytes.end.min(start + PAGE);
            let page = self.page(number);
            let page = &mut self.pages[page];
            let before = page.size();
            if !(at | end).is_multiple_of(4) {
                page.refine();
            }
            page.grow(visit.deed);
            let width = if page.fine { 1 } else { 4 };
            for cell in (at - start) / width..(end - start) / width {
                let place = start + cell * width;
                page.touch(cell as usize, visit, &knows, |first, deed| {
                    found.push(Conflict { first, deed, start: place, end: place + width });
                });
            }
            self.used += page.size() - before;
            if self.used > self.limit {
                self.forget(number);
            }
            at = end;
        }
    }

    /// Where a page is, which is there from then on.
    #[inline]
    fn page(&mut self, number: u64) -> usize {
        if self.last.0 == number {
            return self.last.1;
        }
        let place = self.by_number.get(&number).copied().unwrap_or_else(|| {
            let place = self.free.pop().unwrap_or_else(|| {
                self.pages.push(Page::default());
                self.pages.len() - 1
            });
            self.by_number.insert(number, place);
            self.met.push_back(number);
            place
        });
        self.last = (number, place);
        place
    }

    /// Forgets all that was done to bytes: they are somebody else's from now on.
    pub(super) fn renew(&mut self, bytes: Range<u64>) {
        for number in bytes.start / PAGE..bytes.end.div_ceil(PAGE) {
            let Some(place) = self.by_number.get(&number) else { continue };
            let page = &mut self.pages[*place];
            let width = if page.fine { 1 } else { 4 };
            let start = number * PAGE;
            let inside = |at: u64| (at.clamp(start, start + PAGE) - start) / width;
            for cell in inside(bytes.start) as usize..inside(bytes.end) as usize {
                page.writes.get_mut(cell).into_iter().for_each(|stamp| *stamp = Stamp::NONE);
                page.reads.get_mut(cell).into_iter().for_each(|stamps| *stamps = [Stamp::NONE; 2]);
                page.strong.get_mut(cell).into_iter().for_each(|stamp| *stamp = Stamp::NONE);
            }
        }
    }

    /// Forgets what was met first, but for a page, until there is room.
    fn forget(&mut self, but: u64) {
        while self.used > self.limit
            && let Some(oldest) = self.met.pop_front()
        {
            if oldest == but {
                self.met.push_back(oldest);
                if self.met.len() == 1 {
                    return;
                }
                continue;
            }
            if let Some(place) = self.by_number.remove(&oldest) {
                self.used -= std::mem::take(&mut self.pages[place]).size();
                self.free.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(thread: u16, deed: Deed) -> Visit {
        Visit { stamp: Stamp { block: 0, since: 1, pc: 0, thread, writes: deed.writes() }, deed }
    }

    /// Nobody knows anybody.
    fn touch(shadow: &mut Shadow, bytes: Range<u64>, thread: u16, deed: Deed) -> Vec<(u16, Deed)> {
        let mut found = Vec::new();
        shadow.touch(bytes, &visit(thread, deed), |earlier| earlier.thread == thread, &mut found);
        found.into_iter().map(|conflict| (conflict.first.thread, conflict.deed)).collect()
    }

    #[test]
    fn readers_race_with_writers_only() {
        let mut shadow = Shadow::new(1 << 20);
        assert_eq!(touch(&mut shadow, 0..4, 1, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 0..4, 2, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 0..4, 2, Deed::Write), [(1, Deed::Read)]);
        assert_eq!(touch(&mut shadow, 0..8, 3, Deed::Read), [(2, Deed::Write)]);
    }

    #[test]
    fn strong_accesses_race_with_plain_ones_only() {
        let mut shadow = Shadow::new(1 << 20);
        assert_eq!(touch(&mut shadow, 0..4, 1, Deed::Update), []);
        assert_eq!(touch(&mut shadow, 0..4, 2, Deed::Update), []);
        assert_eq!(touch(&mut shadow, 0..4, 3, Deed::StrongRead), []);
        assert_eq!(touch(&mut shadow, 0..4, 1, Deed::Read), [(2, Deed::StrongWrite)]);
        assert_eq!(touch(&mut shadow, 0..4, 3, Deed::Update), [(1, Deed::Read)]);
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let mut shadow = Shadow::new(1 << 20);
        assert_eq!(touch(&mut shadow, 0..4, 1, Deed::Write), []);
        assert_eq!(touch(&mut shadow, 4..5, 1, Deed::Write), []);
        assert_eq!(touch(&mut shadow, 5..6, 2, Deed::Write), []);
        assert_eq!(touch(&mut shadow, 5..6, 1, Deed::Read), [(2, Deed::Write)]);
        assert_eq!(touch(&mut shadow, 3..4, 2, Deed::Read), [(1, Deed::Write)]);
    }

    #[test]
    fn an_access_across_pages_is_in_both() {
        let mut shadow = Shadow::new(1 << 20);
        touch(&mut shadow, 1020..1028, 1, Deed::Write);
        assert_eq!(touch(&mut shadow, 1024..1028, 2, Deed::Read), [(1, Deed::Write)]);
        assert_eq!(touch(&mut shadow, 1020..1024, 2, Deed::Read), [(1, Deed::Write)]);
    }

    #[test]
    fn what_is_renewed_is_nobodys() {
        let mut shadow = Shadow::new(1 << 20);
        touch(&mut shadow, 1016..1032, 1, Deed::Write);
        shadow.renew(1020..1028);
        assert_eq!(touch(&mut shadow, 1020..1028, 2, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 1016..1020, 2, Deed::Read), [(1, Deed::Write)]);
        assert_eq!(touch(&mut shadow, 1028..1032, 2, Deed::Read), [(1, Deed::Write)]);
    }

    #[test]
    fn what_was_met_first_is_forgotten_first() {
        let mut shadow = Shadow::new(3 * 256);
        for page in 0..8 {
            touch(&mut shadow, page * PAGE..page * PAGE + 4, 1, Deed::Write);
            assert!(shadow.used <= 3 * 256);
        }
        assert_eq!(touch(&mut shadow, 0..4, 2, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 7 * PAGE..7 * PAGE + 4, 2, Deed::Read), [(1, Deed::Write)]);
    }
}
