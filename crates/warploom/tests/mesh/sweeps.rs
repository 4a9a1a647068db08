//! A mesh with each of its driver calls failing (S3.9).

use warploom::{
    AccessLayer, CopyPolicy, DeviceMemory, DevicePool, Driver, Error, LiveSet, Mesh, PeerError, Result, Topology,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::events::sweep_panics;
use warploom_testkit::sweep::Sweep;

use super::contexts;

/// Sweeps a scenario; putting back the current context is done in a `drop`, which can tell nobody. `more`
/// names what else need not be told. Then with subscribers that panic at the event of each call.
fn everywhere(preset: &str, more: &[&str], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Threads] {
        let mut sweep = Sweep::new(Wiring::preset(preset)?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_, driver| scenario(driver));
    }
    sweep_panics(&Wiring::preset(preset)?, Mode::Deterministic(Order::Eager), |_, driver| scenario(driver));
    Ok(())
}

fn first(failures: Option<&Error>) -> Result<()> {
    failures.map_or(Ok(()), |error| Err(error.clone()))
}

#[test]
fn enabling_and_disabling_report_every_failure_and_leave_nothing_behind() -> TestResult {
    everywhere("asymmetric", &[], |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let (mesh, report) = Mesh::enable(&topology, &contexts(driver)?)?;
        let failed = first(report.failures().next().map(|(_, error)| error));
        mesh.disable()?;
        let report = mesh.refresh()?;
        failed.and_then(|()| first(report.failures().next().map(|(_, error)| error)))
    })
}

/// S3.9: a strict mesh is opened completely or not at all, whichever call fails.
#[test]
fn a_strict_mesh_is_there_or_an_error() -> TestResult {
    everywhere("hgx-a100-4", &[], |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let (mesh, _) = Mesh::enable_strict(&topology, &contexts)?;
        mesh.disable()
    })
}

#[test]
fn opening_pools_reports_every_failure_and_leaves_nothing_behind() -> TestResult {
    everywhere("asymmetric", &[], |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let pool = DevicePool::default_of(&contexts[0])?;
        let (_mesh, report) = Mesh::open(&topology, &contexts, &[&pool])?;
        first(report.failures().next())?;
        pool.peers().clear()
    })
}

/// A mesh that refreshes itself after a reset.
#[test]
fn copies_that_refresh_report_every_failure_and_leave_nothing_behind() -> TestResult {
    everywhere("pcie-pair", &["cuStreamSynchronize"], |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let (mesh, report) = Mesh::enable(&topology, &contexts)?;
        first(report.failures().next().map(|(_, error)| error))?;
        mesh.set_auto_refresh(true);
        let near = contexts[0].stream()?;
        let mut source = DeviceMemory::new(&contexts[0]).allocate::<u8>(64)?;
        source.fill(1, &near)?;
        #[expect(unsafe_code, reason = "resets a device")]
        // SAFETY: nothing but the context was made on the device.
        unsafe { driver.device(1)?.reset_context() }?;
        let far = driver.device(1)?.context()?;
        let stream = far.stream()?;
        let mut target = DeviceMemory::new(&far).allocate::<u8>(64)?;
        mesh.copy(&source, &mut target, &stream)?.synchronize()?;
        source.close()?;
        target.close()?;
        // The copy needs one direction. A failure of the other is logged, and seen in the mesh.
        let missing = PeerError::NotEnabled { from: 0, to: 1, layer: AccessLayer::Contexts };
        if mesh.is_enabled(0, 1)? { Ok(()) } else { Err(missing.into()) }
    })
}

#[test]
fn copies_report_every_failure_and_leave_nothing_behind() -> TestResult {
    // If a stream cannot be waited for before memory is freed, its context is waited for.
    everywhere("pcie-pair", &["cuStreamSynchronize"], |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let (mesh, report) = Mesh::enable(&topology, &contexts)?;
        first(report.failures().next().map(|(_, error)| error))?;
        let streams = [contexts[0].stream()?, contexts[1].stream()?];
        let mut source = DeviceMemory::new(&contexts[0]).allocate::<u8>(64)?;
        source.fill(1, &streams[0])?;
        let mut target = DeviceMemory::new(&contexts[1]).allocate::<u8>(64)?;
        let ticket = mesh.copy(&source, &mut target, &streams[1])?;
        ticket.hold_back(&streams[0])?;
        ticket.synchronize()?;
        ticket.is_complete()?;
        mesh.copy_with(CopyPolicy::AllowStaged, &target, &mut source, &streams[0])?.synchronize()?;
        source.close()?;
        target.close()
    })
}
