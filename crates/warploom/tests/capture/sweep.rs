//! Captures with each of their driver calls failing.

use warploom::capture::{Relaxed, ThreadLocal};
use warploom::graph::reclaim;
use warploom::{DevicePool, Driver, GraphDef, GraphPool, Result};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::sweep::Sweep;

/// Calls made in a `drop`: restoring the current context, ordering a free after other streams, and checking
/// that it invalidates no capture.
const PARTING: &[&str] = &[
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
    "cuThreadExchangeStreamCaptureMode",
];

fn everywhere(more: &[&str], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true).from_here(false);
        for name in PARTING.iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| {
            let done = scenario(driver);
            reclaim();
            done
        });
    }
    Ok(())
}

#[test]
fn captures_and_graphs_leave_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let (mut first, mut second) = (pool.allocate::<u8>(64, &stream)?, pool.allocate::<u8>(64, &other)?);
        let capture = stream.capture(ThreadLocal)?;
        first.fill(1, &capture)?;
        other.wait_for(&stream)?;
        second.fill(2, &other)?;
        stream.wait_for(&other)?;
        capture.is_valid()?;
        drop((first, second));
        let graph = capture.end()?;
        graph.node_count()?;
        graph.is_accounted()?;
        graph.close()?;
        reclaim(); // before the rest goes, so that calls are made in the same order every time
        Ok(())
    })
}

#[test]
fn memory_that_waits_for_a_capture_is_freed() -> TestResult {
    everywhere(&["cuStreamEndCapture", "cuStreamIsCapturing"], |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let (waiting, mut shared) = (pool.allocate::<u8>(64, &stream)?, pool.allocate::<u8>(64, &other)?);
        shared.fill(1, &stream)?;
        let capture = stream.capture(Relaxed)?;
        drop((waiting, shared));
        drop(capture);
        stream.synchronize()
    })
}

#[test]
fn memory_of_graphs_leaves_nothing_behind() -> TestResult {
    everywhere(&["cuStreamEndCapture", "cuStreamIsCapturing"], |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, GraphPool::new(&context));
        pool.statistics()?;
        pool.reset_high_marks()?;
        pool.trim()?;
        let capture = stream.capture(Relaxed)?;
        let scratch = pool.zeroed::<u8>(64, &capture)?;
        let copy = scratch.duplicate(&capture)?;
        drop(scratch);
        copy.close()?;
        drop(capture);
        Ok(())
    })
}

/// Forks, callbacks, embedded graphs and bodies: after any failing call nothing is left over, and the graph
/// has what was captured before.
#[test]
fn forks_callbacks_and_bodies_leave_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let mut buffer = pool.allocate::<u8>(64, &stream)?;
        let step = GraphDef::new(&context)?;
        step.entry().host(|| ())?;
        let capture = stream.capture(Relaxed)?;
        let forks = capture.fork(1)?;
        forks[0].callback(|| ())?;
        capture.join(forks)?;
        capture.embed(&step)?;
        let condition = capture.condition(1)?;
        let body = capture.if_then(&condition)?.capture(Relaxed)?;
        buffer.fill(1, &body)?;
        let body = body.end()?;
        body.definition().entry().empty()?;
        let graph = capture.end()?;
        graph.node_count()?;
        drop((body, condition));
        graph.close()?;
        step.close()?;
        reclaim(); // before the rest goes, so that calls are made in the same order every time
        Ok(())
    })
}
