use super::*;

#[test]
fn derived_attributes_follow_their_fields() -> Result<(), TopologyError> {
    let topology = Topology::preset("dgx-h100")?;
    assert_eq!(topology.attribute(4, number::PCI_BUS_ID), Some(0x9d));
    assert_eq!(topology.attribute(4, number::PCI_DEVICE_ID), Some(0));
    assert_eq!(topology.attribute(4, number::PCI_DOMAIN_ID), Some(0));
    assert_eq!(topology.attribute(4, number::HOST_NUMA_ID), Some(1));
    assert_eq!(topology.attribute(4, number::MULTI_GPU_BOARD_GROUP_ID), Some(4));
    Ok(())
}

#[test]
fn a_driver_knows_the_attributes_of_its_time() -> Result<(), TopologyError> {
    let latest_known = |major, minor| -> Result<Option<i32>, TopologyError> {
        let topology = Topology::builder().driver_version(major, minor).device(DeviceModel::Gb200).build()?;
        Ok(Attribute::ALL.iter().map(|a| a.number).filter(|n| topology.attribute(0, *n).is_some()).max())
    };
    assert_eq!(latest_known(11, 4)?, Some(119));
    assert_eq!(latest_known(12, 2)?, Some(134));
    assert_eq!(latest_known(12, 8)?, Some(143));
    assert_eq!(latest_known(13, 0)?, Some(147));
    assert_eq!(latest_known(13, 1)?, Some(148));
    assert_eq!(latest_known(13, 4)?, Some(161));
    Ok(())
}

#[test]
fn every_preset_answers_every_attribute_its_driver_knows() -> Result<(), TopologyError> {
    for name in Topology::preset_names() {
        let topology = Topology::preset(name)?;
        for ordinal in 0..topology.devices.len() {
            for attribute in Attribute::ALL {
                let known = attribute.since <= topology.driver_version;
                let answered = topology.attribute(ordinal, attribute.number).is_some();
                assert_eq!(answered, known, "{name} {ordinal} {}", attribute.name);
            }
        }
    }
    Ok(())
}

#[test]
fn missing_devices_have_no_attributes() -> Result<(), TopologyError> {
    let topology = Topology::preset("h200")?;
    assert_eq!(topology.attribute(1, number::WARP_SIZE), None);
    assert_eq!(topology.attribute(usize::MAX, number::WARP_SIZE), None);
    assert_eq!(topology.attribute(0, 0), None);
    assert_eq!(topology.attribute(0, -1), None);
    Ok(())
}

#[test]
fn a_changed_machine_can_be_checked_again() -> Result<(), TopologyError> {
    let mut topology = Topology::preset("pcie-pair")?;
    topology.devices[1].uuid = topology.devices[0].uuid;
    assert!(matches!(topology.check(), Err(TopologyError::DuplicateUuid { first: 0, second: 1, .. })));
    topology.devices.pop();
    assert_eq!(topology.check(), Err(TopologyError::NoSuchDevice { ordinal: 1, count: 1 }));
    topology.peers = PeerMatrix::default();
    assert_eq!(topology.check(), Ok(()));
    topology.driver_version = 1;
    assert_eq!(topology.check(), Err(TopologyError::DriverVersion { version: 1 }));
    Ok(())
}
