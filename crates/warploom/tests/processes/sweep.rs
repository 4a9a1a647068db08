//! Exports and imports with each of their driver calls failing.

use warploom::ipc::{EventDescriptor, IpcEvent};
use warploom::{DevicePool, Driver, PoolOptions, Result, VirtualMemory, VirtualOptions};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::events::sweep_panics;
use warploom_testkit::process::Child;
use warploom_testkit::sweep::{Failing, Sweep};
use warploom_testkit::{MACHINE, TestResult};

use crate::support::{import, receive_descriptor, receive_handle};

/// Sweeps a scenario, also with calls that fail after their effect. Putting back the current context is done
/// in a `drop`, which can tell nobody; `more` names what else is. Then with subscribers that panic at the event
/// of each call.
///
/// A driver keeps an imported pool while its memory is mapped: so a pool is left where memory is that was
/// mapped by a call that failed, or could not be freed.
fn everywhere(more: &[&str], scenario: impl Fn(&Driver) -> Result<()>) -> TestResult {
    let maps = [("cuMemFreeAsync", Failing::Once), ("cuMemPoolImportPointer", Failing::AfterEffect)];
    for mode in [Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset(MACHINE)?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        let mut report = sweep.try_run(|_: &Machine, driver: &Driver| scenario(driver))?;
        report.failures.retain(|failure| {
            !maps.contains(&(failure.function.as_str(), failure.failing))
                || failure.problem.to_string() != "left over: 1 memory pool"
        });
        assert!(report.failures.is_empty(), "{report}");
    }
    sweep_panics(&Topology::preset(MACHINE)?, Mode::Deterministic(Order::Lazy), |_, driver| scenario(driver));
    Ok(())
}

#[test]
fn exports_leave_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
        let buffer = pool.zeroed::<u32>(100, &stream)?;
        pool.export()?;
        buffer.descriptor()?;
        let memory = VirtualMemory::with(&context, VirtualOptions::new().shareable())?;
        memory.export(&memory.allocate::<u8>(10)?)?;
        stream.record_ipc()?.synchronize()
    })
}

#[test]
fn imports_leave_nothing_behind() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "export")?;
    let handle = receive_handle(child.channel())?;
    let descriptor = receive_descriptor(child.channel())?;
    // Where an event cannot order the free of the last import after the others, the host waits.
    let waits = ["cuCtxGetCurrent", "cuCtxSynchronize", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"];
    everywhere(&waits, |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::import(&context, handle.try_clone()?)?;
        let (one, two) = (import(&pool, &descriptor, &stream)?, import(&pool, &descriptor, &other)?);
        let mut values = vec![0; one.len()];
        one.copy_to_host(&mut values, &stream)?;
        drop(two);
        one.close()
    })
}

#[test]
fn imports_of_memory_leave_nothing_behind() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "export_memory")?;
    let (bytes, files) = child.channel().receive()?;
    everywhere(&[], |driver| {
        let memory = VirtualMemory::new(&driver.device(0)?.context()?)?;
        let file = files[0].try_clone().expect("file descriptors are left");
        let handle = warploom::ipc::MemoryHandle::from_parts(file, &bytes)?;
        // SAFETY: the child writes nothing any more.
        unsafe { memory.import::<u32>(handle) }?.close()
    })
}

#[test]
fn imports_of_events_leave_nothing_behind() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "record_event")?;
    let descriptor = EventDescriptor::from_bytes(&child.channel().receive()?.0)?;
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        // SAFETY: the child keeps it until the end of the test.
        let event = unsafe { IpcEvent::import(&context, &descriptor) }?;
        let stream = context.stream()?;
        stream.wait_ipc(&event)?;
        stream.synchronize()
    })
}
