//! Access between contexts that is disabled while it is used: the work ends first (S0.27).
#![expect(unsafe_code, reason = "launches kernels, and disables access at once")]

use warploom::sys::types::CUresult;
use warploom::{Buffer, DeviceMemory, Function, Kernel, LaunchConfig, Mesh};
use warploom_testkit::{TestResult, budget, while_waiting};

use super::Site;
use super::gate::Gate;

const SCALE: &str = include_str!("../../examples/scale.ptx");

/// A kernel on a stream of device 1, behind a gate, that doubles values of device 0. The drop of the kernel waits
/// for its launches, so the gate has to be open by then.
fn gated(site: &Site) -> TestResult<(Kernel, Gate, Buffer<f32>)> {
    let (home, far) = (site.contexts[0].stream()?, site.contexts[1].stream()?);
    let mut values = DeviceMemory::new(&site.contexts[0]).upload(&[1.0_f32, 2.0], &home)?;
    let scale = site.contexts[1].load(SCALE)?.kernel("scale")?;
    let gate = Gate::close(&far)?;
    // SAFETY: it reads and writes two values.
    unsafe { scale.launch(&far, &LaunchConfig::new(1, 32), (2.0_f32, &mut values, 2_u32)) }?;
    Ok((scale, gate, values))
}

#[test]
fn work_in_flight_ends_before_access_is_disabled() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let mesh = site.mesh()?;
    let (kernel, gate, values) = gated(&site)?;
    let check = || {
        assert!(mesh.is_enabled(1, 0)?);
        Ok(())
    };
    while_waiting(&site.machine, Function::cuCtxSynchronize, || mesh.disable(), check, || gate.open())??;
    assert!(site.enabled()?.is_empty());
    drop((gate, kernel));
    assert_eq!(values.download(&site.contexts[0].stream()?)?, [2.0, 4.0]);
    Ok(())
}

/// The caller of the immediate form promises that there is no such work, because it fails.
#[test]
fn work_in_flight_fails_when_access_is_disabled_at_once() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let mesh = site.mesh()?;
    let (kernel, gate, values) = gated(&site)?;
    // SAFETY: the simulator refuses the access of the kernel, and the context is not used again.
    unsafe { mesh.disable_now() }?;
    gate.open();
    let failed = site.contexts[1].synchronize().expect_err("the memory is no longer mapped");
    assert_eq!(failed.code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    std::mem::forget((kernel, gate, values, mesh, site));
    Ok(())
}

/// Access that nobody has used is disabled by the calls that it takes.
#[test]
fn without_use_there_is_no_wait() -> TestResult {
    let site = Site::preset("pcie-pair")?;
    let mesh = site.mesh()?;
    let calls = [(Function::cuCtxDisablePeerAccess, 2), (Function::cuCtxGetCurrent, 2), (Function::cuCtxSetCurrent, 4)];
    budget(&site.driver, &calls, || mesh.disable())?;
    // Nothing of this mesh is left to be disabled, in use or not.
    let again: Mesh = site.mesh()?;
    let (_kernel, gate, _values) = gated(&site)?;
    budget(&site.driver, &[], || mesh.disable())?;
    drop(gate);
    again.disable()?;
    Ok(())
}
