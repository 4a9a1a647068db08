//! Machines by name.
//!
//! | name | devices | peers | NUMA nodes |
//! |---|---|---|---|
//! | `h200` | one H200 | none | 1 |
//! | `dgx-h100`, `dgx-h200` | eight of them | switch, all to all | 2 |
//! | `hgx-a100` | eight A100 | switch, all to all | 2 |
//! | `hgx-a100-4` | four A100 | four NVLink wires per pair | 2 |
//! | `pcie-pair` | two H100 cards | over the bus | 1 |
//! | `pcie-t4` | four T4 | none | 2 |
//! | `grace-hopper` | one GH200 | none | 1 |
//! | `gb200` | four GB200, two to a package | switch, all to all | 2 |
//! | `laptop` | one RTX 4070 Laptop | none | 1 |
//! | `asymmetric` | an H100, an A100 and a T4 | some pairs in one direction only | 2 |

use super::attribute::number;
use super::builder::TopologyBuilder;
use super::error::TopologyError;
use super::link::{Atomics, PeerLink};
use super::model::DeviceModel;
use super::pci::PciAddress;
use super::quantity::GB;
use super::{MAX_DEVICES, Topology};

/// A name and how that machine is built.
type Preset = (&'static str, fn() -> TopologyBuilder);

const PRESETS: &[Preset] = &[
    ("h200", || on_buses(DeviceModel::H200, &[0x1b])),
    ("dgx-h100", || hopper_board(DeviceModel::H100)),
    ("dgx-h200", || hopper_board(DeviceModel::H200)),
    ("hgx-a100", hgx_a100),
    ("hgx-a100-4", hgx_a100_4),
    ("pcie-pair", pcie_pair),
    ("pcie-t4", pcie_t4),
    ("grace-hopper", grace_hopper),
    ("gb200", gb200),
    ("laptop", || on_buses(DeviceModel::Laptop, &[0x01])),
    ("asymmetric", asymmetric),
];

/// The names, in the order of the table above.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The machine with a name.
pub(super) fn by_name(name: &str) -> Result<Topology, TopologyError> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, builder)) => builder().build(),
        None => Err(TopologyError::unknown_name("preset", name, names().collect())),
    }
}

/// One device of the model per bus.
fn on_buses(model: DeviceModel, buses: &[u8]) -> TopologyBuilder {
    let builder = Topology::builder().devices(buses.len(), model);
    buses.iter().enumerate().fold(builder, |builder, (ordinal, bus)| builder.pci(ordinal, PciAddress::on_bus(*bus)))
}

/// The second half of the devices on the second socket.
fn on_two_sockets(builder: TopologyBuilder) -> TopologyBuilder {
    let count = builder.specs().len();
    (count / 2..count).fold(builder.numa_nodes(2), |builder, ordinal| builder.numa_node(ordinal, 1))
}

/// All to all through a switch, which lifts the limit on peers and carries multicast where the GPUs can.
fn switched(builder: TopologyBuilder, bandwidth: u64) -> TopologyBuilder {
    builder
        .all_peers(PeerLink::nvswitch().with_bandwidth(bandwidth))
        .max_peers(u32::try_from(MAX_DEVICES).unwrap_or(u32::MAX))
}

/// Eight GPUs with multicast through the switch.
fn hopper_board(model: DeviceModel) -> TopologyBuilder {
    let buses = [0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf];
    with_attribute(switched(on_two_sockets(on_buses(model, &buses)), 450 * GB), number::MULTICAST_SUPPORTED, 1)
}

/// One value for every device so far.
fn with_attribute(builder: TopologyBuilder, number: i32, value: i32) -> TopologyBuilder {
    let count = builder.specs().len();
    (0..count).fold(builder, |builder, ordinal| builder.attribute(ordinal, number, value))
}

fn hgx_a100() -> TopologyBuilder {
    let buses = [0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd];
    switched(on_two_sockets(on_buses(DeviceModel::A100, &buses)), 300 * GB)
}

fn hgx_a100_4() -> TopologyBuilder {
    on_two_sockets(on_buses(DeviceModel::A100, &[0x01, 0x41, 0x81, 0xc1])).all_peers(PeerLink::nvlink())
}

fn pcie_pair() -> TopologyBuilder {
    // With no faster link in the machine, the bus is the fastest.
    on_buses(DeviceModel::H100Pcie, &[0x17, 0x65]).all_peers(PeerLink::pcie().with_performance_rank(0))
}

fn pcie_t4() -> TopologyBuilder {
    on_two_sockets(on_buses(DeviceModel::T4, &[0x3b, 0x5e, 0x86, 0xaf]))
}

fn grace_hopper() -> TopologyBuilder {
    Topology::builder().device(DeviceModel::Gh200).pci(0, PciAddress { domain: 9, bus: 1, device: 0 })
}

fn gb200() -> TopologyBuilder {
    // The processors are the nodes 0 and 1; each GPU's memory begins a group of eight nodes kept for its
    // partitions.
    let places = [(0x08, 2), (0x09, 10), (0x18, 18), (0x19, 26)];
    let builder = on_two_sockets(Topology::builder().devices(places.len(), DeviceModel::Gb200));
    let builder = places.into_iter().enumerate().fold(builder, |builder, (ordinal, (domain, node))| {
        builder.pci(ordinal, PciAddress { domain, bus: 1, device: 0 }).attribute(ordinal, number::NUMA_ID, node)
    });
    with_attribute(switched(builder, 900 * GB), number::MULTICAST_SUPPORTED, 1)
}

fn asymmetric() -> TopologyBuilder {
    Topology::builder()
        .device(DeviceModel::H100)
        .device(DeviceModel::A100)
        .device(DeviceModel::T4)
        .numa_nodes(2)
        .numa_node(2, 1)
        .peer(0, 1, PeerLink::nvlink())
        .peer(1, 0, PeerLink::pcie().with_bandwidth(25 * GB).with_atomics(Atomics::Partial))
        .peer(2, 0, PeerLink::pcie().with_bandwidth(12 * GB))
}

#[cfg(test)]
mod tests {
    use super::super::builder::pairs;
    use super::*;

    #[test]
    fn every_preset_is_sound() {
        for name in names() {
            assert_eq!(by_name(name).and_then(|topology| topology.check()), Ok(()), "{name}");
        }
    }

    #[test]
    fn an_unknown_preset_lists_the_known_ones() {
        let error = by_name("dgx-h1000").map_err(|error| error.to_string());
        let known = "h200, dgx-h100, dgx-h200, hgx-a100, hgx-a100-4, pcie-pair, pcie-t4, grace-hopper, gb200, laptop, \
                     asymmetric";
        let expected = format!("unknown preset \"dgx-h1000\", did you mean \"dgx-h100\"?; known are {known}");
        assert_eq!(error.map(|_| ()), Err(expected));
    }

    #[test]
    fn a_switch_joins_everyone() -> Result<(), TopologyError> {
        for name in ["dgx-h100", "dgx-h200", "hgx-a100", "gb200"] {
            let topology = by_name(name)?;
            let count = topology.devices.len();
            assert!(pairs(count).all(|(from, to)| topology.peers.can_access(from, to)), "{name}");
            assert_eq!(topology.numa_nodes, 2);
            assert_eq!(topology.devices.iter().filter(|device| device.numa_node == 1).count(), count / 2);
        }
        Ok(())
    }

    #[test]
    fn the_asymmetric_machine_is_not_symmetric() -> Result<(), TopologyError> {
        let peers = by_name("asymmetric")?.peers;
        let reach: Vec<_> = peers.iter().map(|(from, to, _)| (from, to)).collect();
        assert_eq!(reach, [(0, 1), (1, 0), (2, 0)]);
        assert_ne!(peers.link(0, 1), peers.link(1, 0));
        Ok(())
    }

    #[test]
    fn cards_without_peer_access_stay_alone() -> Result<(), TopologyError> {
        let topology = by_name("pcie-t4")?;
        assert_eq!((topology.devices.len(), topology.peers.iter().count()), (4, 0));
        Ok(())
    }
}
