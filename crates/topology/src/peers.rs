//! Peer access between devices, and its links.

use std::collections::BTreeMap;

use super::link::{Atomics, PeerLink};

/// The peers that one context can enable on machines without a switch.
pub const DEFAULT_MAX_PEERS: u32 = 8;

/// Attributes of an ordered pair of devices.
#[doc(alias = "CUdevice_P2PAttribute")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerAttribute {
    /// Rank among the links; 0 is the fastest.
    PerformanceRank,
    /// `true` if the first device can reach the memory of the second.
    AccessSupported,
    /// `true` if every atomic operation works across the link.
    NativeAtomicSupported,
    /// `true` if arrays can be accessed across the link.
    ArrayAccessSupported,
    /// `true` if some, but not all, atomic operations work across the link.
    OnlyPartialNativeAtomicSupported,
}

impl PeerAttribute {
    /// The attribute behind a number, if a driver of that version knows it.
    pub fn by_number(number: i32, driver_version: i32) -> Option<Self> {
        match number {
            1 => Some(Self::PerformanceRank),
            2 => Some(Self::AccessSupported),
            3 => Some(Self::NativeAtomicSupported),
            4 => Some(Self::ArrayAccessSupported),
            5 if driver_version >= 13000 => Some(Self::OnlyPartialNativeAtomicSupported),
            _ => None,
        }
    }
}

/// The links of a machine, one per ordered pair that has one.
///
/// A pair is *accessor, owner*: the device that reads or writes, and the device that holds the memory.
/// Nothing makes a link in one direction imply one in the other. A device needs no link to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerMatrix {
    /// Number of peers one context can enable before the driver says that there are too many.
    pub max_peers: u32,
    links: BTreeMap<(usize, usize), PeerLink>,
}

impl Default for PeerMatrix {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_PEERS)
    }
}

impl PeerMatrix {
    /// No links at all.
    pub fn new(max_peers: u32) -> Self {
        Self { max_peers, links: BTreeMap::new() }
    }

    /// The link by which `accessor` reaches the memory of `owner`.
    pub fn link(&self, accessor: usize, owner: usize) -> Option<&PeerLink> {
        self.links.get(&(accessor, owner))
    }

    /// `true` if `accessor` can reach the memory of `owner`. Never true of a device and itself, as the driver
    /// has it.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access(&self, accessor: usize, owner: usize) -> bool {
        self.links.contains_key(&(accessor, owner))
    }

    /// The driver's answer for an ordered pair; zero throughout where there is no link.
    #[doc(alias = "cuDeviceGetP2PAttribute")]
    pub fn attribute(&self, attribute: PeerAttribute, accessor: usize, owner: usize) -> i32 {
        self.link(accessor, owner).map_or(0, |link| match attribute {
            PeerAttribute::PerformanceRank => link.performance_rank,
            PeerAttribute::AccessSupported => 1,
            PeerAttribute::NativeAtomicSupported => i32::from(link.atomics == Atomics::Native),
            PeerAttribute::ArrayAccessSupported => i32::from(link.array_access),
            PeerAttribute::OnlyPartialNativeAtomicSupported => i32::from(link.atomics == Atomics::Partial),
        })
    }

    /// Puts a link in place; the link that was there, if any, is returned.
    pub fn connect(&mut self, accessor: usize, owner: usize, link: PeerLink) -> Option<PeerLink> {
        self.links.insert((accessor, owner), link)
    }

    /// Takes a link away and returns it.
    pub fn disconnect(&mut self, accessor: usize, owner: usize) -> Option<PeerLink> {
        self.links.remove(&(accessor, owner))
    }

    /// Every link as accessor, owner and link, in the order of the ordinals.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, &PeerLink)> + '_ {
        self.links.iter().map(|((accessor, owner), link)| (*accessor, *owner, link))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_independent() {
        let mut peers = PeerMatrix::default();
        assert_eq!(peers.connect(0, 1, PeerLink::nvlink()), None);
        assert!(peers.can_access(0, 1));
        assert!(!peers.can_access(1, 0));
        assert!(!peers.can_access(0, 0));
        assert_eq!(peers.disconnect(0, 1), Some(PeerLink::nvlink()));
        assert_eq!(peers, PeerMatrix::default());
    }

    #[test]
    fn attributes_describe_the_link() {
        use PeerAttribute::*;
        let mut peers = PeerMatrix::default();
        peers.connect(0, 1, PeerLink::nvlink());
        peers.connect(1, 0, PeerLink::pcie().with_atomics(Atomics::Partial));
        let all = [
            PerformanceRank,
            AccessSupported,
            NativeAtomicSupported,
            ArrayAccessSupported,
            OnlyPartialNativeAtomicSupported,
        ];
        assert_eq!(all.map(|attribute| peers.attribute(attribute, 0, 1)), [0, 1, 1, 1, 0]);
        assert_eq!(all.map(|attribute| peers.attribute(attribute, 1, 0)), [1, 1, 0, 1, 1]);
        assert_eq!(all.map(|attribute| peers.attribute(attribute, 0, 2)), [0; 5]);
    }

    #[test]
    fn an_older_driver_knows_fewer_attributes() {
        let latest = PeerAttribute::OnlyPartialNativeAtomicSupported;
        assert_eq!(PeerAttribute::by_number(5, 13000), Some(latest));
        assert_eq!(PeerAttribute::by_number(5, 12090), None);
        assert_eq!(PeerAttribute::by_number(2, 11040), Some(PeerAttribute::AccessSupported));
        for number in [i32::MIN, 0, 6, i32::MAX] {
            assert_eq!(PeerAttribute::by_number(number, 13040), None);
        }
    }
}
