//! Managed memory: buffers, access by the host, advice, prefetch and discard.
//!
//! `S1.n` are its requirements, one test for each at least.

mod accessed_by;
mod advice;
mod advising;
mod batches;
mod buffers;
mod discards;
mod failures;
mod host;
mod prefetches;
mod undo;

use warploom::sys::types::CUresult;
use warploom::{Context, Driver, Function, ManagedMemory, Result, Stream};
use warploom_sim::Mode;
use warploom_sim::topology::{Topology, number};
use warploom_testkit::{TestResult, budget, open};

/// Enough that no two buffers share a page of any size.
const LARGE: usize = 2 << 20;

/// The first device in use, with a stream and managed memory.
fn setup(driver: &Driver) -> TestResult<(Context, Stream, ManagedMemory)> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let memory = ManagedMemory::new(&context)?;
    Ok((context, stream, memory))
}

/// A machine like a preset, with a device that shares no managed memory with the host while it works.
fn without_concurrent_access(preset: &str, device: usize) -> TestResult<Topology> {
    let mut topology = Topology::preset(preset)?;
    topology.devices[device].attributes.set(number::CONCURRENT_MANAGED_ACCESS, 0)?;
    Ok(topology)
}

/// A machine like a preset, with an older driver.
fn with_driver(preset: &str, major: i32, minor: i32) -> TestResult<Topology> {
    let mut topology = Topology::preset(preset)?;
    topology.driver_version = major * 1000 + minor * 10;
    Ok(topology)
}

/// The body on a machine with an older driver.
fn on_driver(major: i32, minor: i32, body: impl FnOnce(&Driver) -> TestResult) -> TestResult {
    let (_machine, driver) = open(with_driver("h200", major, minor)?, Mode::Threads)?;
    body(&driver)
}

/// Runs `work` with the context current, so that nothing but its own calls and one question for the current
/// context is left to count at each.
fn costs<R>(context: &Context, calls: &[(Function, u64)], work: impl FnOnce() -> Result<R>) -> Result<R> {
    let questions: u64 = calls.iter().map(|(_, count)| *count).sum();
    costs_asking(context, questions, calls, work)
}

/// The same, with so many questions for the current context.
fn costs_asking<R>(
    context: &Context,
    questions: u64,
    calls: &[(Function, u64)],
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let allowed = [calls, &[(Function::cuCtxGetCurrent, questions)]].concat();
    context.scope(|| budget(context.driver(), &allowed, work))?
}

/// The code that the driver returned.
fn code<R>(result: Result<R>) -> Option<CUresult> {
    result.err().and_then(|error| error.code())
}
