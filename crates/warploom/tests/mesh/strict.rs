//! Enabling all pairs or none (S3.9).

use warploom::sys::types::CUresult;
use warploom::{Error, Function, Mesh, PeerError, PeerOutcome};
use warploom_sim::fault::{Calls, Rule};
use warploom_testkit::{TestResult, call};

use super::{Site, fail_nth, linked, links, pairs_that_are};

/// S3.9: whichever direction fails, nothing that was enabled stays, and what others had enabled does.
#[test]
fn a_strict_mesh_disables_its_access_again_after_any_failure() -> TestResult {
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    for nth in 1..=12 {
        let site = Site::preset("hgx-a100-4")?;
        let (driver, [one, other]) = (&site.driver, [&site.contexts[3], &site.contexts[1]]);
        one.scope(|| call!(driver.cuCtxEnablePeerAccess(other.as_raw(), 0)))??;
        let scope = site.machine.inject(fail_nth(Function::cuCtxEnablePeerAccess, nth, code))?;
        let refused = Mesh::enable_strict(&site.topology, &site.contexts).err();
        assert_eq!(scope.fired_count(), 1);
        drop(scope);
        let Some(Error::Peer(PeerError::MeshIncomplete { report })) = &refused else { panic!("{refused:?}") };
        assert_eq!(refused.as_ref().and_then(Error::code), Some(code));
        assert_eq!(report.failures().count(), 1, "{report}");
        assert!(pairs_that_are(report, &PeerOutcome::Enabled).is_empty(), "{report}");
        assert!(pairs_that_are(report, &PeerOutcome::Undone).len() >= 10, "{report}");
        assert_eq!(site.enabled()?, [(3, 1)]);
    }
    Ok(())
}

/// S3.9: what the hardware cannot do is no failure.
#[test]
fn a_strict_mesh_enables_only_capable_pairs() -> TestResult {
    let site = Site::of(links(3, &[(0, 1), (2, 0)])?)?;
    let (mesh, report) = Mesh::enable_strict(&site.topology, &site.contexts)?;
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 1), (2, 0)]);
    assert!(mesh.is_enabled(0, 1)?);
    Ok(())
}

/// S3.9: too many peers are a failure like any other.
#[test]
fn a_strict_mesh_with_too_many_peers_says_so_and_has_none() -> TestResult {
    let site = Site::of(linked(3, &[(0, 1), (0, 2), (1, 0)]).max_peers(1).build()?)?;
    let refused = Mesh::enable_strict(&site.topology, &site.contexts).err().ok_or("there are too many")?;
    assert_eq!(refused.code(), Some(CUresult::CUDA_ERROR_TOO_MANY_PEERS));
    let expected = "1 of 6 pairs of devices could not be enabled; device 0 to device 2: device 0 has too many peers to be \
                    given access to memory of device 2; disable others first";
    assert_eq!(refused.to_string(), expected);
    assert!(site.enabled()?.is_empty());
    Ok(())
}

/// S3.9: what could not be undone is said to be there.
#[test]
fn access_that_could_not_be_disabled_is_in_the_report() -> TestResult {
    let site = Site::preset("hgx-a100-4")?;
    let code = CUresult::CUDA_ERROR_NOT_PERMITTED;
    let plan = fail_nth(Function::cuCtxEnablePeerAccess, 12, code)
        .rule(Rule::on(Calls::from(Function::cuCtxDisablePeerAccess)).nth(2).fail(code));
    let scope = site.machine.inject(plan)?;
    let refused = Mesh::enable_strict(&site.topology, &site.contexts).err();
    drop(scope);
    let Some(Error::Peer(PeerError::MeshIncomplete { report })) = refused else { panic!("{refused:?}") };
    assert_eq!(pairs_that_are(&report, &PeerOutcome::Enabled), [(0, 2)]);
    assert_eq!(site.enabled()?, [(0, 2)]);
    Ok(())
}
