//! Virtual time: how long work would take on the modelled machine.
//!
//! Host time moves a little with every call; an op starts when its predecessors, its queue and the link it needs are
//! free, and takes the link's latency and its bytes at the link's bandwidth. Plausible and reproducible, not predictive.

use std::collections::HashMap;

use crate::engine::{Side, Work};
use crate::topology::Topology;

/// What one driver call costs the host.
const HOST_CALL_NS: u64 = 500;
/// What starting any op costs a device.
const START_NS: u64 = 1_000;

pub(crate) struct Clock {
    now: u64,
    links: HashMap<(Side, Side), Line>,
}

/// One direction of a connection.
#[derive(Clone, Copy)]
struct Line {
    latency_ns: u64,
    bytes_per_second: u64,
    busy_until: u64,
}

impl Clock {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut links = HashMap::new();
        let sides =
            || std::iter::once(Side::Host).chain((0..topology.devices.len()).map(|device| Side::Device(device as u16)));
        for from in sides() {
            for to in sides() {
                links.insert((from, to), Line { latency_ns: 1_000, bytes_per_second: 50_000_000_000, busy_until: 0 });
            }
        }
        Self { now: 1_000, links }
    }

    /// A host thread made a call; the time it is now.
    pub(crate) fn host_call(&mut self) -> u64 {
        self.now += HOST_CALL_NS;
        self.now
    }

    /// A host thread saw something that ended at `time`.
    pub(crate) fn host_saw(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// Runs work that could start at `earliest`; the time it ends.
    pub(crate) fn run(&mut self, work: &Work, device: u16, earliest: u64) -> u64 {
        let own = Side::Device(device);
        let (from, to, bytes) = match work {
            Work::Join | Work::Record { .. } | Work::Release { .. } => return earliest,
            Work::HostFunction { .. } | Work::Callback { .. } | Work::WriteValue { .. } | Work::WaitValue { .. } => {
                return earliest + START_NS;
            }
            Work::Task(_) => return earliest + START_NS,
            Work::Copy { to, from, bytes } => (from.side, to.side, *bytes),
            Work::CopyBlock(block) => (block.from.side, block.to.side, block.bytes()),
            Work::Staged { to, bytes } => (Side::Host, to.side, bytes.len() as u64),
            Work::StagedBlock(staged) => (Side::Host, staged.block.to.side, staged.bytes.len() as u64),
            Work::Fill { to, element, count, .. } => (own, to.side, count * u64::from(*element)),
            Work::FillRows(rows) => (own, rows.to.side, rows.columns * rows.rows * u64::from(rows.element)),
        };
        let Some(line) = self.links.get_mut(&(from, to)) else { return earliest + START_NS };
        let start = earliest.max(line.busy_until);
        let moving = (u128::from(bytes) * 1_000_000_000 / u128::from(line.bytes_per_second)) as u64;
        line.busy_until = start + moving;
        start + START_NS + line.latency_ns + moving
    }
}
