//! Managed memory with each of its driver calls failing: nothing is left over, and nothing is swallowed.

use warploom::{
    Driver, Host, LiveSet, Location, ManagedBuffer, ManagedMemory, ManagedPool, Result, Stream, discard_batch,
    discard_prefetch_batch, prefetch_batch,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::sweep::Sweep;

use super::with_driver;

type Operation = (&'static str, fn(&mut ManagedBuffer, &Stream) -> Result<()>);

/// Every operation there is, on memory that is mapped to the host.
const OPERATIONS: &[Operation] = &[
    ("host", |buffer, _| buffer.host().map(drop)),
    ("host_mut", |buffer, _| buffer.host_mut().map(drop)),
    ("read_mostly", |buffer, _| {
        buffer.set_read_mostly(true)?;
        buffer.read_mostly().map(drop)
    }),
    ("preferred_location", |buffer, _| {
        buffer.set_preferred_location(Host::Any)?;
        buffer.preferred_location()?;
        buffer.set_preferred_location(None)
    }),
    ("prefetch", |buffer, stream| {
        buffer.prefetch(Host::Any, stream)?;
        buffer.last_prefetch_location().map(drop)
    }),
    ("prefetch on another stream", |buffer, stream| {
        buffer.prefetch(Host::Any, &stream.context().legacy_stream())?;
        stream.synchronize()
    }),
    ("prefetch_batch", |buffer, stream| {
        let duplicate = buffer.duplicate(stream)?;
        prefetch_batch([&*buffer, &duplicate], Host::Any, stream)
    }),
    ("accessed_by reads", |buffer, _| {
        buffer.accessed_by().contains(Host::Any)?;
        buffer.accessed_by().len().map(drop)
    }),
    ("accessed_by assign", |buffer, stream| buffer.accessed_by().assign(stream.device().driver().devices()?)),
    ("accessed_by toggle", |buffer, stream| {
        buffer.accessed_by().toggle([Location::from(stream.device()), Host::Any.into()])
    }),
    ("accessed_by retain", |buffer, _| buffer.accessed_by().retain(|_| false)),
];

/// Those that drivers have since 13.0.
const NEWER: &[Operation] = &[
    ("discard", |buffer, stream| buffer.discard(stream)),
    ("discard_prefetch", |buffer, stream| buffer.discard_prefetch(Host::Any, stream)),
    ("discard_batch", |buffer, stream| {
        let mut duplicate = buffer.duplicate(stream)?;
        discard_batch([buffer, &mut duplicate], stream)
    }),
    ("discard_prefetch_batch", |buffer, stream| {
        let mut duplicate = buffer.duplicate(stream)?;
        discard_prefetch_batch([buffer, &mut duplicate], [Host::Any, Host::NumaCurrent], stream)
    }),
    ("host after a discard", |buffer, stream| {
        buffer.discard(stream)?;
        buffer.fill(1, stream)?;
        buffer.host().map(drop)
    }),
];

fn sweep(topology: &Topology, mode: Mode, operations: &[Operation]) -> TestResult {
    for (name, operation) in operations {
        let mut sweep = Sweep::new(topology.clone()).mode(mode).after_effect(true);
        // What puts the current context back is in a `drop`; what takes advice back can only say that it did
        // not.
        for tolerated in ["cuCtxSetCurrent", "cuStreamSynchronize"] {
            sweep = sweep.tolerates(Calls::named(tolerated)?);
        }
        let report = sweep.try_run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let mut buffer = ManagedMemory::new(&context)?.zeroed(4096, &stream)?;
            buffer.accessed_by().insert(Host::Any)?;
            operation(&mut buffer, &stream)
        })?;
        assert!(report.failures.is_empty(), "{name}: {:#?}", report.failures);
    }
    Ok(())
}

#[test]
fn every_operation_survives_every_failure() -> TestResult {
    let topology = Topology::preset("h200")?;
    let lazy = Mode::Deterministic(Order::Lazy);
    sweep(&topology, lazy, OPERATIONS)?;
    sweep(&topology, lazy, NEWER)
}

#[test]
fn every_operation_survives_every_failure_on_older_drivers() -> TestResult {
    sweep(&with_driver("h200", 12, 1)?, Mode::Sync, OPERATIONS)
}

#[test]
fn memory_of_a_pool_survives_every_failure() -> TestResult {
    let sweep = Sweep::new(Topology::preset("h200")?).after_effect(true);
    // A `drop` lets the memory be freed after its last use on another stream.
    let parting = [
        "cuCtxSetCurrent",
        "cuEventCreate",
        "cuEventRecord",
        "cuStreamWaitEvent",
        "cuStreamSynchronize",
        "cuCtxGetCurrent",
    ];
    let sweep =
        parting.into_iter().try_fold(sweep, |sweep, name| Calls::named(name).map(|calls| sweep.tolerates(calls)))?;
    sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let mut buffer = ManagedPool::new(&context)?.zeroed::<u8>(4096, &stream)?;
        other.wait_for(&stream)?;
        buffer.prefetch(Host::Any, &other)?;
        stream.wait_for(&other)?;
        buffer.discard_prefetch(driver.device(0)?, &stream)
    });
    Ok(())
}
