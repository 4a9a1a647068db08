//! Streams: made, default and foreign; order within and between them.

use std::hash::{BuildHasher as _, RandomState};
use std::ptr::null_mut;
use std::sync::Arc;

use warploom::sys::types::{CUcontext, CUresult, CUstream};
use warploom::{
    CaptureStatus, Context, ContextError, DeviceError, DevicePool, Driver, Error, Function, Priority, PriorityRange,
    Result, Stream, StreamError, StreamOptions,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::{Mode, Order, topology::Topology};
use warploom_testkit::{TestResult, budget, call, driver_tests, open};

#[test]
fn handles_may_cross_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<warploom::Device>();
    send_and_sync::<warploom::Context>();
    send_and_sync::<warploom::Stream>();
    send_and_sync::<warploom::Event>();
    send_and_sync::<warploom::Event<warploom::Timed>>();
    send_and_sync::<warploom::DevicePool>();
    send_and_sync::<warploom::Buffer>();
}

fn current(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxGetCurrent(&mut context))?;
    Ok(context)
}

/// Takes over a foreign stream.
#[expect(unsafe_code, reason = "takes over a raw stream")]
fn foreign(context: &Context, raw: CUstream, owner: impl Send + Sync + 'static) -> Result<Stream> {
    // SAFETY: tests give streams that their owner, or the test itself, keeps.
    unsafe { Stream::from_raw(context, raw, owner) }
}

/// Borrows a foreign stream.
#[expect(unsafe_code, reason = "takes over a raw stream")]
fn borrowed(context: &Context, raw: CUstream) -> Result<Stream> {
    // SAFETY: tests give streams that they keep.
    unsafe { Stream::borrow_raw(context, raw) }
}

driver_tests! {
    fn a_new_stream_is_idle(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        assert!(stream.is_idle()?);
        stream.synchronize()?;
    }

    fn a_clone_is_the_same_stream(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        assert_eq!(stream, stream.clone());
        assert_ne!(stream, context.stream()?);
        let hasher = RandomState::new();
        assert_eq!(hasher.hash_one(&stream), hasher.hash_one(stream.clone()));
        assert_ne!(hasher.hash_one(&stream), hasher.hash_one(context.stream()?));
    }

    fn a_stream_is_non_blocking_and_least_urgent_unless_told_otherwise(driver) {
        let context = driver.device(0)?.context()?;
        let range = context.priority_range()?;
        let plain = context.stream()?;
        assert!(plain.is_non_blocking()?);
        assert_eq!(plain.priority()?, Priority::from(range.least));
        let other = context.stream_with(StreamOptions::new().blocking().priority(range.greatest))?;
        assert!(!other.is_non_blocking()?);
        assert_eq!(other.priority()?.level(), range.greatest);
        assert_ne!(plain.id()?, other.id()?);
        assert_eq!(plain.context(), &context);
        assert_eq!(plain.device(), context.device());
        assert_eq!(plain.capture_status()?, CaptureStatus::None);
    }

    fn a_priority_out_of_range_is_refused_before_a_stream_is_made(driver) {
        let context = driver.device(0)?.context()?;
        let range @ PriorityRange { least, greatest } = context.priority_range()?;
        for priority in [least + 1, greatest - 1, i32::MAX, i32::MIN] {
            let options = StreamOptions::new().priority(priority);
            let refused = budget(driver, &[], || context.stream_with(options)).expect_err("it is out of range");
            assert_eq!(refused, Error::Stream(StreamError::PriorityOutOfRange { priority, range }));
            assert!(refused.to_string().contains(&priority.to_string()), "{refused}");
        }
    }

    fn known_facts_about_a_stream_are_not_asked_again(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        budget(driver, &[], || stream.is_non_blocking())?;
        budget(driver, &[(Function::cuStreamGetPriority, 1)], || stream.priority().and(stream.priority()))?;
        budget(driver, &[(Function::cuStreamGetId, 1)], || stream.id().and(stream.id()))?;
        let context = driver.device(0)?.context()?;
        context.stream_with(StreamOptions::new().priority(0))?;
        let calls = driver.count_calls();
        context.stream_with(StreamOptions::new().priority(0))?;
        assert_eq!(calls.count(Function::cuCtxGetStreamPriorityRange), 0);
    }

    /// Parity STR-6: flags are 0, and one call is all there is.
    fn waiting_and_asking_are_one_driver_call_each(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let mut event = stream.record()?;
        budget(driver, &[(Function::cuStreamWaitEvent, 1)], || stream.wait(&event))?;
        budget(driver, &[(Function::cuStreamSynchronize, 1)], || stream.synchronize())?;
        budget(driver, &[(Function::cuStreamQuery, 1)], || stream.is_idle())?;
        budget(driver, &[(Function::cuEventQuery, 1)], || event.is_complete())?;
        budget(driver, &[(Function::cuEventRecord, 1)], || stream.record_into(&mut event))?;
    }

    fn waiting_for_a_stream_is_a_record_and_a_wait(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        second.wait_for(&first)?;
        let calls = [(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)];
        budget(driver, &calls, || second.wait_for(&first))?;
        budget(driver, &[], || first.wait_for(&first.clone()))?;
    }

    fn a_stream_waits_for_everything_another_has(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let (mut from, mut to) = (pool.zeroed(1 << 20, &first)?, pool.zeroed(1 << 20, &first)?);
        from.fill(7, &first)?;
        second.wait_for(&first)?;
        from.copy_to(&mut to, &second)?;
        assert!(to.download(&second)?.iter().all(|byte| *byte == 7));
    }

    fn a_thread_without_a_current_context_can_use_a_stream(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        std::thread::scope(|scope| {
            scope.spawn(|| stream.record()?.synchronize()).join().expect("the thread does not panic")
        })?;
    }

    fn closing_the_last_handle_destroys_the_stream(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let other = stream.clone();
        budget(driver, &[], || stream.close())?;
        other.synchronize()?;
        let context = other.context().clone();
        budget(driver, &[(Function::cuStreamDestroy_v2, 1)], || other.close())?;
        drop(context);
    }

    /// S4.2: default streams are named, and bound to a context; no other is current before or after.
    fn default_streams_work_under_any_current_context(driver) {
        let context = driver.device(0)?.context()?;
        let pool = DevicePool::new(&context)?;
        for stream in [context.legacy_stream(), context.per_thread_stream()] {
            assert!(!stream.is_non_blocking()?);
            assert_eq!((stream.context(), stream.capture_status()?), (&context, CaptureStatus::None));
            stream.id()?;
            stream.priority()?;
            let mut buffer = pool.zeroed::<u8>(64, &stream)?;
            buffer.fill(3, &stream)?;
            let copy = pool.upload(&[1; 64], &stream)?;
            copy.copy_to(&mut buffer, &stream)?;
            assert_eq!(buffer.download(&stream)?, [1; 64]);
            stream.record()?.synchronize()?;
            stream.wait(&context.stream()?.record()?)?;
            drop((copy, buffer));
            stream.synchronize()?;
            assert!(stream.is_idle()?);
            assert_eq!(pool.statistics()?.used, 0);
            assert!(current(driver)?.is_null());
        }
        budget(driver, &[], || context.legacy_stream().close())?;
    }

    /// S4.2: the same default stream of a context is equal however it was come by.
    fn default_streams_are_told_apart_by_context_and_thread(driver) {
        let context = driver.device(0)?.context()?;
        assert_eq!(context.legacy_stream(), context.legacy_stream());
        assert_eq!(context.per_thread_stream(), context.per_thread_stream());
        assert_ne!(context.legacy_stream(), context.per_thread_stream());
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| context.per_thread_stream()).join());
        assert_ne!(context.per_thread_stream(), elsewhere.expect("it does not panic"));
        let raw = |address| foreign(&context, std::ptr::without_provenance_mut(address), ());
        assert_eq!(raw(0)?, context.legacy_stream());
        assert_eq!(raw(1)?, context.legacy_stream());
        assert_eq!(raw(2)?, context.per_thread_stream());
    }

    /// S4.17: a per-thread default stream belongs to its thread.
    fn the_per_thread_stream_of_another_thread_is_refused(driver) {
        let context = driver.device(0)?.context()?;
        let (here, made) = (context.per_thread_stream(), context.stream()?);
        let mut point = made.record()?;
        let refused = std::thread::scope(|scope| {
            let ask = || {
                budget(driver, &[], || {
                    [
                        here.synchronize(),
                        here.is_idle().map(drop),
                        here.record().map(drop),
                        here.record_into(&mut point),
                        here.wait(&point),
                        here.wait_for(&made),
                        made.wait_for(&here),
                        here.with_raw(|_| ()),
                        here.id().map(drop),
                    ]
                })
            };
            scope.spawn(ask).join().expect("the thread does not panic")
        });
        assert!(refused.iter().all(|result| *result == Err(Error::Stream(StreamError::OtherThread))), "{refused:?}");
    }

    /// S4.17: what ends on another thread ends on the legacy default stream of the same context, after
    /// everything.
    fn teardown_on_another_thread_is_on_the_legacy_stream(driver) {
        let context = driver.device(0)?.context()?;
        let (here, made, legacy) = (context.per_thread_stream(), context.stream()?, context.legacy_stream());
        assert_eq!([&*here.for_teardown(), &*made.for_teardown(), &*legacy.for_teardown()], [&here, &made, &legacy]);
        let pool = DevicePool::new(&context)?;
        let mut buffer = pool.zeroed::<u8>(64, &here)?;
        buffer.fill(1, &here)?;
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| {
                assert_eq!([&*here.for_teardown(), &*made.for_teardown()], [&legacy, &made]);
                drop(buffer);
                legacy.synchronize()
            });
            elsewhere.join().expect("the thread does not panic")
        })?;
        assert_eq!(pool.statistics()?.used, 0);
        // The other way round: used by a stream of a thread, freed on a stream that was made.
        let mut buffer = pool.zeroed::<u8>(64, &made)?;
        buffer.fill(2, &here)?;
        std::thread::scope(|scope| scope.spawn(|| drop(buffer)).join().expect("the thread does not panic"));
        made.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
    }

    /// Parity STR-10: the owner lives as long as the last handle; the stream is not destroyed.
    fn a_foreign_stream_keeps_its_owner_and_is_not_destroyed(driver) {
        let context = driver.device(0)?.context()?;
        let made = context.stream()?;
        let owner = Arc::new(());
        let stream = foreign(&context, made.as_raw(), Arc::clone(&owner))?;
        assert_eq!(stream, made);
        assert_eq!((stream.is_non_blocking()?, stream.id()?), (true, made.id()?));
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
        buffer.fill(1, &stream)?;
        drop(stream);
        assert_eq!(Arc::strong_count(&owner), 2, "the buffer is freed on the stream");
        drop(buffer);
        assert_eq!(Arc::strong_count(&owner), 1);
        budget(driver, &[(Function::cuStreamGetCtx, 1)], || borrowed(&context, made.as_raw())?.close())?;
        made.synchronize()?;
    }

    /// S4.12: what is recorded keeps the stream and its context alive.
    fn a_recorded_stream_may_be_dropped_before_the_buffer(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let mut buffer = DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?;
        drop((context, stream));
        let other = buffer.context().stream()?;
        buffer.fill(1, &other)?;
        assert_eq!(buffer.download(&other)?, [1; 64]);
    }
}

#[test]
fn a_stream_waits_for_an_event_and_a_stream_of_another_device() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let stream = |ordinal| driver.device(ordinal)?.context()?.stream();
    let (first, second) = (stream(0)?, stream(1)?);
    let point = first.record()?;
    second.wait(&point)?;
    second.wait_for(&first)?;
    second.synchronize()?;
    assert!(point.is_complete()?);
    Ok(())
}

#[test]
fn default_streams_of_two_devices_are_two_streams() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    assert_ne!(here.legacy_stream(), there.legacy_stream());
    call!(driver.cuCtxSetCurrent(there.as_raw()))?;
    // Current is the other device, and the work is on this one all the same.
    let pool = DevicePool::new(&here)?;
    let mut buffer = pool.zeroed::<u8>(64, &here.legacy_stream())?;
    buffer.fill(5, &here.legacy_stream())?;
    assert!(there.legacy_stream().is_idle()?);
    assert!(!here.legacy_stream().is_idle()? || buffer.download(&here.legacy_stream())? == [5; 64]);
    drop(buffer);
    here.legacy_stream().synchronize()?;
    assert_eq!(pool.statistics()?.used, 0);
    assert_eq!(current(&driver)?, there.as_raw());
    warploom_testkit::assert_sound(&machine);
    Ok(())
}

#[test]
fn a_stream_of_another_context_cannot_be_taken_over() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    let stream = there.stream()?;
    assert_eq!(
        foreign(&here, stream.as_raw(), ()).unwrap_err(),
        Error::Stream(StreamError::ForeignContext { device: 0 })
    );
    Ok(())
}

#[test]
fn events_and_streams_of_another_driver_are_refused_before_a_call() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stream = one.device(0)?.context()?.stream()?;
    let stranger = other.device(0)?.context()?.stream()?;
    let mut point = stranger.record()?;
    let refused =
        budget(&one, &[], || [stream.wait(&point), stream.wait_for(&stranger), stream.record_into(&mut point)]);
    assert!(
        refused.iter().all(|result| matches!(result, Err(Error::Device(DeviceError::DriverMismatch { .. })))),
        "{refused:?}"
    );
    Ok(())
}

/// S3.28: what was made in a life of the primary context that has ended is refused before the driver sees it.
#[test]
fn streams_and_events_of_an_old_life_are_refused_and_dropped_without_a_call() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (stream, legacy) = (context.stream()?, context.legacy_stream());
    let (mut event, timed) = (stream.record()?, stream.record_timed()?);
    drop(stream.record()?); // one that the context keeps
    call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
    assert!(context.check().is_err());
    let next = driver.device(0)?.context()?;
    let fresh = next.stream()?;
    let refused = budget(&driver, &[], || {
        [
            stream.synchronize(),
            stream.is_idle().map(drop),
            stream.record().map(drop),
            stream.record_into(&mut event),
            stream.wait(&event),
            legacy.synchronize(),
            fresh.wait(&event),
            fresh.wait_for(&stream),
            event.synchronize(),
            event.is_complete().map(drop),
            timed.elapsed(&timed).map(drop),
            context.stream().map(drop),
        ]
    });
    assert!(
        refused.iter().all(|result| matches!(result, Err(Error::Context(ContextError::Stale { .. })))),
        "{refused:?}"
    );
    budget(&driver, &[(Function::cuDevicePrimaryCtxRelease_v2, 1)], || drop((event, timed, stream, legacy, context)));
    fresh.synchronize()?;
    Ok(())
}

#[test]
fn closing_reports_that_the_driver_could_not_destroy_it() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stream = driver.device(0)?.context()?.stream()?;
    let rule = Rule::on(Calls::named("cuStreamDestroy_v2")?).fail_after(CUresult::CUDA_ERROR_UNKNOWN);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    assert_eq!(stream.close().unwrap_err().code(), Some(CUresult::CUDA_ERROR_UNKNOWN));
    Ok(())
}
