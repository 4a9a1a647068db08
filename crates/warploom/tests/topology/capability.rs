//! The matrix of peer capabilities.

use warploom::sys::types::CUresult;
use warploom::{DeviceError, Driver, Error, Function, Topology};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, budget, driver_tests, open};

use super::{PRESETS, links, probe};

driver_tests! {
    /// S3.1, S3.5: on every driver, a device can access its own memory, and nothing has to be asked for that.
    fn a_device_alone_can_access_itself(driver) {
        let device = driver.device(0)?;
        let topology = budget(driver, &[], || Topology::probe(std::slice::from_ref(&device)))?;
        assert!(topology.can_access(0, &device)?);
        assert_eq!(topology.link(0, 0)?, None);
        assert_eq!(topology.islands(), [[device]]);
        assert_eq!(topology.pairs().count(), 0);
    }

    /// S3.1: on every driver, the matrix has what the devices say.
    fn the_matrix_agrees_with_the_devices(driver) {
        let devices = driver.devices()?;
        let topology = Topology::probe(&devices)?;
        for pair in topology.pairs() {
            assert_eq!(pair.can_access, Ok(pair.accessor.can_access(pair.owner)?));
        }
        topology.probe_links()?;
    }
}

/// S3.1, M.1: every ordered pair is asked about once, no device about itself, and the answers are in the
/// direction asked.
#[test]
fn every_ordered_pair_is_asked_about_once() -> TestResult {
    for preset in PRESETS {
        let wiring = Wiring::preset(preset)?;
        let (_machine, driver) = open(wiring.clone(), Mode::Threads)?;
        let devices = driver.devices()?;
        let count = devices.len() as u64;
        let questions = count * (count - 1);
        let topology = budget(&driver, &[(Function::cuDeviceCanAccessPeer, questions)], || Topology::probe(&devices))?;
        budget(&driver, &[], || -> TestResult {
            assert_eq!(topology.pairs().count() as u64, questions);
            for accessor in &devices {
                for owner in &devices {
                    let (from, to) = (usize::try_from(accessor.ordinal())?, usize::try_from(owner.ordinal())?);
                    let expected = from == to || wiring.peers.can_access(from, to);
                    assert_eq!(topology.can_access(accessor, owner), Ok(expected), "{preset}: {from} to {to}");
                    assert_eq!(topology.can_access(accessor.ordinal(), owner), Ok(expected));
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// S3.1: the order and the number of times that devices are named make no difference.
#[test]
fn devices_are_ascending_and_count_once() -> TestResult {
    let (_machine, driver, _) = probe(links(4, &[(3, 1)])?)?;
    let named = [3, 1, 3].map(|ordinal| driver.device(ordinal));
    let [three, one, again] = named;
    let (three, one, again) = (three?, one?, again?);
    let questions = [(Function::cuDeviceCanAccessPeer, 2)];
    let topology = budget(&driver, &questions, || Topology::probe(&[three.clone(), one.clone(), again]))?;
    assert_eq!(topology.devices(), [one, three]);
    assert!(topology.can_access(3, 1)? && !topology.can_access(1, 3)?);
    Ok(())
}

/// S3.3: a question that fails is that pair's answer; the others have theirs.
#[test]
fn a_failing_question_is_reported_for_its_pair_and_is_no_missing_edge() -> TestResult {
    let (machine, driver) = open(links(3, &[(0, 1), (1, 0), (1, 2), (2, 0)])?, Mode::Threads)?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let rule = Rule::on(Calls::from(Function::cuDeviceCanAccessPeer)).nth(2).fail(code);
    let scope = machine.inject(Plan::new().rule(rule))?;
    let topology = Topology::probe(&driver.devices()?)?;
    drop(scope);
    let failed: Vec<_> = topology
        .failures()
        .map(|(pair, error)| (pair.accessor.ordinal(), pair.owner.ordinal(), error.code()))
        .collect();
    assert_eq!(failed, [(0, 2, Some(code))]);
    assert_eq!(topology.can_access(0, 2).unwrap_err().code(), Some(code));
    assert_eq!((topology.can_access(0, 1), topology.can_access(1, 2)), (Ok(true), Ok(true)));
    assert_eq!(topology.can_access(2, 1), Ok(false));
    assert!(topology.to_string().contains("\n? 0 to 2: "), "{topology}");
    assert!(topology.to_dot().contains("0 -> 2 [dir=forward, style=dotted]"));
    Ok(())
}

/// S3.5: a device that was not asked about is an error, also with itself.
#[test]
fn a_device_that_is_not_in_it_is_refused() -> TestResult {
    let (_machine, driver, _) = probe(Wiring::preset("dgx-h100")?)?;
    let two = [driver.device(0)?, driver.device(1)?];
    let topology = Topology::probe(&two)?;
    let missing = Err(Error::Device(DeviceError::NotInTopology { device: 5 }));
    budget(&driver, &[], || -> TestResult {
        assert_eq!(topology.can_access(5, 0), missing);
        assert_eq!(topology.can_access(0, 5), missing);
        assert_eq!(topology.can_access(5, 5), missing);
        assert_eq!(topology.link(0, 5), Err(Error::Device(DeviceError::NotInTopology { device: 5 })));
        assert_eq!(
            topology.can_access(u32::MAX, 0),
            Err(Error::Device(DeviceError::NotInTopology { device: u32::MAX }))
        );
        assert_eq!(topology.can_access(&driver.device(5)?, 0), missing);
        Ok(())
    })?;
    assert_eq!(Topology::probe(&[])?.can_access(0, 0), Err(Error::Device(DeviceError::NotInTopology { device: 0 })));
    Ok(())
}

/// Devices of two drivers have nothing to do with each other.
#[test]
fn devices_of_two_drivers_are_refused_before_any_question() -> TestResult {
    let (_machine, driver, topology) = probe(Wiring::preset("pcie-pair")?)?;
    let other = warploom::Driver::open(&Machine::preset("pcie-pair")?)?;
    let strange = other.device(0)?;
    let refused = budget(&driver, &[], || Topology::probe(&[strange.clone(), topology.devices()[0].clone()]));
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))));
    assert!(matches!(topology.can_access(&strange, 0), Err(Error::Device(DeviceError::DriverMismatch { .. }))));
    Ok(())
}

/// S3.3: whichever question fails, it is there to be seen, and nothing else is lost.
#[test]
fn a_sweep_over_every_question_finds_each_failure_reported() -> TestResult {
    Sweep::new(Wiring::preset("asymmetric")?).after_effect(true).run(|_, driver: &Driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        topology.probe_links()?;
        let failure = topology.failures().next();
        failure.map_or(Ok(()), |(_, error)| Err(error.clone()))
    });
    Ok(())
}
