//! Streams and events: order within a stream, order between streams, time.

use warploom::{DevicePool, Devices, Error, Function, sys::types::CUresult};
use warploom_sim::{Mode, Order, topology::Topology};
use warploom_testkit::{TestResult, budget, driver_tests, open};

#[test]
fn handles_may_cross_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<warploom::Device>();
    send_and_sync::<warploom::Context>();
    send_and_sync::<warploom::Stream>();
    send_and_sync::<warploom::Event>();
    send_and_sync::<warploom::DevicePool>();
    send_and_sync::<warploom::Buffer>();
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
    }

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

    fn time_goes_forward_and_is_negative_backwards(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let mut buffer = DevicePool::new(&context)?.zeroed(1 << 24, &stream)?;
        let start = stream.record()?;
        buffer.fill(1, &stream)?;
        let end = stream.record()?;
        end.synchronize()?;
        let milliseconds = end.elapsed_ms(&start)?;
        assert!(milliseconds > 0.0, "{milliseconds}");
        assert!(start.elapsed_ms(&end)? < 0.0);
        assert_eq!(start.elapsed_ms(&start)?, 0.0);
    }

    fn a_thread_without_a_current_context_can_use_a_stream(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        std::thread::scope(|scope| {
            scope.spawn(|| stream.record()?.synchronize()).join().expect("the thread does not panic")
        })?;
    }

    fn waiting_and_asking_are_one_driver_call_each(driver) {
        let stream = driver.device(0)?.context()?.stream()?;
        let event = stream.record()?;
        budget(driver, &[(Function::cuStreamWaitEvent, 1)], || stream.wait(&event))?;
        budget(driver, &[(Function::cuStreamSynchronize, 1)], || stream.synchronize())?;
        budget(driver, &[(Function::cuStreamQuery, 1)], || stream.is_idle())?;
        budget(driver, &[(Function::cuEventQuery, 1)], || event.is_complete())?;
        budget(driver, &[(Function::cuEventDestroy_v2, 1)], || drop(event));
    }
}

#[test]
fn time_that_is_not_over_is_not_ready() -> TestResult {
    // In this order nothing runs before it is waited for.
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let start = stream.record()?;
    let mut buffer = DevicePool::new(&context)?.allocate(1 << 20, &stream)?;
    buffer.fill(1, &stream)?;
    let end = stream.record()?;
    assert_eq!(end.elapsed_ms(&start).unwrap_err().code(), Some(CUresult::CUDA_ERROR_NOT_READY));
    stream.synchronize()?;
    assert!(end.elapsed_ms(&start)? > 0.0);
    Ok(())
}

#[test]
fn a_stream_waits_for_an_event_of_another_device() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let stream = |ordinal| driver.device(ordinal)?.context()?.stream();
    let (first, second) = (stream(0)?, stream(1)?);
    let point = first.record()?;
    second.wait(&point)?;
    second.synchronize()?;
    assert!(point.is_complete()?);
    Ok(())
}

#[test]
fn events_of_another_driver_are_refused_before_the_driver_sees_them() -> TestResult {
    let (_one, one) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (_other, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stream = one.device(0)?.context()?.stream()?;
    let foreign = other.device(0)?.context()?.stream()?.record()?;
    let refused = budget(&one, &[], || stream.wait(&foreign));
    assert!(matches!(refused, Err(Error::DriverMismatch { .. })), "{refused:?}");
    let refused = stream.record()?.elapsed_ms(&foreign);
    assert!(matches!(refused, Err(Error::DriverMismatch { .. })), "{refused:?}");
    Ok(())
}
