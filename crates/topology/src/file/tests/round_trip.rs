use proptest::prelude::*;

use super::super::super::attribute::{Attribute, number};
use super::super::super::builder::{TopologyBuilder, pairs};
use super::super::super::link::{Atomics, Link, LinkKind, PeerLink};
use super::super::super::{DeviceModel, PciAddress, Topology, TopologyError};

#[test]
fn every_preset_reads_back_the_same() -> Result<(), TopologyError> {
    for name in Topology::preset_names() {
        let topology = Topology::preset(name)?;
        let text = topology.to_toml();
        assert_eq!(Topology::from_toml(&text)?, topology, "{text}");
    }
    Ok(())
}

#[test]
fn the_documented_example_reads_back_the_same() -> Result<(), TopologyError> {
    let topology = Topology::from_toml(include_str!("../example.toml"))?;
    assert_eq!(Topology::from_toml(&topology.to_toml())?, topology);
    Ok(())
}

#[test]
fn only_what_differs_is_written() -> Result<(), TopologyError> {
    let topology = Topology::preset("asymmetric")?;
    let expected = r#"driver = "13.0"
numa_nodes = 2

[peers]
default = "none"
max = 8

[[device]]
model = "h100"
pci = "0000:01:00"
numa_node = 0

[[device]]
model = "a100"
pci = "0000:02:00"
numa_node = 0

[[device]]
model = "t4"
pci = "0000:03:00"
numa_node = 1

[[peer]]
from = 0
to = 1
kind = "nvlink"

[[peer]]
from = 1
to = 0
kind = "pcie"
bandwidth = "25 GB/s"
atomics = "partial"

[[peer]]
from = 2
to = 0
kind = "pcie"
bandwidth = "12 GB/s"
"#;
    assert_eq!(topology.to_toml(), expected);
    Ok(())
}

fn link() -> impl Strategy<Value = PeerLink> {
    let kind = prop::sample::select(LinkKind::ALL);
    let atomics = prop::sample::select(vec![Atomics::None, Atomics::Partial, Atomics::Native]);
    (kind, 1..=1_000_000_000_000_u64, 0..=1_000_000_000_u64, atomics, 0..=1_000, any::<bool>()).prop_map(
        |(kind, bandwidth, latency_ns, atomics, performance_rank, array_access)| PeerLink {
            kind,
            bandwidth,
            latency_ns,
            atomics,
            performance_rank,
            array_access,
        },
    )
}

/// A change to a machine of four devices.
#[derive(Debug, Clone)]
enum Step {
    Name(usize, String),
    Memory(usize, u64),
    ContextMemory(usize, u64),
    NumaNode(usize, u32),
    Uuid(usize, [u8; 16]),
    Pci(usize, PciAddress),
    Attribute(usize, i32, i32),
    HostLink(usize, PeerLink),
    Peer(usize, usize, PeerLink),
    NoPeer(usize, usize),
    AllPeers(PeerLink),
    MaxPeers(u32),
    Driver(i32),
}

impl Step {
    fn take(self, builder: TopologyBuilder) -> TopologyBuilder {
        match self {
            Self::Name(at, name) => builder.name(at, name),
            Self::Memory(at, bytes) => builder.memory(at, bytes),
            Self::ContextMemory(at, bytes) => builder.configure(at, |device| device.context_memory = bytes),
            Self::NumaNode(at, node) => builder.numa_node(at, node),
            Self::Uuid(at, uuid) => builder.uuid(at, uuid),
            Self::Pci(at, address) => builder.pci(at, address),
            Self::Attribute(at, number, value) => builder.attribute(at, number, value),
            Self::HostLink(at, PeerLink { kind, bandwidth, latency_ns, .. }) => {
                builder.configure(at, |device| device.host_link = Link { kind, bandwidth, latency_ns })
            }
            Self::Peer(from, to, link) => builder.peer(from, to, link),
            Self::NoPeer(from, to) => builder.no_peer(from, to),
            Self::AllPeers(link) => builder.all_peers(link),
            Self::MaxPeers(peers) => builder.max_peers(peers),
            Self::Driver(minor) => builder.driver_version(13, minor),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..4_usize;
    let pair = || prop::sample::select(pairs(4).collect::<Vec<_>>());
    let number = prop::sample::select(vec![number::MULTIPROCESSOR_COUNT, number::GPU_PCI_DEVICE_ID, number::NUMA_ID]);
    let address = (any::<u16>(), any::<u8>(), 0..32_u8);
    prop_oneof![
        (at(), "\\PC{1,40}").prop_map(|(at, name)| Step::Name(at, name)),
        (at(), "[\\x01-\\x7f]{1,40}").prop_map(|(at, name)| Step::Name(at, name)),
        (at(), 1..=1_u64 << 40).prop_map(|(at, bytes)| Step::Memory(at, bytes)),
        (at(), 0..=1_u64 << 30).prop_map(|(at, bytes)| Step::ContextMemory(at, bytes)),
        (at(), 0..2_u32).prop_map(|(at, node)| Step::NumaNode(at, node)),
        (at(), any::<[u8; 16]>()).prop_map(|(at, uuid)| Step::Uuid(at, uuid)),
        (at(), address).prop_map(|(at, (domain, bus, device))| Step::Pci(at, PciAddress { domain, bus, device })),
        (at(), number, 1..=i32::MAX).prop_map(|(at, number, value)| Step::Attribute(at, number, value)),
        (at(), link()).prop_map(|(at, link)| Step::HostLink(at, link)),
        (pair(), link()).prop_map(|((from, to), link)| Step::Peer(from, to, link)),
        pair().prop_map(|(from, to)| Step::NoPeer(from, to)),
        link().prop_map(Step::AllPeers),
        (0..=64_u32).prop_map(Step::MaxPeers),
        (0..5).prop_map(Step::Driver),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_reads_back_the_same(
        models in prop::collection::vec(prop::sample::select(DeviceModel::ALL), 4),
        steps in prop::collection::vec(step(), 0..12),
    ) {
        let builder = models.into_iter().fold(Topology::builder().numa_nodes(2), TopologyBuilder::device);
        // Some steps leave a context no memory or two devices one address, which no file could describe
        // either.
        if let Ok(topology) = steps.into_iter().fold(builder, |builder, step| step.take(builder)).build() {
            let text = topology.to_toml();
            prop_assert_eq!(Topology::from_toml(&text), Ok(topology), "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        if let Err(error) = Topology::from_toml(&text) {
            prop_assert!(error.to_string().starts_with("line "), "{}", error);
        }
    }

    #[test]
    fn any_change_of_a_good_text_is_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), fragment(), 0..6_usize), 1..6),
    ) {
        let mut text = include_str!("../example.toml").to_owned();
        for (place, fragment, cut) in edits {
            let start = text.floor_char_boundary(place.index(text.len().saturating_add(1)));
            let end = text.floor_char_boundary(text.len().min(start.saturating_add(cut))).max(start);
            text.replace_range(start..end, &fragment);
        }
        match Topology::from_toml(&text) {
            Ok(topology) => prop_assert_eq!(topology.check(), Ok(())),
            Err(TopologyError::Toml(error)) => {
                prop_assert!((1..=text.split('\n').count()).contains(&error.line), "{}", error);
                prop_assert!(error.column >= 1, "{}", error);
            }
            Err(error) => prop_assert!(false, "without a place: {}", error),
        }
    }
}

/// Pieces of text that are likely to matter to the format.
fn fragment() -> impl Strategy<Value = String> {
    let attribute = prop::sample::select(Attribute::ALL).prop_map(|attribute| format!("{} = 1\n", attribute.name));
    prop_oneof![
        prop::sample::select(vec![
            "",
            "=",
            "\"",
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            ",",
            ".",
            "\n",
            "#",
            "-1",
            "0",
            "64",
            "1e9",
            "0x10",
            "true",
            "99999999999999999999999999999999999999999999",
            "\"all\"",
            "\"none\"",
            "[[device]]\n",
            "[[peer]]\n",
            "model = \"t4\"\n",
            "count = 60\n",
            "ordinal = 0\n",
            "from = 1\n",
            "to = 1\n",
            "1979-05-27",
            "'''",
            "é",
        ])
        .prop_map(str::to_owned),
        attribute,
        "\\PC{0,4}",
    ]
}
