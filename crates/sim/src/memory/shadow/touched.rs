//! The bytes that a kernel has read and written.

use std::ops::Range;

use super::operation::AccessKind;
use super::ranges::Ranges;

/// Bytes that a kernel touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Those it read before it wrote them.
    pub(crate) reads: [Ranges; 2],
    pub(crate) writes: [Ranges; 2],
}

impl Touched {
    pub(crate) fn read(&mut self, range: Range<u64>, strong: bool) {
        let Self { reads, writes } = self;
        writes[usize::from(strong)].gaps(range, |gap| reads[usize::from(strong)].add(gap));
    }

    pub(crate) fn write(&mut self, range: Range<u64>, strong: bool) {
        self.writes[usize::from(strong)].add(range);
    }

    /// Leaves out the accesses to some bytes.
    pub(crate) fn forget(&mut self, range: &Range<u64>) {
        self.reads.iter_mut().chain(&mut self.writes).for_each(|ranges| ranges.remove(range.clone()));
    }

    /// The first stretch of a range that was written, or else read.
    pub(crate) fn first_in(&self, range: &Range<u64>) -> Option<(Range<u64>, AccessKind)> {
        let first = |ranges: &[Ranges; 2]| {
            let mut found: Option<Range<u64>> = None;
            for part in ranges {
                part.parts(range, |part| {
                    if found.as_ref().is_none_or(|found| part.start < found.start) {
                        found = Some(part);
                    }
                });
            }
            found
        };
        let written = first(&self.writes).map(|part| (part, AccessKind::Write));
        written.or_else(|| first(&self.reads).map(|part| (part, AccessKind::Read)))
    }

    /// Calls `touch` with every stretch, and whether it was written.
    pub(crate) fn each(&self, mut touch: impl FnMut(Range<u64>, bool)) {
        for (ranges, writes) in [(&self.reads, false), (&self.writes, true)] {
            ranges.iter().for_each(|ranges| ranges.parts(&(0..u64::MAX), |range| touch(range, writes)));
        }
    }
}
