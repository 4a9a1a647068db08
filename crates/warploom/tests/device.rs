//! Devices: identity, attributes and properties.

use std::collections::{BTreeSet, HashSet};

use warploom::sys::types::CUresult;
use warploom::{
    ComputeCapability, ComputeMode, Device, DeviceAttribute, DeviceError, Driver, DriverVersion, Error, Function,
    PciAddress, Uuid,
};
use warploom_sim::{Machine, Mode, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

driver_tests! {
    fn a_device_has_a_name_an_address_and_a_uuid(driver) {
        let device = driver.device(0)?;
        assert_eq!((device.ordinal(), device.to_string().as_str()), (0, "device 0"));
        assert!(!device.name()?.is_empty());
        assert!(device.total_memory()? > 1 << 20);
        assert!(device.compute_capability()?.major >= 5);
        assert!(device.attribute(DeviceAttribute::MultiprocessorCount)? > 0);
    }

    fn a_device_is_found_by_its_place_and_by_its_uuid(driver) {
        for device in driver.devices()? {
            assert_eq!(driver.device_at(device.pci_address()?)?, device);
            assert_eq!(driver.device_with_uuid(device.uuid()?)?, device);
        }
        let address = PciAddress::new(0xfffe, 0xfe, 31).ok_or("31 is a slot")?;
        assert_eq!(driver.device_at(address), Err(Error::Device(DeviceError::NoDeviceAt { address })));
        let uuid = Uuid::from_bytes([0xab; 16]);
        assert_eq!(driver.device_with_uuid(uuid), Err(Error::Device(DeviceError::NoDeviceWithUuid { uuid })));
    }

    fn the_pci_address_agrees_with_the_attributes(driver) {
        let device = driver.device(0)?;
        let [domain, bus, slot] =
            [DeviceAttribute::PciDomainId, DeviceAttribute::PciBusId, DeviceAttribute::PciDeviceId]
                .map(|attribute| device.attribute(attribute));
        let expected = PciAddress::new(domain?.try_into()?, bus?.try_into()?, slot?.try_into()?);
        assert_eq!(Some(device.pci_address()?), expected);
    }

    fn an_attribute_younger_than_the_driver_is_told_from_a_value(driver) {
        let device = driver.device(0)?;
        let (youngest, driver) = (DeviceAttribute::GpuDirectRdmaWithLocalizedMemorySupported, driver.version());
        if driver <= DriverVersion::new(13, 0) {
            let answer = device.attribute(youngest);
            assert_eq!(answer, Err(Error::Device(DeviceError::UnknownAttribute { attribute: youngest, driver })));
            assert_eq!(device.properties()?.get(youngest), None);
        }
    }

    fn properties_agree_with_the_attributes(driver) {
        let device = driver.device(0)?;
        let properties = device.properties()?;
        let mut known = 0;
        for attribute in DeviceAttribute::ALL {
            let asked = match device.attribute(*attribute) {
                Err(Error::Device(DeviceError::UnknownAttribute { .. })) => None,
                answer => Some(answer?),
            };
            known += usize::from(asked.is_some());
            assert_eq!(properties.get(*attribute), asked, "{attribute}");
        }
        assert_eq!(properties.iter().count(), known);
        assert!(known > 120, "{known}");
    }

    fn properties_have_the_right_units(driver) {
        let device = driver.device(0)?;
        let properties = device.properties()?;
        assert_eq!(properties.warp_size(), 32);
        assert_eq!(properties.max_block()[2], 64);
        assert_eq!(properties.max_grid()[0], 2_147_483_647);
        assert!(properties.max_threads_per_block() >= 512 && properties.multiprocessors() > 0);
        assert!((100_000_000..10_000_000_000).contains(&properties.clock_hz()), "{}", properties.clock_hz());
        assert!(properties.memory_clock_hz() > 100_000_000);
        assert!(properties.shared_memory_per_block() >= 48 << 10);
        assert!(properties.has_unified_addressing() && properties.has_managed_memory());
        assert_eq!(properties.compute_mode(), ComputeMode::Default);
    }

    /// S0.23: the count is read once per driver; what never changes is asked once per device.
    fn constant_facts_are_asked_for_once(driver) {
        let ask = || -> TestResult {
            let device = driver.device(0)?;
            device.name()?;
            device.uuid()?;
            device.pci_address()?;
            device.total_memory()?;
            device.compute_capability()?;
            device.properties()?;
            driver.devices()?;
            assert!(driver.device(u32::MAX).is_err());
            Ok(())
        };
        ask()?;
        budget(driver, &[], ask)?;
        let device = driver.device(0)?;
        budget(driver, &[(Function::cuDeviceGetAttribute, 1)], || device.attribute(DeviceAttribute::WarpSize))?;
    }

    fn a_device_beyond_the_last_is_refused_by_count(driver) {
        let count = driver.devices()?.len().try_into()?;
        assert_eq!(driver.device(count), Err(Error::Device(DeviceError::NoSuchDevice { ordinal: count, count })));
        assert!(driver.device(u32::MAX).is_err());
    }

    fn a_device_can_access_its_own_memory(driver) {
        let device = driver.device(0)?;
        budget(driver, &[], || assert_eq!(device.can_access(&device), Ok(true)));
    }
}

#[test]
fn every_attribute_of_the_header_has_a_name_here() {
    let mut numbers = BTreeSet::new();
    let header = include_str!("../../sys/src/generated/types.rs").split("pub const CU_DEVICE_ATTRIBUTE_").skip(1);
    for constant in header {
        let (name, rest) = constant.split_once(": ").unwrap();
        let digits: String = rest.chars().skip_while(|c| *c != '(').skip(1).take_while(|c| *c != ')').collect();
        if name != "MAX" {
            numbers.insert(digits.trim().trim_end_matches(',').parse::<u32>().unwrap());
        }
    }
    let ours: Vec<u32> = DeviceAttribute::ALL.iter().map(|attribute| attribute.as_raw().0).collect();
    assert_eq!(ours, numbers.into_iter().collect::<Vec<_>>());
    assert_eq!(DeviceAttribute::WarpSize.to_string(), "CU_DEVICE_ATTRIBUTE_WARP_SIZE");
}

#[test]
fn devices_come_in_the_order_of_their_ordinals() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let devices = driver.devices()?;
    assert_eq!(devices.len(), 8);
    for (device, spec) in devices.iter().zip(&machine.topology().devices) {
        assert_eq!((device.name()?, device.total_memory()?), (spec.name.as_str(), spec.total_memory));
        assert_eq!(*device.uuid()?.as_bytes(), spec.uuid);
        assert_eq!(*device, driver.device(device.ordinal())?);
    }
    assert!(devices.is_sorted_by(|one, next| one < next));
    assert_eq!(devices.iter().chain(&driver.devices()?).collect::<HashSet<_>>().len(), 8);
    Ok(())
}

/// M.1: capability has a direction, and is asked for in that of the name.
#[test]
fn peer_capability_has_a_direction() -> TestResult {
    let (machine, driver) = open(Topology::preset("asymmetric")?, Mode::Threads)?;
    let devices = driver.devices()?;
    let mut asymmetric = false;
    for (from, accessor) in devices.iter().enumerate() {
        for (to, owner) in devices.iter().enumerate() {
            let calls = [(Function::cuDeviceCanAccessPeer, u64::from(from != to))];
            let can = budget(&driver, &calls, || accessor.can_access(owner))?;
            assert_eq!(can, from == to || machine.topology().peers.can_access(from, to), "{from} to {to}");
            asymmetric |= can != owner.can_access(accessor)?;
        }
    }
    assert!(asymmetric);
    Ok(())
}

#[test]
fn devices_of_different_drivers_never_meet() -> TestResult {
    let (one, other) = (Machine::preset("h200")?, Machine::preset("h200")?);
    let device = |machine: &Machine| -> TestResult<Device> { Ok(Driver::open(machine)?.device(0)?) };
    let (one, other) = (device(&one)?, device(&other)?);
    assert_ne!(one, other);
    assert!(one < other, "the first driver comes first");
    assert!(matches!(one.can_access(&other), Err(Error::Device(DeviceError::DriverMismatch { .. }))));
    Ok(())
}

#[test]
fn asking_for_a_device_initializes_the_driver() -> TestResult {
    let driver = Driver::open(&Machine::preset("h200")?)?;
    assert_eq!(driver.devices()?.len(), 1);
    let driver = Driver::open(&Machine::preset("h200")?)?;
    assert_eq!(
        driver.device_at("0:0:0".parse()?),
        Err(Error::Device(DeviceError::NoDeviceAt { address: "00:00".parse()? }))
    );
    Ok(())
}

#[test]
fn the_first_device_costs_one_enumeration() -> TestResult {
    let driver = Driver::open(&Machine::preset("dgx-h100")?)?;
    let calls = [(Function::cuInit, 1), (Function::cuDeviceGetCount, 1), (Function::cuDeviceGet, 8)];
    budget(&driver, &calls, || driver.device(5))?;
    budget(&driver, &[], || driver.devices())?;
    Ok(())
}

/// C.3: a driver without a device is an error that says so, and nothing is remembered of it.
#[test]
fn a_machine_without_devices_is_an_error() -> TestResult {
    let driver = Driver::open(&Machine::builder().topology(Topology::builder().build()?).start()?)?;
    for _ in 0..2 {
        let error = driver.devices().unwrap_err();
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NO_DEVICE), "{error}");
        assert_eq!(driver.device(0).unwrap_err(), error);
    }
    Ok(())
}

#[test]
fn an_older_driver_knows_fewer_attributes() -> TestResult {
    let topology = |minor| Topology::preset("h200")?.into_builder().driver_version(12, minor).build();
    let (_old, old) = open(topology(0)?, Mode::Sync)?;
    let (_new, new) = open(topology(8)?, Mode::Sync)?;
    let (old, new) = (old.device(0)?, new.device(0)?);
    let answer = old.attribute(DeviceAttribute::HostNumaId);
    let (attribute, driver) = (DeviceAttribute::HostNumaId, DriverVersion::new(12, 0));
    assert_eq!(answer, Err(Error::Device(DeviceError::UnknownAttribute { attribute, driver })));
    let message = answer.unwrap_err().to_string();
    assert_eq!(message, "driver 12.0 does not know CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, which came with a newer one");
    assert_eq!((old.properties()?.host_numa(), old.properties()?.has_host_memory_pools()), (None, false));
    assert_eq!(new.properties()?.host_numa().map(|node| node.get()), Some(0));
    assert!(old.properties()?.iter().count() < new.properties()?.iter().count());
    Ok(())
}

#[test]
fn memory_that_is_a_numa_node_says_which() -> TestResult {
    let (_machine, grace_hopper) = open(Topology::preset("grace-hopper")?, Mode::Sync)?;
    let device = grace_hopper.device(0)?;
    assert!(device.properties()?.numa().is_some(), "{:?}", device.properties()?);
    assert!(device.properties()?.uses_host_page_tables());
    let (_machine, h200) = open(Topology::preset("h200")?, Mode::Sync)?;
    assert_eq!(h200.device(0)?.properties()?.numa(), None);
    Ok(())
}

#[test]
fn compute_capabilities_are_ordered_and_name_an_architecture() {
    let of = |major, minor| ComputeCapability { major, minor };
    assert!(of(8, 6) < of(8, 9) && of(8, 9) < of(9, 0) && of(9, 0) < of(10, 0) && of(10, 0) < of(12, 1));
    assert_eq!((of(12, 1).to_string(), of(12, 1).arch().to_string()), ("12.1".into(), "sm_121".into()));
}

#[test]
fn a_uuid_is_read_as_it_is_written() {
    let uuid = Uuid::from_bytes(std::array::from_fn(|position| 0x10 + position as u8));
    let text = "10111213-1415-1617-1819-1a1b1c1d1e1f";
    assert_eq!((uuid.to_string(), format!("{uuid:?}")), (text.into(), format!("Uuid({text})")));
    for form in [text.to_owned(), text.to_uppercase(), format!("GPU-{text}"), format!("MIG-{text}")] {
        assert_eq!(form.parse(), Ok(uuid), "{form}");
    }
    for wrong in ["", "10", "1011121314151617-18191a1b1c1d1e1f", "+0111213-1415-1617-1819-1a1b1c1d1e1f", "GPU-"] {
        let message = wrong.parse::<Uuid>().unwrap_err().to_string();
        assert!(message.contains(wrong) && message.contains("8-4-4-4-12"), "{message}");
    }
}

#[test]
fn a_place_on_the_bus_is_read_as_it_is_written() {
    let place = PciAddress::new(0, 0x1b, 6).unwrap();
    assert_eq!(place.to_string(), "0000:1B:06.0");
    for form in ["0000:1B:06.0", "0000:1b:06.0", "00000000:1b:06.0", "0:1b:6", "1b:06.0"] {
        assert_eq!(form.parse(), Ok(place), "{form}");
    }
    assert_eq!("12345:01:00.0".parse::<PciAddress>().map(|place| place.to_string()).as_deref(), Ok("12345:01:00.0"));
    assert_eq!(PciAddress::new(0, 0, 32), None);
    for wrong in ["", "1b", "0000:1b:20.0", "0000:1b:00.1", "0:0:0:0", "0000:+b:00.0", "0000:100:00.0", "0000::00.0"] {
        let message = wrong.parse::<PciAddress>().unwrap_err().to_string();
        assert!(message.contains(wrong) && message.contains("domain:bus:device"), "{message}");
    }
}
