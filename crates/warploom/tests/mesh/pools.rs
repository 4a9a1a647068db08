//! Access to pools, which peer access between contexts does not give (S3.12, M.2).

use warploom::sys::types::CUresult;
use warploom::{DeviceError, DevicePool, Error, Function, LiveSet, Mesh, PeerOutcome, Topology};
use warploom_testkit::{TestResult, budget};

use super::{Site, fail_nth, links};

/// M.2: neither layer opens the other.
#[test]
fn enabling_contexts_opens_no_pool_and_granting_pools_enables_no_context() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let pool = DevicePool::new(&site.contexts[0])?;
    let mesh = site.mesh()?;
    assert!(pool.peers().is_empty()?);
    mesh.disable()?;
    let reports = mesh.grant_pools(&[&pool])?;
    assert_eq!(reports[0].peers, [(site.topology.devices()[1].clone(), PeerOutcome::Enabled)]);
    assert!(pool.peers().contains(1)? && !mesh.is_enabled(1, 0)? && site.enabled()?.is_empty());
    Ok(())
}

/// S3.12, M.2: one call opens both layers, in the right direction, and says what it did.
#[test]
fn one_call_opens_both_layers_and_reports_on_them() -> TestResult {
    let site = Site::of(links(4, &[(1, 0), (0, 2), (3, 0), (2, 0)])?)?;
    let pools = [DevicePool::new(&site.contexts[0])?, DevicePool::new(&site.contexts[2])?];
    pools[0].peers().insert(3)?;
    let (mesh, report) = Mesh::open(&site.topology, &site.contexts, &[&pools[0], &pools[1]])?;
    assert!(report.failures().next().is_none());
    assert_eq!(report.contexts.get(1, 0), Some(&PeerOutcome::Enabled));
    assert_eq!(report.contexts.pairs().len(), 12);
    let said: Vec<Vec<_>> = report
        .pools
        .iter()
        .map(|pool| pool.peers.iter().map(|(device, outcome)| (device.ordinal(), outcome.to_string())).collect())
        .collect();
    let [enabled, already, not] = ["enabled", "already enabled", "not capable"].map(str::to_owned);
    assert_eq!(said[0], [(1, enabled.clone()), (2, enabled.clone()), (3, already)]);
    assert_eq!(said[1], [(0, enabled), (1, not.clone()), (3, not)]);
    assert_eq!((pools[0].peers().len()?, pools[1].peers().len()?), (3, 1));
    assert!(mesh.is_enabled(3, 0)?);
    Ok(())
}

/// S3.12: as many peers as there are, one call that changes access for each pool, and none if nothing
/// changes.
#[test]
fn each_pool_is_opened_with_one_change() -> TestResult {
    let site = Site::preset("dgx-h100")?;
    let mesh = site.mesh()?;
    let pools = [DevicePool::new(&site.contexts[0])?, DevicePool::new(&site.contexts[5])?];
    let both = [&pools[0], &pools[1]];
    let calls =
        [(Function::cuMemPoolGetAccess, 28), (Function::cuDeviceCanAccessPeer, 14), (Function::cuMemPoolSetAccess, 2)];
    budget(&site.driver, &calls, || mesh.grant_pools(&both))?;
    let again = budget(&site.driver, &[(Function::cuMemPoolGetAccess, 14)], || mesh.grant_pools(&both))?;
    assert!(again.iter().flat_map(|pool| &pool.peers).all(|(_, outcome)| *outcome == PeerOutcome::AlreadyEnabled));
    Ok(())
}

/// A pool that cannot be opened is in the report, and the next one is opened all the same.
#[test]
fn a_pool_that_cannot_be_opened_is_reported() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let pools = [DevicePool::new(&site.contexts[0])?, DevicePool::new(&site.contexts[1])?];
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let scope = site.machine.inject(fail_nth(Function::cuMemPoolSetAccess, 1, code))?;
    let (_mesh, report) = Mesh::open(&site.topology, &site.contexts, &[&pools[0], &pools[1]])?;
    drop(scope);
    let codes: Vec<_> = report.failures().map(Error::code).collect();
    assert_eq!(codes, [Some(code); 3]);
    assert!(pools[0].peers().is_empty()?);
    assert_eq!(pools[1].peers().len()?, 3);
    Ok(())
}

/// Bad input is refused before any driver call.
#[test]
fn a_pool_of_a_device_that_is_not_in_the_mesh_is_refused_before_any_call() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let part = Topology::probe(&site.topology.devices()[..2])?;
    let pool = DevicePool::new(&site.contexts[3])?;
    let refused = budget(&site.driver, &[], || Mesh::open(&part, &site.contexts[..2], &[&pool]));
    assert_eq!(refused.err(), Some(Error::Device(DeviceError::NotInTopology { device: 3 })));
    assert!(site.enabled()?.is_empty());
    Ok(())
}
