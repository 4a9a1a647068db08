//! Events: recording, waiting, querying, elapsed time, and reuse.

use warploom::sys::types::CUresult;
use warploom::{DeviceError, DevicePool, Error, Event, EventError, EventOptions, Function, Timed};
use warploom_sim::{Mode, Order, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

driver_tests! {
    fn an_event_is_done_when_the_stream_is(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let event = stream.record()?;
        stream.synchronize()?;
        assert!(event.is_complete()?);
        event.synchronize()?;
    }

    fn a_stream_waits_for_the_event_of_another(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        let point = first.record()?;
        second.wait(&point)?;
        second.synchronize()?;
        assert!(point.is_complete()?);
    }

    fn an_event_has_its_context_and_flags(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let plain = stream.record()?;
        assert_eq!((plain.is_timed(), plain.is_blocking_sync(), plain.context()), (false, false, &context));
        let sleepy = stream.record_with(EventOptions::timed().blocking_sync())?;
        assert_eq!((sleepy.is_timed(), sleepy.is_blocking_sync(), sleepy.device()), (true, true, context.device()));
        sleepy.synchronize()?;
        assert!(stream.record_timed()?.is_timed());
    }

    fn time_goes_forward_and_is_negative_backwards(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let mut buffer = DevicePool::new(&context)?.zeroed(1 << 24, &stream)?;
        let start = stream.record_timed()?;
        buffer.fill(1, &stream)?;
        let end = stream.record_timed()?;
        end.synchronize()?;
        let milliseconds = end.elapsed_ms(&start)?;
        assert!(milliseconds > 0.0, "{milliseconds}");
        assert_eq!(start.elapsed_ms(&end)?, -milliseconds);
        assert_eq!(start.elapsed_ms(&start)?, 0.0);
        let elapsed = end.elapsed(&start)?;
        assert!((elapsed.as_secs_f64() * 1e3 - f64::from(milliseconds)).abs() < 1e-6, "{elapsed:?}");
        assert_eq!(start.elapsed(&end), Err(Error::Event(EventError::Reversed { by: elapsed })));
    }

    fn recording_again_does_not_affect_earlier_waits(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let (mut from, mut to) = (pool.zeroed(1 << 20, &first)?, pool.zeroed(1 << 20, &second)?);
        from.fill(1, &first)?;
        let mut point = first.record()?;
        second.wait(&point)?;
        second.record_into(&mut point)?;
        from.copy_to(&mut to, &second)?;
        assert!(to.download(&second)?.iter().all(|byte| *byte == 1));
        assert!(point.is_complete()?);
    }

    /// Record is one call: always into an existing event, and else once an event has been given back.
    fn dropped_events_are_recorded_again(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        drop((stream.record()?, stream.record_timed()?));
        for _ in 0..100 {
            budget(driver, &[(Function::cuEventRecord, 1)], || stream.record().map(drop))?;
            let mut event: Event<Timed> = budget(driver, &[(Function::cuEventRecord, 1)], || stream.record_timed())?;
            budget(driver, &[(Function::cuEventRecord, 1)], || stream.record_into(&mut event))?;
            budget(driver, &[], || drop(event));
        }
    }

    fn no_more_than_a_few_events_are_kept(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let events = (0..100).map(|_| stream.record()).collect::<Result<Vec<_>, _>>()?;
        budget(driver, &[(Function::cuEventDestroy_v2, 100 - 64)], || drop(events));
        drop(stream);
        let end = [(Function::cuEventDestroy_v2, 64), (Function::cuDevicePrimaryCtxRelease_v2, 1)];
        budget(driver, &end, || drop(context));
    }
}

#[test]
fn time_that_is_not_over_is_not_known() -> TestResult {
    // In this order nothing runs before it is waited for.
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let start = stream.record_timed()?;
    let mut buffer = DevicePool::new(&context)?.allocate(1 << 20, &stream)?;
    buffer.fill(1, &stream)?;
    let end = stream.record_timed()?;
    assert_eq!(end.elapsed(&start), Err(Error::Event(EventError::NotComplete)));
    assert_eq!(end.elapsed_ms(&start).unwrap_err().code(), Some(CUresult::CUDA_ERROR_NOT_READY));
    stream.synchronize()?;
    assert!(end.elapsed_ms(&start)? > 0.0);
    Ok(())
}

#[test]
fn events_of_two_contexts_have_no_time_between_them_and_no_stream_in_common() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (here, there) = (driver.device(0)?.context()?.stream()?, driver.device(1)?.context()?.stream()?);
    let (start, mut end) = (here.record_timed()?, there.record_timed()?);
    budget(&driver, &[], || {
        assert_eq!(end.elapsed(&start), Err(Error::Event(EventError::DifferentContexts { start: 0, end: 1 })));
        assert_eq!(here.record_into(&mut end), Err(Error::Event(EventError::ContextMismatch { event: 1, stream: 0 })));
    });
    Ok(())
}

#[test]
fn events_of_another_driver_are_refused_before_the_driver_sees_them() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let mine = one.device(0)?.context()?.stream()?.record_timed()?;
    let theirs = other.device(0)?.context()?.stream()?.record_timed()?;
    let refused = budget(&one, &[], || mine.elapsed(&theirs));
    assert!(matches!(refused, Err(Error::Device(DeviceError::DriverMismatch { .. }))), "{refused:?}");
    Ok(())
}
