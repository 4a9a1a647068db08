//! A mesh after a device was reset (S3.26 to S3.28).
#![expect(unsafe_code, reason = "resets devices, and answers for what was made in them")]

use warploom::sys::types::CUresult;
use warploom::{
    AccessLayer, Context, ContextError, ContextOptions, DeviceMemory, Error, Function, Mesh, PeerError, PeerOutcome,
    Result,
};
use warploom_testkit::{TestResult, budget, call};

use super::{Site, fail_nth, pairs_that_are};

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

/// S3.27: a mesh that refreshes itself enables access again at the first copy that needs it, and asks nothing
/// while access is there.
#[test]
fn a_mesh_that_refreshes_itself_copies_after_a_reset() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, far) = (site.mesh()?, site.driver.device(1)?);
    let near = site.contexts[0].stream()?;
    let source = DeviceMemory::new(&site.contexts[0]).upload(&[1_u8, 2], &near)?;
    near.synchronize()?;
    for (round, is_automatic) in [(1, false), (2, true)] {
        // SAFETY: what was made in the context is not used again.
        unsafe { far.reset_context() }?;
        mesh.set_auto_refresh(is_automatic);
        let stream = far.context()?.stream()?;
        let mut arrived = DeviceMemory::new(stream.context()).allocate::<u8>(2)?;
        let copied = mesh.copy(&source, &mut arrived, &stream).map(drop);
        if is_automatic {
            copied?;
            assert_eq!(mesh.context(&far).map(|context| context.generation()), Some(round));
            let copy = [(Function::cuMemcpyPeerAsync, 1)];
            budget(&site.driver, &copy, || mesh.copy(&source, &mut arrived, &stream).map(drop))?;
            assert_eq!(arrived.download(&stream)?, [1, 2]);
        } else {
            let missing = PeerError::NotEnabled { from: 1, to: 0, layer: AccessLayer::Contexts };
            assert_eq!(copied, Err(missing.into()));
        }
    }
    // Missing access for another reason is the copy's error, and nothing is refreshed.
    mesh.disable()?;
    let stream = far.context()?.stream()?;
    let mut arrived = DeviceMemory::new(stream.context()).allocate::<u8>(2)?;
    budget(&site.driver, &[], || assert!(mesh.copy(&source, &mut arrived, &stream).is_err()));
    Ok(())
}

/// A refresh that fails is the error of the copy, which can be made again.
#[test]
fn a_refresh_that_fails_is_the_error_of_the_copy() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, far) = (site.mesh()?, site.driver.device(1)?);
    mesh.set_auto_refresh(true);
    let near = site.contexts[0].stream()?;
    let source = DeviceMemory::new(&site.contexts[0]).upload(&[1_u8, 2], &near)?;
    near.synchronize()?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { far.reset_context() }?;
    let stream = far.context()?.stream()?;
    let mut arrived = DeviceMemory::new(stream.context()).allocate::<u8>(2)?;
    let scope =
        site.machine.inject(fail_nth(Function::cuCtxEnablePeerAccess, 2, CUresult::CUDA_ERROR_TOO_MANY_PEERS))?;
    let missing = PeerError::NotEnabled { from: 1, to: 0, layer: AccessLayer::Contexts };
    assert_eq!(mesh.copy(&source, &mut arrived, &stream).map(drop), Err(missing.into()));
    drop(scope);
    mesh.refresh()?;
    mesh.copy(&source, &mut arrived, &stream)?.synchronize()?;
    assert_eq!(arrived.download(&stream)?, [1, 2]);
    Ok(())
}

/// S3.27: a reset gives the place of a primary context to the next primary context only. Another context of the
/// device is refused, and not enabled by a mesh that refreshes itself.
#[test]
fn a_created_context_does_not_take_the_place_of_a_primary_one_that_was_reset() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, far) = (site.mesh()?, site.driver.device(1)?);
    let near = site.contexts[0].stream()?;
    let source = DeviceMemory::new(&site.contexts[0]).upload(&[1_u8, 2], &near)?;
    near.synchronize()?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { far.reset_context() }?;
    let created = far.create_context(ContextOptions::new())?;
    let stream = created.stream()?;
    let mut arrived = DeviceMemory::new(&created).allocate::<u8>(2)?;
    let refused = Err(PeerError::ContextUnavailable { device: 1 }.into());
    for is_automatic in [false, true] {
        mesh.set_auto_refresh(is_automatic);
        budget(&site.driver, &[], || assert_eq!(mesh.copy(&source, &mut arrived, &stream).map(drop), refused));
    }
    mesh.refresh()?;
    assert_eq!(mesh.copy(&source, &mut arrived, &stream).map(drop), refused);

    let renewed = far.context()?;
    let mut primary = DeviceMemory::new(&renewed).allocate::<u8>(2)?;
    mesh.copy(&source, &mut primary, &renewed.stream()?)?.synchronize()?;
    let (other, report) = Mesh::enable(&site.topology, &[site.contexts[0].clone(), created])?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 1), (1, 0)], "nothing came with the device");
    other.copy(&source, &mut arrived, &stream)?.synchronize()?;
    assert_eq!(arrived.download(&stream)?, [1, 2]);
    Ok(())
}

/// S3.27: pairs of contexts that were created stay when the primary context of their device is reset.
#[test]
fn a_reset_leaves_pairs_of_created_contexts_alone() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let created = [0, 1].map(|ordinal| site.driver.device(ordinal)?.create_context(ContextOptions::new()));
    let [near, far] = created;
    let (near, far) = (near?, far?);
    let (mesh, _) = Mesh::enable(&site.topology, &[near.clone(), far.clone()])?;
    let (here, there) = (near.stream()?, far.stream()?);
    let source = DeviceMemory::new(&near).upload(&[1_u8, 2], &here)?;
    let mut arrived = DeviceMemory::new(&far).allocate::<u8>(2)?;
    here.synchronize()?;
    // SAFETY: nothing but the context was made in the primary context.
    unsafe { site.driver.device(1)?.reset_context() }?;
    assert!(mesh.is_enabled(0, 1)? && mesh.is_enabled(1, 0)?);
    let report = budget(&site.driver, &[], || mesh.refresh())?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::AlreadyEnabled), [(0, 1), (1, 0)]);
    mesh.copy(&source, &mut arrived, &there)?.synchronize()?;
    assert_eq!(arrived.download(&there)?, [1, 2]);
    Ok(())
}

/// S3.27: access that the driver still has for the same primary context counts, and is not disabled here.
#[test]
fn access_that_is_there_after_a_reset_counts_as_that_of_others() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let (mesh, far) = (site.mesh()?, site.driver.device(1)?);
    // SAFETY: nothing but the context was made on the device.
    unsafe { far.reset_context() }?;
    let contexts = [site.contexts[0].clone(), far.context()?];
    Mesh::enable(&site.topology, &contexts)?;
    let report = mesh.refresh()?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::AlreadyEnabled), [(0, 1), (1, 0)]);
    mesh.disable()?;
    let (_, report) = Mesh::enable(&site.topology, &contexts)?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::AlreadyEnabled), [(0, 1), (1, 0)]);
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
