//! A mesh after a device was reset (S3.26 to S3.28).
#![expect(unsafe_code, reason = "resets devices, and answers for what was made in them")]

use warploom::{Context, ContextError, Error, Mesh, PeerOutcome, Result};
use warploom_testkit::{TestResult, call};

use super::{Site, pairs_that_are};

/// S3.26, S3.27: only the pairs of the device that was reset lose access, until the mesh is refreshed.
#[test]
fn a_reset_disables_the_pairs_of_its_device_and_no_others() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let mesh = site.mesh()?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { site.driver.device(2)?.reset_context() }?;
    for accessor in 0..4 {
        for owner in 0..4 {
            let expected = accessor == owner || accessor != 2 && owner != 2;
            assert_eq!(mesh.is_enabled(accessor, owner)?, expected, "{accessor} to {owner}");
        }
    }
    // S3.2: what can be does not change.
    assert!(mesh.topology().can_access(0, 2)?);
    let report = mesh.refresh()?;
    assert_eq!(
        pairs_that_are(&report, &PeerOutcome::Enabled),
        [(0, 2), (1, 2), (2, 0), (2, 1), (2, 3), (3, 2)],
        "{report}"
    );
    assert_eq!(pairs_that_are(&report, &PeerOutcome::AlreadyEnabled).len(), 6);
    assert!(mesh.is_enabled(2, 0)? && mesh.is_enabled(0, 2)?);
    assert_eq!(mesh.context(&site.driver.device(2)?), Some(site.driver.device(2)?.context()?));
    assert_ne!(mesh.context(&site.driver.device(2)?).as_ref(), Some(&site.contexts[2]));
    Ok(())
}

/// S3.28: a mesh cannot be made of contexts whose life is over.
#[test]
fn contexts_of_an_old_life_are_refused() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { site.driver.device(1)?.reset_context() }?;
    let refused = Mesh::enable(&site.topology, &site.contexts).err();
    assert_eq!(refused, Some(Error::Context(ContextError::Stale { device: 1, expected: 0, found: 1 })));
    let renewed = site.topology.devices().iter().map(|device| device.context()).collect::<Result<Vec<Context>>>()?;
    Mesh::enable(&site.topology, &renewed)?;
    Ok(())
}

/// S3.26: what others in the process did is noticed by refreshing.
#[test]
fn a_reset_by_others_is_noticed_by_refreshing() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let mesh = site.mesh()?;
    let driver = &site.driver;
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    let report = mesh.refresh()?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 1), (1, 0)]);
    assert!(mesh.is_enabled(0, 1)? && !site.contexts[0].is_current_generation());
    Ok(())
}

/// S3.29: disabling a mesh whose device was reset does not touch what is gone.
#[test]
fn a_mesh_with_a_device_that_was_reset_is_disabled_without_it() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let mesh = site.mesh()?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { site.driver.device(0)?.reset_context() }?;
    let counter = site.driver.count_calls();
    mesh.disable()?;
    let calls = counter.by_function();
    let disabled = calls.iter().find(|(function, _)| *function == warploom::Function::cuCtxDisablePeerAccess);
    assert_eq!(disabled.map(|(_, count)| *count), Some(6));
    Ok(())
}
