//! The safe core with each of its driver calls failing.

mod gate;

use std::pin::Pin;
use std::task::{Context as Task, Poll, Waker};

use gate::Gate;
use warploom::{
    CachePreference, Context, ContextOptions, DeviceAttribute, DevicePool, Driver, EventOptions, Limit, PinnedMemory,
    Result, Stream, StreamOptions,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::events::sweep_panics;
use warploom_testkit::sweep::Sweep;

/// Sweeps a scenario in several modes, also with calls that fail after their effect. Putting back the current
/// context is done in a `drop`, which can tell nobody; `more` names what else is. Then with subscribers that
/// panic at the event of each call.
fn everywhere(preset: &str, more: &[&str], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset(preset)?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| scenario(driver));
    }
    sweep_panics(&Topology::preset(preset)?, Mode::Deterministic(Order::Eager), |_, driver| scenario(driver));
    Ok(())
}

#[test]
fn devices_report_failed_queries() -> TestResult {
    everywhere("pcie-pair", &[], |driver| {
        for device in driver.devices()? {
            device.name()?;
            device.uuid()?;
            driver.device_at(device.pci_address()?)?;
            device.total_memory()?;
            device.compute_capability()?;
            device.attribute(DeviceAttribute::WarpSize)?;
        }
        driver.device(0)?.can_access(&driver.device(1)?)?;
        Ok(())
    })
}

#[test]
fn properties_report_failed_queries() -> TestResult {
    // Not with calls that fail after their effect: attributes that the driver does not know fail by
    // themselves.
    Sweep::new(Topology::preset("h200")?).run(|_, driver: &Driver| driver.device(0)?.properties().map(drop));
    Ok(())
}

#[test]
fn contexts_leave_nothing_behind_and_nothing_current() -> TestResult {
    everywhere("pcie-pair", &[], |driver| {
        let context = driver.device(1)?.context()?;
        context.check()?;
        context.options()?;
        context.memory_info()?;
        context.priority_range()?;
        context.set_limit(Limit::StackSize, 2048)?;
        context.limit(Limit::StackSize)?;
        context.set_cache_preference(CachePreference::L1)?;
        context.cache_preference()?;
        context.reset_persisting_l2_cache()?;
        context.scope(|| driver.current_context())??;
        context.scope(|| driver.current_device())??;
        context.close()
    })
}

#[test]
fn created_contexts_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let device = driver.device(0)?;
        device.set_primary_options(device.primary_options()?)?;
        let context = device.create_context(ContextOptions::new())?;
        context.stream()?.synchronize()?;
        context.scope(|| driver.current_context())??;
        context.close()
    })
}

#[test]
fn foreign_contexts_are_left_to_their_owner() -> TestResult {
    everywhere("h200", &[], |driver| {
        let owner = driver.device(0)?.create_context(ContextOptions::new())?;
        #[expect(unsafe_code, reason = "the owner is what keeps the context alive")]
        // SAFETY: as said.
        let context = unsafe { Context::from_raw(driver, owner.as_raw(), owner.clone()) }?;
        context.stream()?.synchronize()?;
        Ok(())
    })
}

#[test]
fn contexts_and_streams_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        context.synchronize()?;
        first.synchronize()?;
        second.is_idle()?;
        let urgent = context.stream_with(StreamOptions::new().blocking().priority(-1))?;
        urgent.priority()?;
        urgent.id()?;
        urgent.capture_status()?;
        urgent.close()
    })
}

#[test]
fn default_and_foreign_streams_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        let made = context.stream()?;
        for stream in [context.legacy_stream(), context.per_thread_stream(), foreign(&made)?] {
            stream.is_non_blocking()?;
            stream.priority()?;
            stream.id()?;
            stream.wait_for(&made)?;
            made.wait(&stream.record()?)?;
            stream.synchronize()?;
            stream.is_idle()?;
        }
        Ok(())
    })
}

#[expect(unsafe_code, reason = "takes over a raw stream")]
fn foreign(made: &Stream) -> Result<Stream> {
    // SAFETY: it is a stream, and its owner goes with the new one.
    unsafe { Stream::from_raw(made.context(), made.as_raw(), made.clone()) }
}

#[test]
fn events_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        let (start, end) = (first.record_timed()?, first.record_timed()?);
        second.wait(&end)?;
        second.wait_for(&first)?;
        first.record_into(&mut first.record_with(EventOptions::untimed().blocking_sync())?)?;
        end.synchronize()?;
        end.is_complete()?;
        end.elapsed_ms(&start)?;
        end.elapsed(&start)?;
        Ok(())
    })
}

#[test]
fn host_functions_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        for stream in [context.stream()?, context.legacy_stream()] {
            let task = stream.host(|| 7)?;
            stream.synchronize()?;
            task.is_finished()?;
            assert_eq!(task.wait()?, 7);
        }
        Ok(())
    })
}

#[test]
fn completions_leave_nothing_behind() -> TestResult {
    everywhere("h200", GATE, |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let gate = Gate::close(&stream)?;
        let (mut completion, mut task) = (stream.completion(), Task::from_waker(Waker::noop()));
        match Pin::new(&mut completion).poll(&mut task) {
            Poll::Ready(result) => result?,
            Poll::Pending => drop(gate),
        }
        match Pin::new(&mut completion).poll(&mut task) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("the gate has waited for everything"),
        }
    })
}

/// Not behind a gate, nor on threads: what goes wrong before a gate is opened drops memory, which waits for
/// it.
#[test]
fn copies_that_are_awaited_leave_nothing_behind() -> TestResult {
    for order in [Order::Eager, Order::Lazy] {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(Mode::Deterministic(order)).after_effect(true);
        // The last is asked in a drop, too: whether a context is gone, and callbacks with it.
        for name in ["cuCtxSetCurrent", "cuEventQuery", "cuDevicePrimaryCtxGetState"].iter().chain(PARTING) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| -> Result<()> {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            let device = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
            let pending = device.as_slice().copy_to_pinned(PinnedMemory::new(&context).buffer(64)?, &stream)?;
            let (mut returned, mut task) = (pending.into_future(), Task::from_waker(Waker::noop()));
            if let Poll::Ready(result) = Pin::new(&mut returned).poll(&mut task) {
                return result.map(drop);
            }
            stream.synchronize()?;
            match Pin::new(&mut returned).poll(&mut task) {
                Poll::Ready(result) => result.map(drop),
                Poll::Pending => panic!("everything was waited for"),
            }
        });
    }
    Ok(())
}

/// Calls that a gate makes in its `drop`; and a query that returns "not ready" cannot fail after its effect.
const GATE: &[&str] = &["cuCtxGetCurrent", "cuCtxSynchronize", "cuEventQuery"];

#[test]
fn pools_and_buffers_leave_nothing_behind() -> TestResult {
    everywhere("h200", &[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let sent = pool.upload(b"there and back", &stream)?;
        let mut copy = pool.zeroed::<u8>(sent.len(), &stream)?;
        sent.copy_to(&mut copy, &stream)?;
        copy.fill(7, &stream)?;
        copy.copy_from_host(b"back and there", &stream)?;
        copy.download(&stream)?;
        pool.statistics()?;
        drop(copy);
        pool.trim(0)?;
        Ok(())
    })
}

/// Calls that a buffer makes in its `drop` to be freed after its last use, on any stream, and that a pool
/// makes in its own to revoke peer access.
const PARTING: &[&str] = &[
    "cuCtxGetCurrent",
    "cuEventCreate",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
    "cuMemPoolGetAccess",
];

#[test]
fn buffers_on_several_streams_leave_nothing_behind() -> TestResult {
    everywhere("h200", PARTING, |driver| {
        let context = driver.device(0)?.context()?;
        let (first, second, third) = (context.stream()?, context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let mut buffer = pool.allocate::<u8>(64, &first)?;
        buffer.fill(1, &second)?;
        third.wait(&second.record()?)?;
        buffer.fill(2, &third)?;
        Ok(())
    })
}

#[test]
fn copies_between_devices_leave_nothing_behind() -> TestResult {
    everywhere("pcie-pair", PARTING, |driver| {
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let (stream, other) = (here.stream()?, there.stream()?);
        let from = DevicePool::new(&here)?.upload(b"across", &stream)?;
        let mut to = DevicePool::new(&there)?.allocate(6, &other)?;
        from.copy_to(&mut to, &stream)?;
        other.wait(&stream.record()?)?;
        to.download(&other)?;
        Ok(())
    })
}
