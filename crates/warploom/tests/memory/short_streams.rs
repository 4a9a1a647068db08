//! Streams whose last handle goes before the memory that they used: destroyed, and still waited for.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use warploom::graph::reclaim;
use warploom::sys::types::CUresult;
use warploom::{
    Comparison, DeviceMemory, DevicePool, Driver, Function, ManagedMemory, Mesh, OrderedResource, StreamWord, Topology,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology as Machines;
use warploom_sim::{Machine, Mode, Order, Resource};
use warploom_testkit::{TestResult, assert_sound, driver_tests, open};

use crate::gate::Gate;
use crate::spy::Spy;

/// The longest that a call may take which waits for nothing.
const SOON: Duration = Duration::from_secs(20);

driver_tests! {
    /// S4.12: the memory holds its home stream, and a stream that merely used it is destroyed with its last
    /// handle. Work that it still has is waited for.
    fn work_of_a_stream_that_is_gone_comes_before_the_free(driver) {
        let context = driver.device(0)?.context()?;
        let (home, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let mut buffer = pool.zeroed::<u8>(1 << 10, &home)?;
        let gate = Gate::close(&other)?;
        buffer.fill(7, &other)?;
        let counter = driver.count_calls();
        drop(other);
        assert_eq!(counter.count(Function::cuStreamDestroy_v2), 1);
        drop(buffer);
        assert!(!home.is_idle()?, "the free waits for the fill");
        gate.open();
        home.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
    }

    /// The same for memory without a home: the host waits for the work that is left.
    fn work_of_a_stream_that_is_gone_is_waited_for_by_the_host(driver) {
        let context = driver.device(0)?.context()?;
        let other = context.stream()?;
        let mut buffer = ManagedMemory::new(&context)?.allocate::<u8>(64)?;
        let gate = Gate::close(&other)?;
        buffer.fill(7, &other)?;
        drop(other);
        gate.open();
        assert_eq!(buffer.host_mut()?[..], [7; 64]);
    }

    /// S3.17, S3.18: copies that order themselves wait for the work that a stream left behind.
    fn work_of_a_stream_that_is_gone_comes_before_a_conflicting_copy(driver) {
        let context = driver.device(0)?.context()?;
        let (home, other, third) = (context.stream()?, context.stream()?, context.stream()?);
        let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?;
        let pool = DevicePool::new(&context)?;
        let (mut source, mut copy) = (pool.zeroed::<u8>(64, &home)?, pool.zeroed::<u8>(64, &home)?);
        let gate = Gate::close(&other)?;
        source.fill(7, &other)?;
        drop(other);
        mesh.copy(&source, &mut copy, &third)?;
        assert!(!third.is_idle()?);
        gate.open();
        assert_eq!(copy.download(&third)?, [7; 64]);
    }

    /// A word is used for another only after the streams that are gone.
    fn a_word_outlives_the_work_of_a_stream_that_is_gone(driver) {
        let context = driver.device(0)?.context()?;
        let (held, other) = (StreamWord::<u32>::new(&context, 0)?, context.stream()?);
        let gate = Gate::close(&other)?;
        held.write(7, &other)?;
        let address = held.as_raw();
        drop(other);
        drop(held);
        let next: Vec<_> = (0..64).map(|_| StreamWord::<u32>::new(&context, 1)).collect::<Result<_, _>>()?;
        assert!(next.iter().all(|word| word.as_raw() != address));
        gate.open();
        context.synchronize()?;
        assert!(next.iter().all(|word| word.load() == 1));
    }

    /// S4.21, S4.19: a resource of the program gets the recorded stream, whoever has used the memory since.
    fn a_resource_gets_the_recorded_stream_after_one_that_is_gone(driver) {
        let context = driver.device(0)?.context()?;
        let (home, other) = (context.stream()?, context.stream()?);
        let spy = Spy::on(&DevicePool::new(&context)?);
        let mut buffer = spy.allocate::<u8>(64, &home)?;
        buffer.fill(1, &other)?;
        drop(other);
        drop(buffer);
        let freed: Vec<_> = spy.freed().into_iter().map(|(_, stream)| stream).collect();
        assert_eq!(freed, std::slice::from_ref(&home));
    }

    /// A stream of other code is let go with its last handle.
    fn the_owner_of_a_foreign_stream_is_dropped_with_the_last_handle(driver) {
        let context = driver.device(0)?.context()?;
        let (home, theirs) = (context.stream()?, Arc::new(context.stream()?));
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &home)?;
        #[expect(unsafe_code, reason = "takes a raw stream")]
        // SAFETY: the owner keeps the stream.
        let stream = unsafe { warploom::Stream::from_raw(&context, theirs.as_raw(), Arc::clone(&theirs)) }?;
        buffer.fill(1, &stream)?;
        assert_eq!(Arc::strong_count(&theirs), 2);
        drop(stream);
        assert_eq!(Arc::strong_count(&theirs), 1);
    }

    /// A stream that a host function drops is ended where CUDA can be called.
    fn a_stream_that_a_host_function_drops_is_waited_for(driver) {
        let context = driver.device(0)?.context()?;
        let (home, other, third) = (context.stream()?, context.stream()?, context.stream()?);
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &home)?;
        let gate = Gate::close(&other)?;
        buffer.fill(7, &other)?;
        third.host(move || drop(other))?.wait()?;
        drop(buffer);
        assert!(!home.is_idle()?);
        gate.open();
        home.synchronize()?;
        reclaim();
    }
}

/// A stream stays where the driver gives no event for its work, and is waited for itself.
#[test]
fn a_stream_without_a_last_event_stays_until_it_is_waited_for() -> TestResult {
    let machine = Machine::preset("h200")?;
    let driver = Driver::open(&machine)?;
    let context = driver.device(0)?.context()?;
    let (home, other) = (context.stream()?, context.stream()?);
    let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &home)?;
    let word = StreamWord::<u32>::new(&context, 0)?;
    word.wait(Comparison::AtLeast(1), &other)?;
    buffer.fill(7, &other)?;
    let before = machine.census().live(Resource::Stream);
    let plan = Plan::new().rule(Rule::on(Calls::named("cuEventRecord")?).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    let faults = machine.inject(plan)?;
    drop(other);
    drop(faults);
    assert_eq!(machine.census().live(Resource::Stream), before);
    drop(buffer);
    assert!(!home.is_idle()?, "the free waits for the fill");
    word.store(1);
    home.synchronize()?;
    drop(word);
    assert_eq!(machine.census().live(Resource::Stream), before - 1);
    Ok(())
}

/// S4.17: the per-thread default stream of a thread that has ended is remembered as long as it has work.
#[test]
fn work_of_a_thread_that_has_ended_comes_before_the_free() -> TestResult {
    let driver = Driver::open(&Machine::preset("h200")?)?;
    let context = driver.device(0)?.context()?;
    let home = context.stream()?;
    let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &home)?;
    let word = StreamWord::<u32>::new(&context, 0)?;
    let fill = || {
        let stream = context.per_thread_stream();
        word.wait(Comparison::AtLeast(1), &stream)?;
        buffer.fill(7, &stream)
    };
    std::thread::scope(|scope| scope.spawn(fill).join()).map_err(|_| "the thread panicked")??;
    for _ in 0..6 {
        buffer.used_by(&context.stream()?)?; // each looks for users that are gone
    }
    drop(buffer);
    assert!(!home.is_idle()?, "the free waits for the fill");
    word.store(1);
    Ok(home.synchronize()?)
}

/// S4.17: the same where that stream is the home, and has nothing left to do.
#[test]
fn a_home_of_a_thread_that_has_ended_stays_the_home() -> TestResult {
    let driver = Driver::open(&Machine::preset("h200")?)?;
    let context = driver.device(0)?.context()?;
    let pool = DevicePool::new(&context)?;
    let make = || {
        let home = context.per_thread_stream();
        let made = pool.zeroed::<u8>(64, &home)?;
        home.synchronize().map(|()| made)
    };
    let mut buffer = std::thread::scope(|scope| scope.spawn(make).join()).map_err(|_| "the thread panicked")??;
    let other = context.stream()?;
    let gate = Gate::close(&other)?;
    buffer.fill(7, &other)?;
    for _ in 0..6 {
        buffer.used_by(&context.stream()?)?;
    }
    drop(buffer);
    assert!(!context.legacy_stream().is_idle()?, "the free waits for the fill");
    gate.open();
    Ok(context.legacy_stream().synchronize()?)
}

/// A driver call may run a host function at once, which uses the same memory.
#[test]
fn memory_meets_a_stream_while_a_host_function_uses_it() -> TestResult {
    let machine = Machine::builder().topology(Machines::preset("h200")?);
    let machine = machine.mode(Mode::Deterministic(Order::Eager)).start()?;
    let driver = Driver::open(&machine)?;
    let context = driver.device(0)?.context()?;
    let [held, other, home] = [context.stream()?, context.stream()?, context.stream()?];
    let buffer = Arc::new(DevicePool::new(&context)?.zeroed::<u8>(64, &home)?);
    let word = StreamWord::<u32>::new(&context, 0)?;
    word.wait(Comparison::AtLeast(1), &held)?;
    let same = Arc::clone(&buffer);
    let task = held.host(move || drop(same.downgrade()))?;
    word.store(1);
    let (done, returned) = mpsc::channel();
    // Not joined: if it waits for itself, the test must end all the same.
    std::thread::spawn(move || done.send(buffer.used_by(&other)));
    returned.recv_timeout(SOON)??;
    Ok(task.wait()?)
}

/// Threads that let go of streams while others wait for these.
#[test]
fn streams_go_while_others_wait_for_them() -> TestResult {
    let (machine, driver) = open(Machines::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?;
    let memory = DeviceMemory::new(&context);
    let source = memory.upload(&[7_u8; 64], &context.stream()?)?;
    let run = || {
        for _ in 0..200 {
            let stream = context.stream()?;
            let mut copy = memory.allocate::<u8>(64)?;
            mesh.copy(&source, &mut copy, &stream)?;
            source.used_by(&stream)?;
            let other = stream.clone();
            std::thread::scope(|scope| {
                scope.spawn(move || drop(other));
                drop(stream);
            });
        }
        Ok::<(), warploom::Error>(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    context.synchronize()?;
    assert!(machine.census().live(Resource::Stream) < 32, "{}", machine.census().live(Resource::Stream));
    drop((source, mesh, memory, context));
    assert_sound(&machine);
    Ok(())
}

/// Another thread has used the memory, waited and let the stream go: what it saw is known to all threads.
#[test]
fn a_stream_that_another_thread_found_idle_needs_no_wait() -> TestResult {
    let (machine, driver) = open(Machines::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (home, third) = (context.stream()?, context.stream()?);
    let pool = DevicePool::new(&context)?;
    let (mut buffer, mut copy) = (pool.zeroed::<u8>(64, &home)?, pool.zeroed::<u8>(64, &third)?);
    let (mesh, _) = Mesh::enable(&Topology::probe(&driver.devices()?)?, std::slice::from_ref(&context))?;
    for _ in 0..8 {
        let fill = || {
            let stream = context.stream()?;
            buffer.fill(7, &stream)?;
            stream.synchronize()
        };
        std::thread::scope(|scope| scope.spawn(fill).join()).map_err(|_| "the thread panicked")??;
        mesh.copy(&buffer, &mut copy, &third)?.synchronize()?;
    }
    drop((buffer, copy));
    context.synchronize()?;
    drop((home, third, pool, mesh, context));
    assert_sound(&machine);
    Ok(())
}
