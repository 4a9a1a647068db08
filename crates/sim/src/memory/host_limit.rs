//! The limit of host memory that simulated memory may take, and the memory in use.

use std::ops::Range;
use std::time::{Duration, Instant};

use warploom_engine::OpId;

use super::committed;

/// The limit, and the memory in use as it was last measured.
pub(crate) struct HostLimit {
    bytes: u64,
    measured: Option<Measured>,
    /// Memory that ops in flight write or give back, and since the last measurement did.
    claims: Vec<(OpId, Claim)>,
}

/// A range of the simulator's addresses.
pub(crate) type Pages = Range<u64>;

#[derive(Clone, Copy)]
struct Measured {
    at: Instant,
    took: Duration,
    bytes: u64,
}

/// The shortest time between two measurements; longer where one takes more than a tenth of it.
const INTERVAL: Duration = Duration::from_millis(20);

impl HostLimit {
    /// A limit in bytes; without one, half of the host's memory.
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        let bytes = bytes.or_else(|| committed::host_memory().map(|all| all / 2)).unwrap_or(u64::MAX);
        Self { bytes, measured: None, claims: Vec::new() }
    }

    /// The most that claims may commit.
    fn claimed(&self) -> u64 {
        self.claims.iter().flat_map(|(_, claim)| &claim.written).map(|pages| pages.end - pages.start).sum()
    }

    /// The memory that ops in flight give back, sorted, without overlaps.
    fn released(&self) -> Vec<Pages> {
        union(self.claims.iter().flat_map(|(_, claim)| &claim.released))
    }

    /// `true` if it is time for a measurement.
    pub(crate) fn is_stale(&self) -> bool {
        self.measured.is_none_or(|measured| measured.at.elapsed() > INTERVAL.max(measured.took * 10))
    }

    /// The limit.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Measures the committed bytes, beside `more` that others count. Claims of ops that are done are
    /// forgotten.
    pub(crate) fn measure(&mut self, more: u64, is_done: impl Fn(OpId) -> bool) -> u64 {
        let at = Instant::now();
        self.claims.retain(|(op, _)| !is_done(*op));
        let bytes = committed::committed() + more;
        self.measured = Some(Measured { at, took: at.elapsed(), bytes });
        bytes
    }

    /// The bytes that will be committed when the ops in flight are done, and one that writes `more` after
    /// them, as far as they can be foreseen. Measures like [`measure`](Self::measure).
    ///
    /// Pages that an op in flight gives back count as given back: a program that clears memory and goes on
    /// must not depend on how fast the clearing is. If they are written as well, they count as written,
    /// whatever the order.
    pub(crate) fn foresee(&mut self, others: u64, is_done: impl Fn(OpId) -> bool, more: &[Pages]) -> u64 {
        let released = self.released();
        // In this order: pages that go back meanwhile are counted once too little, not once too much.
        let going: u64 = released.iter().map(committed::committed_in).sum();
        let bytes = self.measure(others, is_done);
        let written = self.claims.iter().flat_map(|(_, claim)| &claim.written).chain(more);
        let mut coming = 0;
        for pages in union(written) {
            let stays: u64 = without(&pages, &released).map(|pages| committed::committed_in(&pages)).sum();
            coming += pages.end - pages.start - stays;
        }
        bytes.saturating_sub(going) + coming
    }

    /// The most bytes that are committed since the last measurement.
    pub(crate) fn most(&self) -> u64 {
        self.measured.map_or(0, |measured| measured.bytes) + self.claimed()
    }

    /// Remembers the memory that an op may commit.
    pub(crate) fn claim(&mut self, op: OpId, claim: Claim) {
        if !claim.is_empty() {
            self.claims.push((op, claim));
        }
    }
}

/// Memory that an op may commit, and memory that it gives back; none as long as the limit is far.
#[derive(Default)]
pub(crate) struct Claim {
    pub(crate) written: Vec<Pages>,
    pub(crate) released: Vec<Pages>,
}

impl Claim {
    fn is_empty(&self) -> bool {
        self.written.is_empty() && self.released.is_empty()
    }

    pub(crate) fn join(&mut self, other: Claim) {
        self.written.extend(other.written);
        self.released.extend(other.released);
    }
}

/// Ranges as few that do not overlap, sorted.
fn union<'a>(ranges: impl Iterator<Item = &'a Pages>) -> Vec<Pages> {
    let mut all: Vec<Pages> = ranges.filter(|range| !range.is_empty()).cloned().collect();
    all.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Pages> = Vec::new();
    for range in all {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The parts of a range outside of `holes`, which are sorted and do not overlap.
fn without(range: &Pages, holes: &[Pages]) -> impl Iterator<Item = Pages> {
    let starts = std::iter::once(range.start).chain(holes.iter().map(|hole| hole.end));
    let ends = holes.iter().map(|hole| hole.start).chain([range.end]);
    starts.zip(ends).map(|(start, end)| start.max(range.start)..end.min(range.end)).filter(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start and end of ranges.
    fn ends(ranges: impl IntoIterator<Item = Pages>) -> Vec<(u64, u64)> {
        ranges.into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn ranges_that_meet_or_overlap_are_joined() {
        assert_eq!(ends(union([5..9, 1..3, 3..4, 6..7, 8..12, 2..2].iter())), [(1, 4), (5, 12)]);
        assert_eq!(ends(union([].iter())), []);
    }

    #[test]
    fn holes_are_cut_out_of_a_range() {
        let rest = |holes: &[Pages]| ends(without(&(10..20), holes));
        assert_eq!(rest(&[]), [(10, 20)]);
        assert_eq!(rest(&[0..5, 12..14, 16..17, 30..40]), [(10, 12), (14, 16), (17, 20)]);
        assert_eq!(rest(&[0..12, 18..30]), [(12, 18)]);
        assert_eq!(rest(&[5..25, 26..27]), []);
    }
}
