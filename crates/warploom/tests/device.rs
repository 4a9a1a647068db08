//! Devices: what is installed and what it can do.

use warploom::{Device, DeviceAttribute, Devices, Driver, Error, sys::types::CUresult};
use warploom_sim::{Machine, Mode, topology::Topology};
use warploom_testkit::{TestResult, driver_tests, open};

driver_tests! {
    fn a_device_tells_what_it_is(driver) {
        let device = driver.device(0)?;
        assert_eq!((device.ordinal(), device.to_string().as_str()), (0, "device 0"));
        assert!(!device.name()?.is_empty());
        assert!(device.total_memory()? > 1 << 20);
        assert!(device.compute_capability()?.major >= 5);
        assert!(device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? > 0);
        let address = device.pci_bus_id()?;
        assert_eq!((address.len(), address.matches(':').count()), (12, 2), "{address}");
    }

    fn an_unknown_attribute_is_an_error(driver) {
        let answer = driver.device(0)?.attribute(DeviceAttribute(u32::MAX));
        assert_eq!(answer.map_err(|error| error.code()), Err(Some(CUresult::CUDA_ERROR_INVALID_VALUE)));
    }

    fn a_device_beyond_the_last_is_refused_by_count(driver) {
        let count = driver.devices()?.len().try_into()?;
        assert_eq!(driver.device(count), Err(Error::NoSuchDevice { ordinal: count, count }));
        assert!(driver.device(u32::MAX).is_err());
    }

    fn a_device_can_access_its_own_memory(driver) {
        let device = driver.device(0)?;
        assert!(device.can_access(&device)?);
    }
}

#[test]
fn devices_come_in_the_order_of_their_ordinals() -> TestResult {
    let (machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let devices = driver.devices()?;
    assert_eq!(devices.len(), 8);
    for (device, spec) in devices.iter().zip(&machine.topology().devices) {
        assert_eq!((device.name()?, device.total_memory()?), (spec.name.clone(), spec.total_memory));
        assert_eq!(*device, driver.device(device.ordinal())?);
    }
    assert_ne!(devices[0], devices[1]);
    Ok(())
}

#[test]
fn peer_capability_has_a_direction() -> TestResult {
    let (machine, driver) = open(Topology::preset("asymmetric")?, Mode::Threads)?;
    let devices = driver.devices()?;
    let mut asymmetric = false;
    for (from, accessor) in devices.iter().enumerate() {
        for (to, owner) in devices.iter().enumerate() {
            let can = accessor.can_access(owner)?;
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
    assert!(matches!(one.can_access(&other), Err(Error::DriverMismatch { .. })));
    Ok(())
}

#[test]
fn asking_for_a_device_initializes_the_driver() -> TestResult {
    let driver = Driver::open(&Machine::preset("h200")?)?;
    assert_eq!(driver.devices()?.len(), 1);
    Ok(())
}
