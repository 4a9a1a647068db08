//! Managed memory: who owns it, and what the host may do with it.
//!
//! `S1.n` are its requirements, one test for each at least.

mod buffers;
mod host;

use warploom::{Context, Devices, Driver, ManagedMemory, Stream};
use warploom_sim::topology::{Topology, number};
use warploom_testkit::TestResult;

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
