//! The limit of host memory that simulated memory takes.
//!
//! Memory is free until it is written: an allocation larger than the host succeeds. While all that is allocated fits the
//! limit, nothing is measured. Beyond that, the committed pages are counted from time to time:
//!
//! | call | refused with `OUT_OF_MEMORY` if |
//! |---|---|
//! | an allocation, a launch of a kernel or a graph | the limit is reached |
//! | a copy, a fill | it would be exceeded by the pages of the destination that are not committed yet |
//!
//! A kernel that exceeds the limit while it runs is ended, with the same code. The copies and fills of a graph are not
//! looked at one by one.

use std::ops::Range;
use std::time::{Duration, Instant};

use warploom_engine::{OpId, Work as _};

use crate::ffi::status::{OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::world::{Work, World};
use crate::memory::committed::{self, RELEASED};
use crate::memory::{MemoryOp, Side, Touch};

/// The limit, and the memory in use as it was last measured.
pub(crate) struct HostLimit {
    bytes: u64,
    measured: Option<Measured>,
    /// Memory that ops in flight write, and since the last measurement wrote.
    claims: Vec<(OpId, Pages)>,
}

/// A range of the simulator's addresses.
type Pages = Range<u64>;

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
    fn uncommitted(&self, more: &[Pages]) -> u64 {
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

    fn is_stale(&self) -> bool {
        self.measured.is_none_or(|measured| measured.at.elapsed() > INTERVAL.max(measured.took * 10))
    }
}

impl World {
    /// True if more is allocated than the limit, so that it could be exceeded.
    fn nears_host_limit(&self, more: u64) -> bool {
        let devices = self.devices.iter().map(|device| device.memory.capacity() - device.memory.free_bytes());
        let host = self.memory.held().filter(|(side, _)| *side == Side::Host).map(|(_, bytes)| bytes);
        devices.chain(host).fold(more, u64::saturating_add) > self.host_limit.bytes
    }

    /// The most bytes that are committed, with those that ops in flight may commit.
    fn most_committed(&mut self) -> u64 {
        if self.host_limit.is_stale() {
            self.measure_host_memory();
        }
        self.host_limit.measured.map_or(0, |measured| measured.bytes) + self.host_limit.claimed()
    }

    /// Measures the committed bytes.
    fn measure_host_memory(&mut self) -> u64 {
        let at = Instant::now();
        let engine = &self.engine;
        self.host_limit.claims.retain(|(op, _)| !engine.is_done(*op));
        let bytes = committed::committed() + self.virtual_memory.committed();
        self.host_limit.measured = Some(Measured { at, took: at.elapsed(), bytes });
        bytes
    }

    /// The reason why no more host memory is to be had, if the limit is reached.
    pub(crate) fn over_host_limit(&mut self, more: u64) -> Option<String> {
        if !self.nears_host_limit(more) || self.most_committed() < self.host_limit.bytes {
            return None;
        }
        let bytes = self.measure_host_memory() + self.host_limit.uncommitted(&[]);
        (bytes >= self.host_limit.bytes).then(|| self.explain_host_limit(bytes))
    }

    fn explain_host_limit(&self, bytes: u64) -> String {
        format!(
            "simulated memory takes {bytes} bytes of the host's memory, and the limit is {}; \
             WARPLOOM_HOST_MEMORY and MachineBuilder::host_memory set it",
            self.host_limit.bytes
        )
    }

    /// Refuses an allocation or a launch when the limit is reached.
    pub(crate) fn afford_host(&mut self, call: &Call<'_>, more: u64) -> Status {
        match self.over_host_limit(more) {
            Some(reason) => Err(call.refuse(OUT_OF_MEMORY, reason)),
            None => Ok(()),
        }
    }

    /// Refuses work that would exceed the limit. Returns the memory that it may commit.
    pub(crate) fn afford_work(&mut self, call: &Call<'_>, work: &Work) -> Status<Claim> {
        if !self.nears_host_limit(0) || gives_pages_back(work) {
            return Ok(Claim::default());
        }
        if matches!(work, Work::Task(_)) {
            self.afford_host(call, 0)?;
            return Ok(Claim::default());
        }
        let mut written = Vec::new();
        work.touches(|touch| match touch {
            Touch::Copy { to, bytes, .. } | Touch::Write { to, bytes } => written.push((to, bytes)),
            Touch::Prefetch { .. } | Touch::Discard { .. } | Touch::WriteValue { .. } | Touch::WaitValue { .. } => {}
        });
        written.retain(|(to, _)| self.memory.containing(to.address()).is_some());
        let pages: Vec<_> = written.iter().map(|(to, bytes)| to.host() as u64..to.host() as u64 + bytes).collect();
        let wanted: u64 = pages.iter().map(|pages| pages.end - pages.start).sum();
        if wanted > 0 && self.most_committed() + wanted > self.host_limit.bytes {
            let bytes = self.measure_host_memory();
            let wanted = self.host_limit.uncommitted(&pages);
            if bytes + wanted > self.host_limit.bytes {
                let reason = format!("{}; {wanted} more would be needed", self.explain_host_limit(bytes));
                return Err(call.refuse(OUT_OF_MEMORY, reason));
            }
        }
        Ok(Claim(pages))
    }

    /// Remembers the memory that an op may commit.
    pub(crate) fn claim_host(&mut self, op: OpId, Claim(pages): Claim) {
        self.host_limit.claims.extend(pages.into_iter().map(|pages| (op, pages)));
    }
}

/// Memory that an op may commit; none as long as the limit is far.
#[derive(Default)]
pub(crate) struct Claim(Vec<Pages>);

impl Claim {
    pub(crate) fn join(&mut self, Claim(pages): Claim) {
        self.0.extend(pages);
    }
}

/// True for a large fill with zeros.
fn gives_pages_back(work: &Work) -> bool {
    match work {
        Work::Memory(MemoryOp::Fill { pattern: 0, element, count, .. }) => count * u64::from(*element) >= RELEASED,
        _ => false,
    }
}
