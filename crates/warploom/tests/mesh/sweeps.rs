//! A mesh with each of its driver calls failing (S3.9).

use warploom::{DevicePool, Devices, Driver, Error, LiveSet, Mesh, Result, Topology};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology as Wiring;
use warploom_sim::{Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::sweep::Sweep;

use super::contexts;

/// Sweeps a scenario; putting back the current context is done in a `drop`, which can tell nobody.
fn everywhere(preset: &str, scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Threads] {
        let sweep = Sweep::new(Wiring::preset(preset)?).mode(mode).after_effect(true);
        sweep.tolerates(Calls::named("cuCtxSetCurrent")?).run(|_, driver| scenario(driver));
    }
    Ok(())
}

fn first(failures: Option<&Error>) -> Result<()> {
    failures.map_or(Ok(()), |error| Err(error.clone()))
}

#[test]
fn enabling_and_disabling_report_every_failure_and_leave_nothing_behind() -> TestResult {
    everywhere("asymmetric", |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let (mesh, report) = Mesh::enable(&topology, &contexts(driver)?)?;
        let failed = first(report.failures().next().map(|(_, error)| error));
        mesh.disable()?;
        let report = mesh.refresh()?;
        failed.and_then(|()| first(report.failures().next().map(|(_, error)| error)))
    })
}

/// S3.9: whatever fails in the middle, a strict mesh is there or is not.
#[test]
fn a_strict_mesh_is_there_or_an_error() -> TestResult {
    everywhere("hgx-a100-4", |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let (mesh, _) = Mesh::enable_strict(&topology, &contexts)?;
        mesh.disable()
    })
}

#[test]
fn opening_pools_reports_every_failure_and_leaves_nothing_behind() -> TestResult {
    everywhere("asymmetric", |driver| {
        let topology = Topology::probe(&driver.devices()?)?;
        first(topology.failures().next().map(|(_, error)| error))?;
        let contexts = contexts(driver)?;
        let pool = DevicePool::default_of(&contexts[0])?;
        let (_mesh, report) = Mesh::open(&topology, &contexts, &[&pool])?;
        first(report.failures().next())?;
        pool.peers().clear()
    })
}
