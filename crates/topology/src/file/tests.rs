mod mistakes;
mod round_trip;

use super::super::attribute::number;
use super::super::quantity::{GB, GIB, MIB};
use super::super::{
    Atomics, DeviceModel, LinkKind, PciAddress, PeerLink, TomlError, TomlProblem, Topology, TopologyError,
};

#[test]
fn an_empty_text_is_an_empty_machine() -> Result<(), TopologyError> {
    assert_eq!(Topology::from_toml("")?, Topology::builder().build()?);
    Ok(())
}

#[test]
fn a_preset_alone_is_that_machine() -> Result<(), TopologyError> {
    for name in Topology::preset_names() {
        assert_eq!(Topology::from_toml(&format!("preset = \"{name}\""))?, Topology::preset(name)?);
    }
    Ok(())
}

#[test]
fn the_documented_example_means_what_it_says() -> Result<(), TopologyError> {
    let topology = Topology::from_toml(include_str!("example.toml"))?;
    assert_eq!((topology.driver_version, topology.numa_nodes, topology.devices.len()), (12020, 2, 11));
    assert_eq!((topology.peers.max_peers, topology.host_memory), (16, Some(24 * GIB)));
    assert_eq!(topology.devices[3].total_memory, 16 * GIB);
    assert_eq!(topology.devices[3].context_memory, 300 * MIB);
    for ordinal in [8, 9] {
        let device = &topology.devices[ordinal];
        assert_eq!(device.model, DeviceModel::A100);
        assert_eq!(device.name, "NVIDIA A100 engineering sample");
        assert_eq!(device.numa_node, 1);
        assert_eq!(device.memory_bandwidth, 1500 * GB);
        assert_eq!(device.host_link.bandwidth, 12 * GB);
        assert_eq!(topology.attribute(ordinal, number::MULTIPROCESSOR_COUNT), Some(98));
        assert_eq!(topology.attribute(ordinal, number::ECC_ENABLED), Some(0));
    }
    assert_eq!(topology.devices[10].uuid_text(), "GPU-01234567-89ab-cdef-0123-456789abcdef");
    assert_eq!(topology.devices[10].pci, PciAddress::on_bus(0xe1));
    let link = topology.peers.link(9, 8).copied();
    assert_eq!(link, topology.peers.link(8, 9).copied());
    assert_eq!(
        link,
        Some(PeerLink {
            kind: LinkKind::Nvlink,
            bandwidth: 300 * GB,
            latency_ns: 700,
            atomics: Atomics::Partial,
            performance_rank: 1,
            array_access: false,
        })
    );
    assert_eq!(topology.peers.link(0, 1), Some(&PeerLink::nvswitch().with_bandwidth(225 * GB)));
    assert_eq!(topology.peers.link(1, 0), Some(&PeerLink::nvswitch()));
    assert!(!topology.peers.can_access(10, 0));
    assert!(topology.peers.can_access(0, 10));
    Ok(())
}

#[test]
fn all_devices_can_be_changed_at_once() -> Result<(), TopologyError> {
    let text = "preset = \"dgx-h100\"\n[[device]]\nordinal = \"all\"\nmemory = \"1 GiB\"\n";
    let topology = Topology::from_toml(text)?;
    assert!(topology.devices.iter().all(|device| device.total_memory == GIB));
    assert_eq!(topology.devices.len(), 8);
    Ok(())
}

#[test]
fn a_default_replaces_the_links_of_the_preset() -> Result<(), TopologyError> {
    let topology = Topology::from_toml("preset = \"dgx-h100\"\npeers.default = \"none\"")?;
    assert_eq!(topology.peers.iter().count(), 0);
    let table = "preset = \"pcie-t4\"\n[peers.default]\nkind = \"c2c\"\nlatency_ns = 5";
    let topology = Topology::from_toml(table)?;
    assert_eq!(topology.peers.link(3, 0), Some(&PeerLink::c2c().with_latency_ns(5)));
    assert_eq!(topology.peers.iter().count(), 12);
    Ok(())
}

#[test]
fn outdated_attribute_names_are_read() -> Result<(), TopologyError> {
    let topology = Topology::from_toml("[[device]]\nmodel = \"t4\"\nattributes.registers_per_block = 32768")?;
    assert_eq!(topology.attribute(0, number::MAX_REGISTERS_PER_BLOCK), Some(32768));
    Ok(())
}

#[test]
fn a_file_is_named() {
    let folder = std::env::temp_dir().join(format!("topology-mistakes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("machine.toml");
    std::fs::write(&path, "preset = \"dgx\"\n[[device]]\n").unwrap();
    let error = Topology::from_toml_file(&path).map_err(|error| error.to_string()).map(|_| ());
    std::fs::write(&path, "preset = \"h200\"\n").unwrap();
    let machine = Topology::from_toml_file(&path);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.unwrap_err().starts_with(&format!("{}:1:10: preset: unknown preset \"dgx\"", path.display())));
    assert_eq!(machine, Topology::preset("h200"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Topology::from_toml_file("no/such/machine.toml");
    assert!(matches!(error, Err(TopologyError::Read { kind: std::io::ErrorKind::NotFound, .. })), "{error:?}");
    assert!(error.unwrap_err().to_string().starts_with("cannot read no/such/machine.toml: "));
}

#[test]
fn mistakes_can_be_told_apart() {
    let Err(TopologyError::Toml(error)) = Topology::from_toml("\nnuma_nodes = true") else { panic!("accepted") };
    assert_eq!(
        *error,
        TomlError {
            file: None,
            line: 2,
            column: 14,
            key: "numa_nodes".to_owned(),
            problem: TomlProblem::WrongType { expected: "an integer", found: "a boolean" },
        }
    );
}

#[test]
fn deep_nesting_is_refused_without_harm() {
    let deep = format!("preset = {}", "[".repeat(100_000));
    assert!(matches!(Topology::from_toml(&deep), Err(TopologyError::Toml(_))));
    let deep = format!("{} = 1", vec!["a"; 100_000].join("."));
    assert!(matches!(Topology::from_toml(&deep), Err(TopologyError::Toml(_))));
}
