//! Properties of links (S3.6).

use warploom::{Function, PeerAtomics};
use warploom_sim::topology::{Atomics, DeviceModel, PeerLink, Topology as Wiring};
use warploom_testkit::{TestResult, budget};

use super::probe;

fn wiring() -> TestResult<Wiring> {
    let partial = PeerLink::pcie().with_atomics(Atomics::Partial).with_performance_rank(3);
    Ok(Wiring::builder().devices(3, DeviceModel::A100).peer(0, 1, PeerLink::nvlink()).peer(1, 0, partial).build()?)
}

/// S3.6: each direction has its own link, asked about when it is wanted, and once.
#[test]
fn a_link_is_asked_about_once_and_in_its_direction() -> TestResult {
    let (_machine, driver, topology) = probe(wiring()?)?;
    let there = budget(&driver, &[(Function::cuDeviceGetP2PAttribute, 4)], || topology.link(0, 1))?;
    let back = budget(&driver, &[(Function::cuDeviceGetP2PAttribute, 5)], || topology.link(1, 0))?;
    let (there, back) = (there.ok_or("two devices")?, back.ok_or("two devices")?);
    assert!(there.access && back.access && there.array_access);
    assert_eq!((there.performance_rank, there.atomics), (0, PeerAtomics::Native));
    assert_eq!((back.performance_rank, back.atomics), (3, PeerAtomics::Partial));
    budget(&driver, &[], || topology.link(0, 1))?;
    assert_eq!(topology.pairs().filter(|pair| pair.link.is_some()).count(), 2);
    assert!(!topology.link(2, 0)?.ok_or("two devices")?.access);
    Ok(())
}

/// S3.6: all at once; what is known is not asked again.
#[test]
fn all_links_are_asked_about_at_once() -> TestResult {
    let (_machine, driver, topology) = probe(wiring()?)?;
    topology.link(0, 1)?;
    budget(&driver, &[(Function::cuDeviceGetP2PAttribute, 25)], || topology.probe_links())?;
    assert!(topology.pairs().all(|pair| pair.link.is_some()));
    budget(&driver, &[], || topology.probe_links())?;
    Ok(())
}

/// S3.6: an older driver has one question less, and is not asked it.
#[test]
fn a_driver_that_knows_no_partial_atomics_is_not_asked_about_them() -> TestResult {
    let mut wiring = wiring()?;
    wiring.driver_version = 12020;
    let (_machine, driver, topology) = probe(wiring)?;
    let link = budget(&driver, &[(Function::cuDeviceGetP2PAttribute, 4)], || topology.link(1, 0))?;
    assert_eq!(link.ok_or("two devices")?.atomics, PeerAtomics::None);
    Ok(())
}
