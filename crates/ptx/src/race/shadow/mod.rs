//! Shadow memory: the last accesses to each byte.
//!
//! Accesses are recorded for rows of 32 bytes where a warp accesses whole rows, for words where not, and for
//! bytes where an access is smaller than a word. For each the last plain write is kept, the plain reads since
//! (two of them, by different threads, where nothing orders them), and the last strong write, or read where
//! there is none. Kinds of accesses that a page has not seen cost nothing:
//!
//! | a page of 1 KiB that is | takes, in rows | in words |
//! |---|---|---|
//! | only written | 0.5 KiB | 4.5 KiB |
//! | only touched by strong accesses | | 4.5 KiB |
//! | only read | 0.5 KiB, twice as much where several threads read the same | 4.5 KiB, the same |
//! | read and written | 1 KiB, or 1.5 | 9 KiB, or 13.5 |
//! | touched by less than a word, unless it is a row | | four times as much |
//!
//! The size is limited; beyond it the oldest pages are dropped.

mod layer;
mod page;
mod run;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::race::accessor::Accessor;
use crate::race::shadow::layer::PAGE;
use crate::race::shadow::page::Page;
pub(crate) use run::{Conflict, Run};

/// The access history of memory.
#[derive(Debug)]
pub(super) struct Shadow {
    /// Those that are known, and those that are free.
    pages: Vec<Page>,
    free: Vec<usize>,
    by_number: HashMap<u64, usize>,
    /// Some that were touched last: their numbers, and where they are.
    last: [(u64, usize); LAST],
    /// In the order in which they were met.
    met: VecDeque<u64>,
    /// Stamps that there are, and that there may be.
    used: usize,
    limit: usize,
}

/// Pages that are found without looking for them.
const LAST: usize = 16;

impl Shadow {
    /// With room for so many stamps.
    pub(super) fn new(limit: usize) -> Self {
        let (pages, free, by_number) = (Vec::new(), Vec::new(), HashMap::new());
        Self { pages, free, by_number, last: [(u64::MAX, 0); LAST], met: VecDeque::new(), used: 0, limit }
    }

    /// Records an access; conflicts go to `found`.
    pub(super) fn touch(&mut self, run: &Run, accessor: &Accessor<'_>, found: &mut Vec<Conflict>) {
        let mut at = run.start;
        while at < run.end {
            let (number, start) = (at / PAGE, at / PAGE * PAGE);
            let end = run.end.min(start + PAGE);
            let page = self.page(number);
            let page = &mut self.pages[page];
            let before = page.size();
            page.touch(start, [(at - start) as u32, (end - start) as u32], run, accessor, found);
            self.used += page.size() - before;
            if self.used > self.limit {
                self.forget(number);
            }
            at = end;
        }
    }

    /// The index of a page, which is created if it is not there.
    #[inline(always)]
    fn page(&mut self, number: u64) -> usize {
        let last = self.last[number as usize % LAST];
        if last.0 == number { last.1 } else { self.find(number) }
    }

    fn find(&mut self, number: u64) -> usize {
        let place = self.by_number.get(&number).copied().unwrap_or_else(|| {
            let place = self.free.pop().unwrap_or_else(|| {
                self.pages.push(Page::default());
                self.pages.len() - 1
            });
            self.by_number.insert(number, place);
            self.met.push_back(number);
            place
        });
        self.last[number as usize % LAST] = (number, place);
        place
    }

    /// Clears the history of bytes, which belong to a new allocation.
    pub(super) fn renew(&mut self, bytes: Range<u64>) {
        for number in bytes.start / PAGE..bytes.end.div_ceil(PAGE) {
            let Some(place) = self.by_number.get(&number) else { continue };
            let page = &mut self.pages[*place];
            let before = page.size();
            let start = number * PAGE;
            let inside = |at: u64| (at.clamp(start, start + PAGE) - start) as u32;
            page.renew(inside(bytes.start), inside(bytes.end));
            self.used += page.size() - before;
        }
    }

    /// Drops the oldest pages, but for one, until there is room.
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
                self.last = [(u64::MAX, 0); LAST];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::hazard::Deed;
    use crate::race::order::threads::Threads;

    /// Accesses of threads that nothing orders.
    fn touch(shadow: &mut Shadow, bytes: Range<u64>, thread: u32, deed: Deed) -> Vec<(u32, Deed)> {
        let run = Run::same(bytes.start, bytes.end - bytes.start, 1 << (thread % 32));
        touch_run(shadow, &Threads::new(0, 1024, 0), thread / 32, run, deed)
    }

    fn touch_run(shadow: &mut Shadow, threads: &Threads, warp: u32, run: Run, deed: Deed) -> Vec<(u32, Deed)> {
        let mut found = Vec::new();
        let accessor = Accessor::new(threads, warp as usize, run.lanes, 0, deed).expect("they are alike");
        shadow.touch(&run, &accessor, &mut found);
        found.into_iter().map(|conflict| (conflict.first.thread(), conflict.deed)).collect()
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
    fn renewed_bytes_have_no_history() {
        let mut shadow = Shadow::new(1 << 20);
        touch(&mut shadow, 1016..1032, 1, Deed::Write);
        shadow.renew(1020..1028);
        assert_eq!(touch(&mut shadow, 1020..1028, 2, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 1016..1020, 2, Deed::Read), [(1, Deed::Write)]);
        assert_eq!(touch(&mut shadow, 1028..1032, 2, Deed::Read), [(1, Deed::Write)]);
    }

    #[test]
    fn the_oldest_pages_are_dropped_first() {
        let mut shadow = Shadow::new(3 * 288);
        for page in 0..8 {
            touch(&mut shadow, page * PAGE..page * PAGE + 4, 1, Deed::Write);
            assert!(shadow.used <= 3 * 288);
        }
        assert_eq!(touch(&mut shadow, 0..4, 2, Deed::Read), []);
        assert_eq!(touch(&mut shadow, 7 * PAGE..7 * PAGE + 4, 2, Deed::Read), [(1, Deed::Write)]);
    }
    #[test]
    fn rows_that_are_touched_as_a_whole_are_told_apart_by_lane() {
        for share in [1_u64, 2, 4, 8, 16] {
            let (mut shadow, threads) = (Shadow::new(1 << 20), Threads::new(0, 1024, 0));
            let whole = |start| Run::apart(start, share, u32::MAX).expect("side by side");
            let end = 1024 + 32 * share;
            assert_eq!(touch_run(&mut shadow, &threads, 0, whole(1024), Deed::Write), []);
            // Each its own, a word or less of it, and one that belongs to another.
            assert_eq!(touch_run(&mut shadow, &threads, 0, whole(1024), Deed::Read), []);
            assert_eq!(touch(&mut shadow, end - share..end, 31, Deed::Read), []);
            assert_eq!(touch(&mut shadow, end - 1..end, 31, Deed::Write), []);
            assert_eq!(touch(&mut shadow, 1024..1024 + share, 1, Deed::Read)[0], (0, Deed::Write));
            // Nor are they those of another warp, nor of lanes that are shared out otherwise.
            let found = touch_run(&mut shadow, &threads, 1, whole(1024), Deed::Read);
            assert!(found.contains(&(0, Deed::Write)) && found.contains(&(31, Deed::Write)), "{found:?}");
            let shifted = Run::apart(1024 + share, share, u32::MAX).expect("side by side");
            assert!(touch_run(&mut shadow, &threads, 0, shifted, Deed::Read).contains(&(1, Deed::Write)));
        }
    }

    #[test]
    fn a_row_that_fell_apart_is_one_again_when_it_is_written() {
        let (mut shadow, threads) = (Shadow::new(1 << 20), Threads::new(0, 1024, 0));
        let whole = Run::apart(0, 4, u32::MAX).expect("side by side");
        touch(&mut shadow, 8..12, 2, Deed::Read);
        assert_eq!(touch_run(&mut shadow, &threads, 0, whole, Deed::Write), []);
        assert_eq!(touch_run(&mut shadow, &threads, 0, whole, Deed::Write), []);
        assert_eq!(touch(&mut shadow, 8..12, 3, Deed::Read), [(2, Deed::Write)]);
        assert_eq!(touch(&mut shadow, 60..64, 3, Deed::Read), [(15, Deed::Write)]);
    }

    #[test]
    fn lanes_that_read_one_word_are_all_met_by_a_writer() {
        let (mut shadow, threads) = (Shadow::new(1 << 20), Threads::new(0, 1024, 0));
        touch_run(&mut shadow, &threads, 0, Run::same(0, 4, u32::MAX), Deed::Read);
        touch_run(&mut shadow, &threads, 1, Run::same(0, 4, 0b11), Deed::Read);
        assert_eq!(touch(&mut shadow, 0..4, 0, Deed::Write), [(1, Deed::Read), (32, Deed::Read)]);
    }

    #[test]
    fn lanes_that_do_not_follow_each_other_share_no_rows() {
        assert!(Run::apart(0, 4, 0b101).is_none() && Run::apart(0, 3, 0b11).is_none());
        assert!(Run::apart(2, 4, 0b11).is_none() && Run::apart(0, 4, 0b110).is_some());
        assert!(Run::apart(0, 4, u32::MAX).is_some() && Run::apart(0, 64, 1).is_none());
    }
}
