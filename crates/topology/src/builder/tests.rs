use super::super::attribute::number;
use super::super::quantity::{GIB, TIB};
use super::*;

fn refused(builder: TopologyBuilder) -> String {
    builder.build().map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

fn pair() -> TopologyBuilder {
    Topology::builder().devices(2, DeviceModel::H100)
}

#[test]
fn a_machine_is_built_from_its_parts() -> Result<(), TopologyError> {
    let topology = Topology::builder()
        .driver_version(12, 2)
        .device(DeviceModel::H100)
        .devices(2, DeviceModel::A100)
        .named_device("my card", DeviceModel::T4)
        .memory(0, 4 * GIB)
        .attribute(1, number::MULTIPROCESSOR_COUNT, 7)
        .numa_nodes(2)
        .numa_node(3, 1)
        .all_peers(PeerLink::nvlink())
        .no_peer(0, 3)
        .peer(3, 0, PeerLink::pcie())
        .max_peers(2)
        .build()?;
    assert_eq!(topology.driver_version, 12020);
    assert_eq!(topology.devices.len(), 4);
    assert_eq!(topology.devices[0].total_memory, 4 * GIB);
    assert_eq!(topology.devices[3].name, "my card");
    assert_eq!(topology.attribute(1, number::MULTIPROCESSOR_COUNT), Some(7));
    assert_eq!(topology.attribute(2, number::MULTIPROCESSOR_COUNT), Some(108));
    assert_eq!(topology.attribute(3, number::HOST_NUMA_ID), Some(1));
    assert!(!topology.peers.can_access(0, 3));
    assert_eq!(topology.peers.link(3, 0), Some(&PeerLink::pcie()));
    assert_eq!(topology.peers.link(2, 1), Some(&PeerLink::nvlink()));
    assert_eq!(topology.peers.max_peers, 2);
    Ok(())
}

#[test]
fn a_machine_can_be_empty() -> Result<(), TopologyError> {
    let topology = Topology::builder().build()?;
    assert_eq!((topology.devices.len(), topology.driver_version), (0, DEFAULT_DRIVER));
    Ok(())
}

#[test]
fn a_machine_can_be_full_but_not_fuller() {
    assert!(Topology::builder().devices(MAX_DEVICES, DeviceModel::T4).build().is_ok());
    let message = "65 devices are too many, a machine holds at most 64";
    assert_eq!(refused(Topology::builder().devices(MAX_DEVICES, DeviceModel::T4).device(DeviceModel::T4)), message);
    assert!(refused(Topology::builder().devices(usize::MAX, DeviceModel::T4)).contains("too many"));
}

#[test]
fn limits_are_kept() {
    assert_eq!(refused(pair().memory(1, 0)), "device 1: memory is 0, expected 1 to 1099511627776");
    assert_eq!(refused(pair().memory(1, TIB + 1)), "device 1: memory is 1099511627777, expected 1 to 1099511627776");
    assert_eq!(refused(pair().numa_node(1, 1)), "device 1: numa_node is 1, expected 0");
    assert_eq!(refused(pair().numa_nodes(0)), "numa_nodes is 0, expected 1 to 64");
    assert_eq!(refused(pair().max_peers(65)), "max_peers is 65, expected 0 to 64");
    assert_eq!(refused(pair().attribute(0, 999, 1)), "device 0: no device attribute has the number 999");
    assert_eq!(
        refused(pair().driver_version(14, 0)),
        "driver version 14000 is not supported, expected 11040 (11.4) to 13040 (13.4), formed as \
         major * 1000 + minor * 10"
    );
    assert_eq!(
        refused(pair().peer(0, 1, PeerLink::pcie().with_bandwidth(0))),
        "link from device 0 to device 1: bandwidth is 0, expected 1 to 1000000000000000"
    );
}

#[test]
fn devices_that_are_not_there_are_named() {
    assert_eq!(refused(pair().memory(2, GIB)), "there is no device 2, the machine has 2 devices");
    assert_eq!(refused(pair().peer(0, 5, PeerLink::pcie())), "there is no device 5, the machine has 2 devices");
    assert_eq!(refused(Topology::builder().name(0, "x")), "there is no device 0, the machine has no devices");
    assert_eq!(refused(pair().no_peer(1, 1)), "device 1 cannot be its own peer");
}

#[test]
fn identities_are_unique() {
    let uuid = [7; 16];
    assert_eq!(
        refused(pair().uuid(0, uuid).uuid(1, uuid)),
        "devices 0 and 1 have the same UUID GPU-07070707-0707-0707-0707-070707070707"
    );
    let address = PciAddress::on_bus(0x1b);
    assert_eq!(refused(pair().pci(0, address).pci(1, address)), "devices 0 and 1 have the same PCI address 0000:1b:00");
}

#[test]
fn the_first_mistake_is_reported() {
    assert_eq!(
        refused(Topology::builder().memory(3, 0).attribute(4, 1, 1)),
        "there is no device 3, the machine has no devices"
    );
}

#[test]
fn devices_added_to_a_preset_find_a_free_bus() -> Result<(), TopologyError> {
    let topology = Topology::preset("laptop")?.into_builder().devices(3, DeviceModel::H200).build()?;
    let buses: Vec<u8> = topology.devices.iter().map(|device| device.pci.bus).collect();
    assert_eq!(buses, [1, 2, 3, 4]);
    Ok(())
}

#[test]
fn a_machine_survives_the_way_through_a_builder() -> Result<(), TopologyError> {
    for name in Topology::preset_names() {
        let topology = Topology::preset(name)?;
        assert_eq!(topology.clone().into_builder().build()?, topology, "{name}");
    }
    Ok(())
}

#[test]
fn small_devices_keep_room_beside_their_contexts() -> Result<(), TopologyError> {
    let topology = pair().memory(0, 1).memory(1, 100).build()?;
    assert_eq!(topology.devices[0].context_memory, 0);
    assert_eq!(topology.devices[1].context_memory, 50);
    Ok(())
}
