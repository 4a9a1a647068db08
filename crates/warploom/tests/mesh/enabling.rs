//! Enabling and disabling access, and the reports.

use warploom::sys::types::CUresult;
use warploom::{ContextOptions, DeviceError, Driver, Error, Function, Mesh, PeerError, PeerOutcome, Topology};
use warploom_sim::Machine;
use warploom_testkit::{TestResult, budget, call, driver_tests};

use super::{Site, current, fail_nth, linked, links, pairs_that_are};

driver_tests! {
    /// S3.7, S3.11: on every driver, a mesh of everything there is can be enabled, again, and disabled twice.
    fn a_mesh_of_all_devices_is_enabled_and_disabled(driver) {
        let contexts = crate::contexts(driver)?;
        let topology = Topology::probe(&driver.devices()?)?;
        let (mesh, report) = Mesh::enable(&topology, &contexts)?;
        assert_eq!(report.pairs().len(), contexts.len() * (contexts.len() - 1));
        assert!(report.failures().next().is_none(), "{report}");
        let (_again, second) = Mesh::enable(&topology, &contexts)?;
        assert!(second.pairs().iter().all(|pair| pair.outcome != PeerOutcome::Enabled), "{second}");
        assert!(mesh.is_enabled(0, 0)?);
        mesh.disable()?;
        mesh.disable()?;
        mesh.refresh()?;
        mesh.disable()?;
    }
}

/// S3.7, S3.9: one call for each capable direction, none for the others, and every ordered pair in the
/// report.
#[test]
fn exactly_the_capable_directions_are_enabled_each_with_one_call() -> TestResult {
    let wires = [(1, 0), (0, 2), (2, 3), (3, 2), (3, 1)];
    let site = Site::of(links(4, &wires)?)?;
    let calls = [
        (Function::cuCtxGetCurrent, 4),
        (Function::cuCtxSetCurrent, 8),
        (Function::cuCtxEnablePeerAccess, wires.len() as u64),
    ];
    let (mesh, report) = budget(&site.driver, &calls, || Mesh::enable(&site.topology, &site.contexts))?;
    assert_eq!(report.pairs().len(), 12);
    let mut expected: Vec<_> = wires.iter().map(|(from, to)| (*from as u32, *to as u32)).collect();
    expected.sort_unstable();
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), expected);
    assert_eq!(pairs_that_are(&report, &PeerOutcome::NotCapable).len(), 7);
    assert_eq!(site.enabled()?, expected);
    budget(&site.driver, &[], || -> TestResult {
        assert!(mesh.is_enabled(1, 0)? && !mesh.is_enabled(0, 1)? && mesh.is_enabled(1, 1)?);
        assert_eq!(mesh.is_enabled(0, 4), Err(Error::Device(DeviceError::NotInTopology { device: 4 })));
        Ok(())
    })?;
    assert_eq!(report.get(1, &site.driver.device(0)?), Some(&PeerOutcome::Enabled));
    assert_eq!(report.get(1, 1), None);
    assert!(report.to_string().starts_with("device 0 to memory of device 1: not capable\n"), "{report}");
    Ok(())
}

/// A row in which nothing is capable makes no call at all.
#[test]
fn a_machine_without_links_makes_no_call() -> TestResult {
    let site = Site::preset("pcie-t4")?;
    let (mesh, report) = budget(&site.driver, &[], || Mesh::enable(&site.topology, &site.contexts))?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::NotCapable).len(), 12);
    budget(&site.driver, &[], || mesh.disable())?;
    Ok(())
}

/// S3.8, S3.11: what others have enabled counts as success, and is left to them.
#[test]
fn access_enabled_before_is_reported_and_kept() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (driver, [one, other]) = (&site.driver, [&site.contexts[0], &site.contexts[1]]);
    one.scope(|| call!(driver.cuCtxEnablePeerAccess(other.as_raw(), 0)))??;
    let (mesh, report) = Mesh::enable(&site.topology, &site.contexts)?;
    assert_eq!(report.get(0, 1), Some(&PeerOutcome::AlreadyEnabled));
    assert_eq!(report.get(1, 0), Some(&PeerOutcome::Enabled));
    let (_again, second) = Mesh::enable(&site.topology, &site.contexts)?;
    assert_eq!(pairs_that_are(&second, &PeerOutcome::AlreadyEnabled).len(), 2);
    mesh.disable()?;
    assert_eq!(site.enabled()?, [(0, 1)]);
    assert!(!mesh.is_enabled(0, 1)? && !mesh.is_enabled(1, 0)?);
    Ok(())
}

/// S3.11: disabling is idempotent, also if other code has disabled it before.
#[test]
fn disabling_undoes_the_meshs_own_access_and_tolerates_that_it_is_gone() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let mesh = site.mesh()?;
    assert_eq!(site.enabled()?.len(), 12);
    let (driver, [one, other]) = (&site.driver, [&site.contexts[2], &site.contexts[1]]);
    one.scope(|| call!(driver.cuCtxDisablePeerAccess(other.as_raw())))??;
    mesh.disable()?;
    assert!(site.enabled()?.is_empty());
    budget(&site.driver, &[], || mesh.disable())?;
    let report = mesh.refresh()?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled).len(), 12);
    assert_eq!(site.enabled()?.len(), 12);
    Ok(())
}

/// S3.2: disabling and failing leave the topology alone.
#[test]
fn capability_is_not_erased_when_enabling_fails() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let scope = site.machine.inject(fail_nth(Function::cuCtxEnablePeerAccess, 1, code))?;
    let (mesh, report) = Mesh::enable(&site.topology, &site.contexts)?;
    drop(scope);
    assert!(matches!(report.get(0, 1), Some(PeerOutcome::Failed(error)) if error.code() == Some(code)));
    assert_eq!(report.get(1, 0), Some(&PeerOutcome::Enabled));
    assert!(mesh.topology().can_access(0, 1)? && !mesh.is_enabled(0, 1)?);
    // Pairs that failed are tried again; pairs with access are left alone.
    let calls = [
        (Function::cuCtxGetCurrent, 1),
        (Function::cuCtxSetCurrent, 2),
        (Function::cuCtxEnablePeerAccess, 1),
        (Function::cuDevicePrimaryCtxGetState, 2),
        (Function::cuCtxGetId, 2),
    ];
    let report = budget(&site.driver, &calls, || mesh.refresh())?;
    assert_eq!(report.get(0, 1), Some(&PeerOutcome::Enabled));
    assert_eq!(report.get(1, 0), Some(&PeerOutcome::AlreadyEnabled));
    assert!(mesh.is_enabled(0, 1)?);
    Ok(())
}

/// S3.9: that there are too many peers is told from other failures, and the other rows go on.
#[test]
fn too_many_peers_are_told_apart() -> TestResult {
    let wires = [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)];
    let site = Site::of(linked(4, &wires).max_peers(2).build()?)?;
    let (mesh, report) = Mesh::enable(&site.topology, &site.contexts)?;
    let too_many = Error::Peer(PeerError::TooMany { from: 0, to: 3 });
    assert_eq!(too_many.code(), Some(CUresult::CUDA_ERROR_TOO_MANY_PEERS));
    assert_eq!(report.get(0, 3), Some(&PeerOutcome::Failed(too_many.clone())));
    assert_eq!(report.failures().map(|(_, error)| error).collect::<Vec<_>>(), [&too_many]);
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 1), (0, 2), (1, 0), (2, 0), (3, 0)]);
    assert!(!mesh.is_enabled(0, 3)?);
    Ok(())
}

/// S3.3, S3.9: a pair whose capability is unknown failed, with the reason; it is not taken for incapable.
#[test]
fn a_pair_that_could_not_be_asked_about_failed() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let scope = site.machine.inject(fail_nth(Function::cuDeviceCanAccessPeer, 1, code))?;
    let topology = Topology::probe(&site.driver.devices()?)?;
    drop(scope);
    let (_mesh, report) = Mesh::enable(&topology, &site.contexts)?;
    assert!(matches!(report.get(0, 1), Some(PeerOutcome::Failed(error)) if error.code() == Some(code)));
    assert_eq!(report.get(1, 0), Some(&PeerOutcome::Enabled));
    Ok(())
}

/// S3.10: what was current before, none or some context, is current afterwards, also if something failed.
#[test]
fn the_current_context_is_as_before() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    for fails in [false, true] {
        let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
        let scope =
            site.machine.inject(fail_nth(Function::cuCtxEnablePeerAccess, if fails { 5 } else { 1000 }, code))?;
        assert_eq!(current(&site.driver)?, 0);
        let mesh = site.mesh()?;
        assert_eq!(current(&site.driver)?, 0);
        site.contexts[2].scope(|| -> TestResult {
            mesh.disable()?;
            mesh.refresh()?;
            assert_eq!(current(&site.driver)?, site.contexts[2].as_raw().addr());
            Ok(())
        })??;
        mesh.disable()?;
        assert_eq!(current(&site.driver)?, 0);
        drop(scope);
    }
    Ok(())
}

/// S3.10: a context that cannot be made current is an error of its row.
#[test]
fn a_context_that_cannot_be_made_current_fails_its_row() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let code = CUresult::CUDA_ERROR_INVALID_CONTEXT;
    // Each row sets its context and puts back what was there: the third call is the second row's.
    let scope = site.machine.inject(fail_nth(Function::cuCtxSetCurrent, 3, code))?;
    let (_mesh, report) = Mesh::enable(&site.topology, &site.contexts)?;
    drop(scope);
    let failed: Vec<_> =
        report.failures().map(|(pair, error)| (pair.accessor.ordinal(), pair.owner.ordinal(), error.code())).collect();
    assert_eq!(failed, [(1, 0, Some(code)), (1, 2, Some(code)), (1, 3, Some(code))]);
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled).len(), 9);
    Ok(())
}

/// Bad input is refused before any driver call.
#[test]
fn contexts_that_do_not_fit_are_refused_before_any_call() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let part = Topology::probe(&site.topology.devices()[..2])?;
    let second = site.driver.device(1)?.create_context(ContextOptions::new())?;
    let other = Driver::open(&Machine::preset("pcie-pair")?)?;
    let strange = other.device(0)?.context()?;
    let [one, two, three] = [0, 1, 2].map(|at: usize| site.contexts[at].clone());
    budget(&site.driver, &[], || {
        assert_eq!(
            Mesh::enable(&part, &[one.clone(), three]).err(),
            Some(Error::Device(DeviceError::NotInTopology { device: 2 }))
        );
        assert_eq!(
            Mesh::enable(&part, &[two.clone(), second.clone()]).err(),
            Some(Error::Peer(PeerError::TwoContexts { device: 1 }))
        );
        let twice = Mesh::enable(&part, &[one.clone(), two.clone(), one.clone()]).err();
        assert_eq!(twice, Some(Error::Peer(PeerError::TwoContexts { device: 0 })));
        assert_eq!(Mesh::enable(&part, &[]).err(), Some(Error::Peer(PeerError::NoContexts)));
        assert!(matches!(
            Mesh::enable(&part, std::slice::from_ref(&strange)),
            Err(Error::Device(DeviceError::DriverMismatch { .. }))
        ));
    });
    // A device without a context does not take part.
    let (mesh, report) = Mesh::enable(&site.topology, &[one.clone(), two])?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 1), (1, 0)]);
    assert_eq!(report.pairs().len(), 2);
    assert_eq!((mesh.context(one.device()), mesh.context(&site.driver.device(3)?)), (Some(one), None));
    assert!(!mesh.is_enabled(0, 3)?);
    Ok(())
}

/// A disable that fails is an error, leaves the rest disabled, and can be repeated.
#[test]
fn a_disable_that_fails_can_be_repeated() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let mesh = site.mesh()?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let scope = site.machine.inject(fail_nth(Function::cuCtxDisablePeerAccess, 5, code))?;
    assert_eq!(mesh.disable().unwrap_err().code(), Some(code));
    drop(scope);
    assert!(mesh.is_enabled(1, 2)? && !mesh.is_enabled(0, 1)? && !mesh.is_enabled(3, 2)?);
    assert_eq!(site.enabled()?, [(1, 2)]);
    mesh.disable()?;
    assert!(site.enabled()?.is_empty());
    Ok(())
}
