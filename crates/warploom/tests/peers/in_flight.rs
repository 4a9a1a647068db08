//! Access that is taken away while another device uses the memory: its work ends first (S0.27).
#![expect(unsafe_code, reason = "launches kernels, and takes access away at once")]

use warploom::capture::Relaxed;
use warploom::sys::types::CUresult;
use warploom::{
    Buffer, CaptureError, Context, ContextOptions, DeviceMemory, DevicePool, Driver, Function, GraphDef, Kernel,
    LaunchConfig, LiveSet, PeerSet, Result, Stream,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::{TestResult, assert_sound, budget, open, while_waiting};

use super::gate::Gate;
use super::{ordinals, set};

const SCALE: &str = include_str!("../../examples/scale.ptx");

/// Values in a pool of device 0 that is open to devices 1 and 2, and a stream of device 1.
struct Stage {
    machine: Machine,
    driver: Driver,
    pool: DevicePool,
    values: Buffer<f32>,
    home: Stream,
    far: Stream,
    scale: Kernel,
}

impl Stage {
    fn new() -> TestResult<Stage> {
        Stage::with(|driver| driver.device(1)?.context())
    }

    fn with(far: impl FnOnce(&Driver) -> Result<Context>) -> TestResult<Stage> {
        let (machine, driver) = open(Topology::preset("hgx-a100-4")?, Mode::Threads)?;
        let (near, far) = (driver.device(0)?.context()?, far(&driver)?);
        let (pool, home, far) = (DevicePool::new(&near)?, near.stream()?, far.stream()?);
        pool.peers().extend([1, 2])?;
        let values = pool.upload(&[1.0, 2.0], &home)?;
        let scale = far.context().load(SCALE)?.kernel("scale")?;
        Ok(Stage { machine, driver, pool, values, home, far, scale })
    }

    /// Doubles the values on device 1.
    fn launch(&mut self) -> Result<()> {
        // SAFETY: it reads and writes two values.
        unsafe { self.scale.launch(&self.far, &LaunchConfig::new(1, 32), (2.0_f32, &mut self.values, 2_u32)) }
    }

    /// Asserts that a change waits at the gate, and ends when it is opened. Others may read the set
    /// meanwhile.
    fn ends_behind(&self, gate: &Gate, name: &str, change: impl FnOnce() -> Result<()> + Send) -> TestResult {
        let check = || {
            assert_eq!(ordinals(self.pool.peers())?, set([1, 2]), "{name}");
            Ok(())
        };
        let wait = Function::cuCtxSynchronize;
        let changed = while_waiting(&self.machine, wait, change, check, || gate.open());
        Ok(changed.map_err(|error| format!("{name}: {error}"))??)
    }

    /// Asserts that taking away all access waits at the gate, and that the kernel behind it did its work.
    fn clearing_ends_behind(&self, gate: Gate) -> TestResult {
        self.ends_behind(&gate, "clear", || self.pool.peers().clear())?;
        drop(gate);
        assert_eq!(self.values.download(&self.home)?, [2.0, 4.0]);
        Ok(())
    }
}

/// An operation that takes 1 out of a set of 1 and 2, and its result.
type Operation = (&'static str, fn(PeerSet<'_>) -> Result<()>, &'static [u32]);

const OPERATIONS: &[Operation] = &[
    ("remove", |peers| peers.remove(1).map(|removed| assert!(removed)), &[2]),
    (
        "pop_first",
        |peers| peers.pop_first().map(|first| assert_eq!(first.map(|device| device.ordinal()), Some(1))),
        &[2],
    ),
    ("subtract", |peers| peers.subtract([1, 3]), &[2]),
    ("intersect", |peers| peers.intersect([2, 3]), &[2]),
    ("toggle", |peers| peers.toggle([1, 3]), &[2, 3]),
    ("retain", |peers| peers.retain(|device| device.ordinal() != 1), &[2]),
    ("assign", |peers| peers.assign([3]), &[3]),
    ("clear", |peers| peers.clear(), &[]),
];

#[test]
fn work_in_flight_ends_before_its_access_is_taken_away() -> TestResult {
    for (name, operation, left) in OPERATIONS {
        let mut stage = Stage::new()?;
        let gate = Gate::close(&stage.far)?;
        stage.launch()?;
        stage.ends_behind(&gate, name, || operation(stage.pool.peers()))?;
        assert_eq!(ordinals(stage.pool.peers())?, set(left.iter().copied()), "{name}");
        drop(gate);
        assert_eq!(stage.values.download(&stage.home)?, [2.0, 4.0], "{name}");
        assert_sound(&stage.machine);
    }
    Ok(())
}

/// The caller of the immediate form promises that there is no such work, because it fails.
#[test]
fn work_in_flight_fails_when_its_access_is_taken_away_at_once() -> TestResult {
    let mut stage = Stage::new()?;
    let gate = Gate::close(&stage.far)?;
    stage.launch()?;
    // SAFETY: the simulator refuses the access of the kernel, and the context is not used again.
    unsafe { stage.pool.peers().revoke_now([1, 3, 9]) }?;
    assert_eq!(ordinals(stage.pool.peers())?, set([2]));
    gate.open();
    let failed = stage.far.synchronize().expect_err("the memory is no longer mapped");
    assert_eq!(failed.code(), Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    std::mem::forget((gate, stage));
    Ok(())
}

/// A buffer that was dropped is freed after the work that uses it, and that work needs the access.
#[test]
fn work_on_a_buffer_that_was_dropped_ends_first() -> TestResult {
    let mut stage = Stage::new()?;
    let gate = Gate::close(&stage.far)?;
    stage.launch()?;
    let other = stage.pool.upload(&[0.0_f32], &stage.home)?;
    drop(std::mem::replace(&mut stage.values, other));
    stage.ends_behind(&gate, "remove", || stage.pool.peers().remove(1).map(drop))?;
    drop(gate);
    stage.far.synchronize()?;
    assert_sound(&stage.machine);
    Ok(())
}

/// Other values of the same pool, and contexts beside the primary one, are known as well.
#[test]
fn work_of_every_context_of_a_device_is_waited_for() -> TestResult {
    let mut stage = Stage::with(|driver| driver.device(1)?.create_context(ContextOptions::new()))?;
    let gate = Gate::close(&stage.far)?;
    stage.launch()?;
    stage.clearing_ends_behind(gate)
}

/// A graph that is launched on a stream of the pool's own device, with a node that runs on another.
#[test]
fn a_node_of_another_device_is_waited_for() -> TestResult {
    let mut stage = Stage::new()?;
    let graph = GraphDef::new(stage.home.context())?;
    let arguments = (2.0_f32, &mut stage.values, 2_u32);
    // SAFETY: it reads and writes two values.
    unsafe {
        graph.entry().on(stage.far.context()).kernel(&stage.scale, &LaunchConfig::new(1, 32), arguments)?;
    }
    let exec = graph.instantiate()?;
    let gate = Gate::close(&stage.home)?;
    exec.launch(&stage.home)?;
    stage.clearing_ends_behind(gate)
}

/// The same for a kernel that was captured on a stream of the other device.
#[test]
fn captured_work_of_another_device_is_waited_for() -> TestResult {
    let mut stage = Stage::new()?;
    stage.home.synchronize()?;
    let capture = stage.home.capture(Relaxed)?;
    stage.far.wait(&stage.home.record()?)?;
    stage.launch()?;
    stage.home.wait(&stage.far.record()?)?;
    let exec = capture.end()?.instantiate()?;
    let gate = Gate::close(&stage.home)?;
    exec.launch(&stage.home)?;
    stage.clearing_ends_behind(gate)
}

/// Devices that have not used memory of this one are not waited for, and nothing more is asked of the driver.
#[test]
fn without_use_by_others_there_is_no_wait() -> TestResult {
    let mut stage = Stage::new()?;
    let writes = [(Function::cuMemPoolGetAccess, 1), (Function::cuMemPoolSetAccess, 1)];
    budget(&stage.driver, &writes, || stage.pool.peers().remove(1))?;
    stage.pool.peers().insert(1)?;
    let gate = Gate::close(&stage.far)?;
    stage.launch()?;
    // Device 2 has not, though device 1 has.
    budget(&stage.driver, &writes, || stage.pool.peers().remove(2))?;
    assert_eq!(ordinals(stage.pool.peers())?, set([1]));
    drop(gate);
    stage.far.synchronize()?;
    Ok(())
}

#[test]
fn a_change_that_would_have_to_wait_for_a_captured_context_is_refused() -> TestResult {
    let mut stage = Stage::new()?;
    stage.launch()?;
    let capture = stage.far.context().stream()?.capture(Relaxed)?;
    let refused = stage.pool.peers().clear();
    assert_eq!(refused, Err(CaptureError::Context { device: 1 }.into()));
    assert_eq!(ordinals(stage.pool.peers())?, set([1, 2]));
    drop(capture);
    stage.pool.peers().clear()?;
    Ok(())
}

/// Every call of the wait fails once: the change is an error, or was made.
#[test]
fn removals_with_use_survive_every_failure() -> TestResult {
    for (_, operation, _) in OPERATIONS {
        let mut sweep = Sweep::new(Topology::preset("hgx-a100-4")?).mode(Mode::Threads).after_effect(true);
        // Done in a `drop`, which can tell nobody; streams that cannot be waited for there make way for their
        // context.
        for name in ["cuCtxSetCurrent", "cuDevicePrimaryCtxRelease_v2", "cuStreamSynchronize"] {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
            let (near, far) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
            let (pool, home, away) = (DevicePool::default_of(&near)?, near.stream()?, far.stream()?);
            pool.peers().extend([1, 2])?;
            let values = DeviceMemory::new(&near).upload(&[1_u8; 8], &home)?;
            let mut copies = DeviceMemory::new(&far).allocate(8)?;
            away.wait_for(&home)?;
            values.copy_to(&mut copies, &away)?;
            operation(pool.peers())?;
            values.close()?;
            copies.close()
        });
    }
    Ok(())
}
