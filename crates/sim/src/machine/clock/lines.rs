//! The connections of a machine, each with bookings in each direction.

use std::collections::{BTreeMap, HashMap};

use warploom_engine::Period;
use warploom_record::{End, Link};

use super::bookings::Bookings;
use crate::memory::Side;
use crate::topology::{LinkKind, Topology};

/// Bandwidth of host memory, for copies that do not leave the host.
const HOST_BYTES_PER_SECOND: u64 = 20_000_000_000;

/// Number of lines that belong to one device alone.
const OWN_LINES: usize = 5;

/// One direction of something that moves bytes.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// From the host to a device.
    Down(u16),
    /// From a device to the host.
    Up(u16),
    /// From a device to the switch.
    Out(u16),
    /// From the switch to a device.
    In(u16),
    /// From a device to another over wires of their own.
    Pair(u16, u16),
    /// Between a device's processors and its memory.
    Memory(u16),
}

/// The path of a transfer: its lines, latency and bandwidth.
struct Path {
    lines: [Option<Line>; 2],
    latency_ns: u64,
    bytes_per_second: u64,
}

impl Path {
    /// Nanoseconds that bytes occupy it.
    fn moving(&self, bytes: u64) -> u64 {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Copy)]
struct HostLink {
    latency_ns: u64,
    bytes_per_second: u64,
    memory_bytes_per_second: u64,
}

pub(super) struct Lines {
    devices: Vec<HostLink>,
    peers: HashMap<(u16, u16), Peer>,
    /// One of each line, at its [index](Lines::index).
    used: Vec<Used>,
}

/// The use of one line so far.
#[derive(Clone, Default)]
struct Used {
    bookings: Bookings,
    bytes: u64,
    busy_ns: u64,
}

#[derive(Clone, Copy)]
struct Peer {
    kind: LinkKind,
    latency_ns: u64,
    bytes_per_second: u64,
}

impl Lines {
    pub(super) fn new(topology: &Topology) -> Self {
        let devices: Vec<_> = topology
            .devices
            .iter()
            .map(|device| HostLink {
                latency_ns: device.host_link.latency_ns,
                bytes_per_second: device.host_link.bandwidth,
                memory_bytes_per_second: device.memory_bandwidth,
            })
            .collect();
        let peers = topology
            .peers
            .iter()
            .map(|(accessor, owner, link)| {
                let peer = Peer { kind: link.kind, latency_ns: link.latency_ns, bytes_per_second: link.bandwidth };
                ((accessor as u16, owner as u16), peer)
            })
            .collect();
        let lines = devices.len() * (OWN_LINES + devices.len());
        Self { devices, peers, used: vec![Used::default(); lines] }
    }

    /// The place of a line: those of a device of its own, then those of pairs.
    fn index(&self, line: Line) -> usize {
        let own = |kind: usize, device: u16| kind + OWN_LINES * usize::from(device);
        match line {
            Line::Down(device) => own(0, device),
            Line::Up(device) => own(1, device),
            Line::Out(device) => own(2, device),
            Line::In(device) => own(3, device),
            Line::Memory(device) => own(4, device),
            Line::Pair(from, to) => self.devices.len() * (OWN_LINES + usize::from(from)) + usize::from(to),
        }
    }

    /// Moves bytes: from when the way is free until the last one arrives.
    pub(super) fn transfer(&mut self, number: u64, from: Side, to: Side, bytes: u64, earliest: u64) -> Period {
        let path = self.path(from, to);
        // A copy within one memory reads and writes it.
        let bytes = if from == to { bytes.saturating_mul(2) } else { bytes };
        self.book(number, &path, bytes, earliest)
    }

    /// Writes bytes of a device's own memory.
    pub(super) fn fill(&mut self, number: u64, own: Side, bytes: u64, earliest: u64) -> Period {
        let path = self.path(own, own);
        self.book(number, &path, bytes, earliest)
    }

    /// Nanoseconds that a transfer takes alone.
    pub(super) fn duration(&self, from: Side, to: Side, bytes: u64) -> u64 {
        let path = self.path(from, to);
        path.moving(bytes).saturating_add(path.latency_ns)
    }

    fn book(&mut self, number: u64, path: &Path, bytes: u64, earliest: u64) -> Period {
        let lines = || path.lines.into_iter().flatten();
        let (moving, mut start) = (path.moving(bytes), earliest);
        loop {
            let used = lines().filter_map(|line| self.used.get(self.index(line)));
            let free = used.map(|used| used.bookings.gap(number, start, moving)).max().unwrap_or(start);
            if free == start {
                break;
            }
            start = free;
        }
        let moved = start.saturating_add(moving);
        for line in lines() {
            let index = self.index(line);
            if let Some(used) = self.used.get_mut(index) {
                used.bookings.take(number, start, moved);
                used.bytes = used.bytes.saturating_add(bytes);
                used.busy_ns = used.busy_ns.saturating_add(moving);
            }
        }
        Period { start, end: moved.saturating_add(path.latency_ns) }
    }

    fn path(&self, from: Side, to: Side) -> Path {
        match (from, to) {
            (Side::Host, Side::Host) => {
                Path { lines: [None, None], latency_ns: 0, bytes_per_second: HOST_BYTES_PER_SECOND }
            }
            (Side::Host, Side::Device(device)) => self.host_path(device, Line::Down(device)),
            (Side::Device(device), Side::Host) => self.host_path(device, Line::Up(device)),
            (Side::Device(from), Side::Device(to)) if from == to => Path {
                lines: [Some(Line::Memory(from)), None],
                latency_ns: 0,
                bytes_per_second: self.device(from).memory_bytes_per_second,
            },
            (Side::Device(from), Side::Device(to)) => self.peer_path(from, to),
        }
    }

    fn device(&self, device: u16) -> HostLink {
        let nothing = HostLink { latency_ns: 0, bytes_per_second: 1, memory_bytes_per_second: 1 };
        self.devices.get(usize::from(device)).copied().unwrap_or(nothing)
    }

    fn host_path(&self, device: u16, line: Line) -> Path {
        let link = self.device(device);
        Path { lines: [Some(line), None], latency_ns: link.latency_ns, bytes_per_second: link.bytes_per_second }
    }

    /// Over the peers' link, whichever side can reach the other; through the host where neither can.
    fn peer_path(&self, from: u16, to: u16) -> Path {
        let through_host = [Some(Line::Up(from)), Some(Line::Down(to))];
        let link = self.peers.get(&(from, to)).or_else(|| self.peers.get(&(to, from)));
        match link {
            Some(peer) => Path {
                lines: match peer.kind {
                    LinkKind::Nvlink => [Some(Line::Pair(from, to)), None],
                    LinkKind::NvSwitch => [Some(Line::Out(from)), Some(Line::In(to))],
                    LinkKind::Pcie | LinkKind::C2c => through_host,
                },
                latency_ns: peer.latency_ns,
                bytes_per_second: peer.bytes_per_second,
            },
            None => {
                let (up, down) = (self.device(from), self.device(to));
                Path {
                    lines: through_host,
                    latency_ns: up.latency_ns + down.latency_ns,
                    bytes_per_second: up.bytes_per_second.min(down.bytes_per_second),
                }
            }
        }
    }

    /// Every line of the machine, with the bytes that went over it.
    pub(super) fn links(&self, topology: &Topology) -> Vec<Link> {
        let mut links = Vec::new();
        let mut add = |line: Line, from: End, to: End, kind: &str, bandwidth: u64| {
            let (bytes, busy_ns) = self.used.get(self.index(line)).map_or((0, 0), |used| (used.bytes, used.busy_ns));
            links.push(Link { from, to, kind: kind.to_owned(), bandwidth, bytes, busy_ns });
        };
        for (ordinal, device) in (0..).zip(&topology.devices) {
            let (end, link) = (End::Device(ordinal), device.host_link);
            add(Line::Down(ordinal), End::Host, end, link.kind.name(), link.bandwidth);
            add(Line::Up(ordinal), end, End::Host, link.kind.name(), link.bandwidth);
            add(Line::Memory(ordinal), end, end, "memory", device.memory_bandwidth);
        }
        let mut ports = BTreeMap::new();
        for (&(from, to), peer) in self.peers.iter().collect::<BTreeMap<_, _>>() {
            match peer.kind {
                LinkKind::NvSwitch => ports.extend([from, to].map(|device| (device, peer.bytes_per_second))),
                LinkKind::Nvlink => {
                    let [from_end, to_end] = [from, to].map(End::Device);
                    add(Line::Pair(from, to), from_end, to_end, peer.kind.name(), peer.bytes_per_second);
                }
                // Over the links to the host.
                LinkKind::Pcie | LinkKind::C2c => {}
            }
        }
        for (device, bandwidth) in ports {
            let (end, kind) = (End::Device(device), LinkKind::NvSwitch.name());
            add(Line::Out(device), end, End::Switch, kind, bandwidth);
            add(Line::In(device), End::Switch, end, kind, bandwidth);
        }
        links
    }
}
