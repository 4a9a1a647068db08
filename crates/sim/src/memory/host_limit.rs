//! The limit of host memory that simulated memory may take, and the memory in use.

use std::ops::Range;
use std::time::{Duration, Instant};

use warploom_engine::OpId;

use super::committed;

/// The limit, and the memory in use as it was last measured.
pub(crate) struct HostLimit {
    bytes: u64,
    measured: Option<Measured>,
    /// Memory that ops in flight write, and since the last measurement wrote.
    claims: Vec<(OpId, Pages)>,
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
        self.claims.iter().map(|(_, pages)| pages.end - pages.start).sum()
    }

    /// The bytes of claims, and of some more memory, that are not committed yet.
    pub(crate) fn uncommitted(&self, more: &[Pages]) -> u64 {
        let mut all: Vec<_> = self.claims.iter().map(|(_, pages)| pages).chain(more).cloned().collect();
        all.sort_by_key(|pages| pages.start);
        let (mut bytes, mut counted) = (0, 0);
        for pages in all {
            let start = pages.start.max(counted);
            if let Some(rest) = pages.end.checked_sub(start) {
                bytes += rest - committed::committed_in(start as usize, rest);
                counted = pages.end;
            }
        }
        bytes
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

    /// The most bytes that are committed since the last measurement.
    pub(crate) fn most(&self) -> u64 {
        self.measured.map_or(0, |measured| measured.bytes) + self.claimed()
    }

    /// Remembers the memory that an op may commit.
    pub(crate) fn claim(&mut self, op: OpId, Claim(pages): Claim) {
        self.claims.extend(pages.into_iter().map(|pages| (op, pages)));
    }
}

/// Memory that an op may commit; none as long as the limit is far.
#[derive(Default)]
pub(crate) struct Claim(pub(crate) Vec<Pages>);

impl Claim {
    pub(crate) fn join(&mut self, Claim(pages): Claim) {
        self.0.extend(pages);
    }
}
