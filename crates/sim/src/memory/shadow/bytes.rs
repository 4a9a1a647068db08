//! The accesses to each byte of a piece of memory that a later access can still race with, and the bytes ever
//! written.
//!
//! Of every stretch of bytes the accesses are kept that no later one *covers*: an access goes when another
//! comes that is ordered behind it and conflicts with everything that the first conflicts with. So the last
//! write is kept, the reads since, one for each stream that reads at the same time, and more only where there
//! is a race. A later access that races with any access races with a kept one.
//!
//! | kept | bytes |
//! |---|---|
//! | a stretch with up to two accesses | about 270 |
//! | each further access | 64 |
//! | a stretch of written bytes | 16 |
//!
//! Stretches are split where accesses begin and end, and merge again when their accesses are the same. When
//! there are many, those that the host knows to be over are forgotten: no later access can race with them.

use std::collections::BTreeMap;
use std::ops::Range;

use smallvec::SmallVec;
use warploom_engine::Known;

use super::access::{Access, Conflict};
use super::ranges::Ranges;

#[derive(Debug, Default)]
pub(crate) struct Shadow {
    /// By where they start; they do not overlap.
    stretches: BTreeMap<u64, Stretch>,
    pub(crate) written: Ranges,
    /// Bytes whose contents were given up, and that no work has written since.
    pub(crate) discarded: Ranges,
    /// Number of stretches above which some are forgotten.
    most: usize,
}

#[derive(Debug)]
struct Stretch {
    end: u64,
    accesses: SmallVec<[Access; 2]>,
}

/// Below this many stretches it is not worth looking for some to forget.
const FEW: usize = 64;

impl Stretch {
    /// Records an access of all of it; `conflicts` gets the earlier accesses that it is not ordered behind.
    fn touch(&mut self, start: u64, access: &Access, known: &Known, conflicts: &mut Vec<Conflict>) {
        let (mut is_there, end) = (false, self.end);
        self.accesses.retain(|earlier| {
            if earlier.epoch == access.epoch {
                is_there |= earlier.kind == access.kind;
                return true;
            }
            let is_before = known.includes(earlier.epoch);
            if !is_before && access.kind.conflicts(earlier.kind) {
                note(conflicts, earlier, start..end);
            }
            !(is_before && access.kind.covers(earlier.kind))
        });
        if !is_there {
            self.accesses.push(access.clone());
        }
    }

    fn is_like(&self, other: &Stretch) -> bool {
        let keys = |stretch: &Stretch| stretch.accesses.iter().map(|access| (access.epoch, access.kind)).collect();
        let (mine, theirs): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) = (keys(self), keys(other));
        mine == theirs
    }
}

/// Notes a conflict once for each earlier access, with the first stretch of bytes.
fn note(conflicts: &mut Vec<Conflict>, first: &Access, bytes: Range<u64>) {
    match conflicts.iter_mut().find(|conflict| conflict.first.epoch == first.epoch) {
        Some(conflict) if conflict.bytes.end == bytes.start => conflict.bytes.end = bytes.end,
        Some(_) => {}
        None => conflicts.push(Conflict { first: first.clone(), bytes }),
    }
}

impl Shadow {
    /// Records an access; `conflicts` gets the earlier accesses that `known` does not put before it.
    pub(crate) fn touch(&mut self, bytes: Range<u64>, access: &Access, known: &Known, conflicts: &mut Vec<Conflict>) {
        if bytes.is_empty() {
            return;
        }
        // Repeated accesses mostly have the same range.
        if let Some(stretch) = self.stretches.get_mut(&bytes.start)
            && stretch.end == bytes.end
        {
            return stretch.touch(bytes.start, access, known, conflicts);
        }
        self.split(bytes.start);
        self.split(bytes.end);
        let mut gaps: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        let mut at = bytes.start;
        for (start, stretch) in self.stretches.range_mut(bytes.clone()) {
            if at < *start {
                gaps.push((at, *start));
            }
            stretch.touch(*start, access, known, conflicts);
            at = stretch.end;
        }
        if at < bytes.end {
            gaps.push((at, bytes.end));
        }
        for (start, end) in gaps {
            self.stretches.insert(start, Stretch { end, accesses: SmallVec::from_iter([access.clone()]) });
        }
        self.melt(bytes);
    }

    /// The earlier accesses that an access would not be ordered behind, without recording it.
    pub(crate) fn conflicts(&self, bytes: Range<u64>, access: &Access, known: &Known, conflicts: &mut Vec<Conflict>) {
        let before = self.stretches.range(..bytes.start).next_back().filter(|(_, stretch)| stretch.end > bytes.start);
        for (start, stretch) in before.into_iter().chain(self.stretches.range(bytes.clone())) {
            let both = (*start).max(bytes.start)..stretch.end.min(bytes.end);
            for earlier in &stretch.accesses {
                let is_free = earlier.epoch == access.epoch || known.includes(earlier.epoch);
                if !is_free && access.kind.conflicts(earlier.kind) {
                    note(conflicts, earlier, both.clone());
                }
            }
        }
    }

    /// The remembered accesses to a range.
    pub(crate) fn accesses(&self, bytes: &Range<u64>) -> impl Iterator<Item = &Access> {
        let before = self.stretches.range(..bytes.start).next_back().filter(|(_, stretch)| stretch.end > bytes.start);
        before.into_iter().chain(self.stretches.range(bytes.clone())).flat_map(|(_, stretch)| &stretch.accesses)
    }

    /// Calls a function for each remembered access, with its bytes.
    pub(crate) fn each_access(&self, mut access: impl FnMut(Range<u64>, &Access)) {
        for (start, stretch) in &self.stretches {
            stretch.accesses.iter().for_each(|one| access(*start..stretch.end, one));
        }
    }

    /// Forgets all that is known of a range: its bytes are uninitialised, and all accesses to it are over.
    pub(crate) fn renew(&mut self, bytes: Range<u64>) {
        self.split(bytes.start);
        self.split(bytes.end);
        let inside: Vec<u64> = self.stretches.range(bytes.clone()).map(|(start, _)| *start).collect();
        for start in inside {
            self.stretches.remove(&start);
        }
        self.written.remove(bytes.clone());
        self.discarded.remove(bytes);
    }

    /// Makes a stretch that reaches across `at` two.
    fn split(&mut self, at: u64) {
        let Some((_, stretch)) = self.stretches.range_mut(..at).next_back().filter(|(_, stretch)| stretch.end > at)
        else {
            return;
        };
        let (end, accesses) = (stretch.end, stretch.accesses.clone());
        stretch.end = at;
        self.stretches.insert(at, Stretch { end, accesses });
    }

    /// Makes neighbours with the same accesses one, in and around a range.
    fn melt(&mut self, bytes: Range<u64>) {
        let before = self.stretches.range(..bytes.start).next_back().map(|(start, _)| *start);
        let mut start = before.unwrap_or(bytes.start);
        while start < bytes.end {
            let Some(stretch) = self.stretches.get(&start) else { break };
            let end = stretch.end;
            match self.stretches.get(&end) {
                Some(next) if next.is_like(stretch) => {
                    let next_end = next.end;
                    self.stretches.remove(&end);
                    if let Some(stretch) = self.stretches.get_mut(&start) {
                        stretch.end = next_end;
                    }
                }
                _ => match self.stretches.range(end..).next() {
                    Some((next, _)) => start = *next,
                    None => break,
                },
            }
        }
    }

    /// Forgets, if there are many, the accesses that all later ops know to be over.
    pub(crate) fn forget(&mut self, over: &Known) {
        if self.stretches.len() <= self.most.max(FEW) {
            return;
        }
        self.stretches.retain(|_, stretch| {
            stretch.accesses.retain(|access| !over.includes(access.epoch));
            !stretch.accesses.is_empty()
        });
        self.most = self.stretches.len() * 2;
    }
}

#[cfg(test)]
mod tests {
    use warploom_engine::Epoch;

    use super::*;
    use crate::memory::shadow::AccessKind::{self, Read, Write};

    /// A stream that touches memory and knows only itself, unless it is told.
    struct Toucher(Known);

    impl Toucher {
        fn new(timeline: u32) -> Self {
            Self(Known::of(Epoch { timeline, count: 0 }))
        }

        fn touch(&mut self, shadow: &mut Shadow, bytes: Range<u64>, kind: AccessKind) -> Vec<(u64, Range<u64>)> {
            let access = Access { epoch: self.0.next(), kind, stream: None, site: None };
            let mut conflicts = Vec::new();
            shadow.touch(bytes, &access, &self.0, &mut conflicts);
            self.0.advance();
            conflicts.into_iter().map(|conflict| (conflict.first.epoch.timeline.into(), conflict.bytes)).collect()
        }
    }

    #[test]
    fn conflicts_are_found_to_the_byte() {
        let (mut shadow, mut one, mut other) = (Shadow::default(), Toucher::new(1), Toucher::new(2));
        assert_eq!(one.touch(&mut shadow, 10..20, Write), []);
        assert_eq!(other.touch(&mut shadow, 0..10, Write), []);
        assert_eq!(other.touch(&mut shadow, 20..30, Write), []);
        assert_eq!(other.touch(&mut shadow, 15..40, Read), [(1, 15..20)]);
        assert_eq!(one.touch(&mut shadow, 0..40, Read), [(2, 0..10), (2, 20..30)]);
    }

    #[test]
    fn readers_leave_each_other_alone_and_a_writer_meets_them_all() {
        let (mut shadow, mut readers) = (Shadow::default(), [1, 2, 3].map(Toucher::new));
        for reader in &mut readers {
            assert_eq!(reader.touch(&mut shadow, 0..8, Read), []);
        }
        let mut writer = Toucher::new(4);
        writer.0.join(&readers[1].0);
        assert_eq!(writer.touch(&mut shadow, 0..8, Write), [(1, 0..8), (3, 0..8)]);
    }

    #[test]
    fn a_renewed_range_has_no_accesses_and_no_written_bytes() {
        let (mut shadow, mut one, mut other) = (Shadow::default(), Toucher::new(1), Toucher::new(2));
        one.touch(&mut shadow, 0..30, Write);
        shadow.written.add(0..30);
        shadow.renew(10..20);
        assert_eq!(other.touch(&mut shadow, 10..20, Write), []);
        assert_eq!(other.touch(&mut shadow, 0..30, Read), [(1, 0..10)]);
        let mut gaps = Vec::new();
        shadow.written.gaps(0..30, |gap| gaps.push((gap.start, gap.end)));
        assert_eq!(gaps, [(10, 20)]);
    }

    #[test]
    fn a_loop_over_pieces_leaves_one_stretch() {
        let (mut shadow, mut one) = (Shadow::default(), Toucher::new(1));
        for piece in 0..1000 {
            one.touch(&mut shadow, piece * 4..piece * 4 + 4, Write);
        }
        one.touch(&mut shadow, 0..4000, Write);
        assert_eq!(shadow.stretches.len(), 1);
    }

    #[test]
    fn accesses_known_to_be_over_are_forgotten_when_there_are_many() {
        let (mut shadow, mut one, mut other) = (Shadow::default(), Toucher::new(1), Toucher::new(2));
        for piece in 0..1000 {
            one.touch(&mut shadow, piece * 8..piece * 8 + 4, Write);
        }
        other.touch(&mut shadow, 4..8, Write);
        shadow.forget(&one.0);
        assert_eq!(shadow.stretches.len(), 1);
        assert_eq!(one.touch(&mut shadow, 0..8, Write), [(2, 4..8)]);
    }
}
