//! Links: connections between two memories, with bandwidth and latency.

use std::fmt;

use super::error::TopologyError;
use super::quantity::GB;

/// The most a link or a memory can move, 1 PB/s: times computed from it stay exact.
pub const MAX_BANDWIDTH: u64 = 1_000_000 * GB;

/// Technology of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkKind {
    /// Wires from one GPU directly to another.
    Nvlink,
    /// A switch that joins every GPU of the machine to every other.
    NvSwitch,
    /// The host's expansion bus.
    Pcie,
    /// The coherent link between the chips of one package.
    C2c,
}

impl LinkKind {
    /// Every kind there is.
    pub const ALL: &'static [LinkKind] = &[Self::Nvlink, Self::NvSwitch, Self::Pcie, Self::C2c];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvlink => "nvlink",
            Self::NvSwitch => "nvswitch",
            Self::Pcie => "pcie",
            Self::C2c => "c2c",
        }
    }

    /// The kind with this name.
    pub(super) fn by_name(name: &str) -> Result<Self, TopologyError> {
        by_name("link kind", name, Self::ALL, Self::name)
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Atomic operations that work across a link to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atomics {
    /// None of them.
    None,
    /// Some of them.
    Partial,
    /// All of them.
    Native,
}

impl Atomics {
    const ALL: &'static [Atomics] = &[Self::None, Self::Partial, Self::Native];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Native => "native",
        }
    }

    /// The kind of support with this name.
    pub(super) fn by_name(name: &str) -> Result<Self, TopologyError> {
        by_name("kind of atomics", name, Self::ALL, Self::name)
    }
}

/// The member of a list that has a name.
fn by_name<T: Copy>(
    what: &'static str,
    name: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, TopologyError> {
    let found = all.iter().copied().find(|item| name_of(*item) == name);
    found.ok_or_else(|| TopologyError::unknown_name(what, name, all.iter().copied().map(name_of).collect()))
}

/// The link between a device and the host's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Technology of the link.
    pub kind: LinkKind,
    /// Bytes per second in one direction.
    pub bandwidth: u64,
    /// Nanoseconds until the first byte arrives.
    pub latency_ns: u64,
}

impl Link {
    /// A sixteen-lane bus of the given PCI Express generation, as fast as copies over it are in practice.
    pub const fn pcie(generation: PcieGeneration) -> Self {
        let bandwidth = match generation {
            PcieGeneration::Three => 12 * GB,
            PcieGeneration::Four => 25 * GB,
            PcieGeneration::Five => 55 * GB,
        };
        Self { kind: LinkKind::Pcie, bandwidth, latency_ns: 1_500 }
    }

    /// The coherent link of a package with its own processor.
    pub const fn c2c() -> Self {
        Self { kind: LinkKind::C2c, bandwidth: 450 * GB, latency_ns: 800 }
    }

    /// Refuses a link on which nothing would move.
    pub(super) fn check(&self) -> Result<(), TopologyError> {
        check(self.bandwidth, self.latency_ns)
    }
}

/// The generations of PCI Express that the known devices speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcieGeneration {
    /// 8 GT/s per lane.
    Three,
    /// 16 GT/s per lane.
    Four,
    /// 32 GT/s per lane.
    Five,
}

/// The link by which one device reaches the memory of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerLink {
    /// Technology of the link.
    pub kind: LinkKind,
    /// Bytes per second in one direction.
    pub bandwidth: u64,
    /// Nanoseconds until the first byte arrives.
    pub latency_ns: u64,
    /// Atomic operations that work across it.
    pub atomics: Atomics,
    /// Rank among the links of the machine: 0 is the fastest.
    pub performance_rank: i32,
    /// `true` if arrays can be accessed across it.
    pub array_access: bool,
}

impl PeerLink {
    /// The greatest latency a link can have, one second.
    pub const MAX_LATENCY_NS: u64 = 1_000_000_000;
    /// The greatest performance rank.
    pub const MAX_RANK: i32 = 1_000;

    /// The usual link of a kind: what files mean when they name nothing else.
    pub const fn of(kind: LinkKind) -> Self {
        match kind {
            LinkKind::Nvlink => Self::nvlink(),
            LinkKind::NvSwitch => Self::nvswitch(),
            LinkKind::Pcie => Self::pcie(),
            LinkKind::C2c => Self::c2c(),
        }
    }

    /// A bridge of four NVLink wires: all atomics, 100 GB/s.
    pub const fn nvlink() -> Self {
        Self { kind: LinkKind::Nvlink, bandwidth: 100 * GB, latency_ns: 700, ..Self::nvswitch() }
    }

    /// A port of eighteen NVLink wires to a switch, as on Hopper: all atomics, 450 GB/s.
    pub const fn nvswitch() -> Self {
        Self {
            kind: LinkKind::NvSwitch,
            bandwidth: 450 * GB,
            latency_ns: 1_000,
            atomics: Atomics::Native,
            performance_rank: 0,
            array_access: true,
        }
    }

    /// A PCI Express 5 path through a common root: no atomics, 50 GB/s.
    pub const fn pcie() -> Self {
        Self {
            kind: LinkKind::Pcie,
            bandwidth: 50 * GB,
            latency_ns: 2_000,
            atomics: Atomics::None,
            performance_rank: 1,
            array_access: true,
        }
    }

    /// A path through the coherent links of two packages: all atomics, 200 GB/s.
    pub const fn c2c() -> Self {
        Self { kind: LinkKind::C2c, bandwidth: 200 * GB, latency_ns: 1_200, ..Self::nvswitch() }
    }

    /// The same link with another bandwidth, in bytes per second.
    pub const fn with_bandwidth(self, bandwidth: u64) -> Self {
        Self { bandwidth, ..self }
    }

    /// The same link with another latency, in nanoseconds.
    pub const fn with_latency_ns(self, latency_ns: u64) -> Self {
        Self { latency_ns, ..self }
    }

    /// The same link with other atomics.
    pub const fn with_atomics(self, atomics: Atomics) -> Self {
        Self { atomics, ..self }
    }

    /// The same link with another rank.
    pub const fn with_performance_rank(self, performance_rank: i32) -> Self {
        Self { performance_rank, ..self }
    }

    /// `true` if every atomic operation works across it.
    pub fn native_atomics(&self) -> bool {
        self.atomics == Atomics::Native
    }

    /// Refuses a link on which nothing would move, and one that could not be ranked.
    pub(super) fn check(&self) -> Result<(), TopologyError> {
        check(self.bandwidth, self.latency_ns)?;
        if !(0..=Self::MAX_RANK).contains(&self.performance_rank) {
            return Err(TopologyError::out_of_range("performance_rank", self.performance_rank, 0, Self::MAX_RANK));
        }
        Ok(())
    }
}

/// The limits that every link has.
fn check(bandwidth: u64, latency_ns: u64) -> Result<(), TopologyError> {
    check_bandwidth("bandwidth", bandwidth)?;
    if latency_ns > PeerLink::MAX_LATENCY_NS {
        return Err(TopologyError::out_of_range("latency_ns", latency_ns, 0, PeerLink::MAX_LATENCY_NS));
    }
    Ok(())
}

/// Refuses a bandwidth of nothing and one beyond any machine.
pub(super) fn check_bandwidth(what: &'static str, bandwidth: u64) -> Result<(), TopologyError> {
    if (1..=MAX_BANDWIDTH).contains(&bandwidth) {
        return Ok(());
    }
    Err(TopologyError::out_of_range(what, bandwidth, 1, MAX_BANDWIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_links_are_sound() {
        for kind in LinkKind::ALL {
            assert_eq!(PeerLink::of(*kind).kind, *kind);
            assert_eq!(PeerLink::of(*kind).check(), Ok(()));
            assert_eq!(LinkKind::by_name(kind.name()), Ok(*kind));
        }
        for host in [Link::c2c(), Link::pcie(PcieGeneration::Three), Link::pcie(PcieGeneration::Five)] {
            assert_eq!(host.check(), Ok(()));
        }
    }

    #[test]
    fn a_link_that_moves_nothing_is_refused() {
        let refused = PeerLink::pcie().with_bandwidth(0).check().map_err(|error| error.to_string());
        assert_eq!(refused, Err("bandwidth is 0, expected 1 to 1000000000000000".to_owned()));
        assert!(PeerLink::pcie().with_latency_ns(u64::MAX).check().is_err());
        assert!(PeerLink::pcie().with_performance_rank(-1).check().is_err());
    }
}
