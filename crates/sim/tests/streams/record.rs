//! Recording events and waiting for them.

use std::ptr::null_mut;

use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::CUevent;
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call, driver_tests, open};

use crate::latch::{Latch, NOT_READY, SUCCESS, comes, event, read, stays, stream};

driver_tests! {
    fn an_event_for_several_processes_has_no_timing(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in [0, 1, 2, 3, 6, 7] {
            let made = event(driver, flags)?;
            call!(driver.cuEventDestroy_v2(made))?;
        }
        for flags in [4, 5, 8, 0x10, 0x8000_0000] {
            let mut made = null_mut();
            answers!(driver.cuEventCreate(&mut made, flags), CUDA_ERROR_INVALID_VALUE);
            assert!(made.is_null());
        }
        answers!(driver.cuEventCreate(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn an_event_that_was_never_recorded_is_reached(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (made, waiter) = (event(driver, 0)?, stream(driver, 1)?);
        call!(driver.cuEventQuery(made))?;
        call!(driver.cuEventSynchronize(made))?;
        call!(driver.cuStreamWaitEvent(waiter, made, 0))?;
        call!(driver.cuStreamQuery(waiter))?;
        call!(driver.cuStreamDestroy_v2(waiter))?;
        call!(driver.cuEventDestroy_v2(made))?;
    }

    fn an_event_is_reached_when_everything_before_it_is_done(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (made, on) = (event(driver, 0)?, stream(driver, 1)?);
        latch.block(on)?;
        call!(driver.cuEventRecord(made, on))?;
        stays(NOT_READY, "the event", || call!(driver.cuEventQuery(made)));
        latch.open();
        call!(driver.cuEventSynchronize(made))?;
        call!(driver.cuEventQuery(made))?;
        call!(driver.cuStreamDestroy_v2(on))?;
        call!(driver.cuEventDestroy_v2(made))?;
    }

    fn a_wait_is_for_the_record_there_was_when_it_was_called(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (made, blocked, waiter, idle) =
            (event(driver, 0)?, stream(driver, 1)?, stream(driver, 1)?, stream(driver, 1)?);
        latch.block(blocked)?;
        call!(driver.cuEventRecord(made, blocked))?;
        call!(driver.cuStreamWaitEvent(waiter, made, 0))?;
        call!(driver.cuEventRecord(made, idle))?;
        comes(SUCCESS, "the newer record", || call!(driver.cuEventQuery(made)));
        stays(NOT_READY, "who waits for the older one", || call!(driver.cuStreamQuery(waiter)));
        latch.open();
        comes(SUCCESS, "who waited", || call!(driver.cuStreamQuery(waiter)));
        // The other way round: a record after the wait does not hold the waiter.
        call!(driver.cuStreamWaitEvent(waiter, made, 0))?;
        latch.block(blocked)?;
        call!(driver.cuEventRecord(made, blocked))?;
        comes(SUCCESS, "who waited for a record that was reached", || call!(driver.cuStreamQuery(waiter)));
        stays(NOT_READY, "the event", || call!(driver.cuEventQuery(made)));
        latch.open();
        for done in [blocked, waiter, idle] {
            call!(driver.cuStreamSynchronize(done))?;
            call!(driver.cuStreamDestroy_v2(done))?;
        }
        call!(driver.cuEventDestroy_v2(made))?;
    }

    fn destroying_an_event_does_not_release_streams_that_wait_for_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (made, blocked, waiter) = (event(driver, 0)?, stream(driver, 1)?, stream(driver, 1)?);
        latch.block(blocked)?;
        call!(driver.cuStreamWriteValue64_v2(blocked, latch.word + 8, 1, 0))?;
        call!(driver.cuEventRecord(made, blocked))?;
        call!(driver.cuStreamWaitEvent(waiter, made, 0))?;
        call!(driver.cuStreamWriteValue64_v2(waiter, latch.word + 8, 2, 0))?;
        call!(driver.cuEventDestroy_v2(made))?;
        stays(NOT_READY, "who waits", || call!(driver.cuStreamQuery(waiter)));
        stays(NOT_READY, "who recorded", || call!(driver.cuStreamQuery(blocked)));
        latch.open();
        call!(driver.cuStreamSynchronize(waiter))?;
        assert_eq!(read(driver, latch.word + 8)?, 2);
        call!(driver.cuStreamDestroy_v2(blocked))?;
        call!(driver.cuStreamDestroy_v2(waiter))?;
    }

    fn a_stream_may_wait_for_its_own_event(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let (made, on) = (event(driver, 0)?, stream(driver, 1)?);
        latch.block(on)?;
        call!(driver.cuEventRecord(made, on))?;
        call!(driver.cuStreamWaitEvent(on, made, 0))?;
        latch.open();
        call!(driver.cuStreamSynchronize(on))?;
        call!(driver.cuStreamDestroy_v2(on))?;
        call!(driver.cuEventDestroy_v2(made))?;
    }

    fn external_records_and_waits_are_for_captured_streams(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (made, on) = (event(driver, 0)?, stream(driver, 1)?);
        call!(driver.cuEventRecordWithFlags(made, on, 0))?;
        answers!(driver.cuEventRecordWithFlags(made, on, 1), CUDA_ERROR_ILLEGAL_STATE);
        answers!(driver.cuStreamWaitEvent(on, made, 1), CUDA_ERROR_ILLEGAL_STATE);
        for flags in [2, 3, 0x8000_0000] {
            answers!(driver.cuEventRecordWithFlags(made, on, flags), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamWaitEvent(on, made, flags), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuStreamDestroy_v2(on))?;
        call!(driver.cuEventDestroy_v2(made))?;
    }

    fn null_is_no_event(driver) {
        let _primary = Primary::of(driver, 0)?;
        let none: CUevent = null_mut();
        answers!(driver.cuEventQuery(none), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuEventSynchronize(none), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuEventRecord(none, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuEventDestroy_v2(none), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuStreamWaitEvent(null_mut(), none, 0), CUDA_ERROR_INVALID_HANDLE);
    }

    fn a_stream_is_not_an_event(driver) {
        let _primary = Primary::of(driver, 0)?;
        let on = stream(driver, 0)?;
        let wrong: CUevent = on.cast();
        answers!(driver.cuEventQuery(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventSynchronize(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventRecord(wrong, null_mut()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventDestroy_v2(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamWaitEvent(null_mut(), wrong, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        call!(driver.cuStreamDestroy_v2(on))?;
    }

    fn an_event_needs_a_context_to_be_made_and_none_to_be_used(driver) {
        let primary = Primary::of(driver, 0)?;
        let (made, on) = (event(driver, 0)?, stream(driver, 1)?);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuEventCreate(&mut null_mut(), 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuEventRecord(made, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuEventRecord(made, on))?;
        call!(driver.cuEventSynchronize(made))?;
        call!(driver.cuEventQuery(made))?;
        call!(driver.cuStreamWaitEvent(on, made, 0))?;
        call!(driver.cuEventDestroy_v2(made))?;
        call!(driver.cuStreamDestroy_v2(on))?;
        primary.make_current()?;
    }
}

/// On the real driver, too, as long as nothing else has taken the event's place.
#[test]
fn a_destroyed_event_is_refused() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("h200")?, *mode)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let gone = event(driver, 0)?;
        call!(driver.cuEventRecord(gone, null_mut()))?;
        call!(driver.cuEventDestroy_v2(gone))?;
        answers!(driver.cuEventQuery(gone), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventSynchronize(gone), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventRecord(gone, null_mut()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventDestroy_v2(gone), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamWaitEvent(null_mut(), gone, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        let mut time = 7.0;
        answers!(driver.cuEventElapsedTime_v2(&mut time, gone, gone), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        let garbage: CUevent = std::ptr::without_provenance_mut(0xdead_0000);
        answers!(driver.cuEventQuery(garbage), CUDA_ERROR_INVALID_HANDLE);
    }
    Ok(())
}

#[test]
fn an_event_is_recorded_in_its_own_context_and_waited_for_in_any() -> TestResult {
    for mode in ASYNCHRONOUS.iter().copied().chain([Mode::Sync]) {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, mode)?;
        let driver = &driver;
        let first = Primary::of(driver, 0)?;
        let (here, on_here) = (event(driver, 0)?, stream(driver, 0)?);
        let second = Primary::of(driver, 1)?;
        let (there, on_there) = (event(driver, 0)?, stream(driver, 0)?);
        answers!(driver.cuEventRecord(here, on_there), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuEventRecord(there, on_here), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuEventRecord(here, null_mut()), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuEventRecord(there, null_mut()))?;
        call!(driver.cuEventRecord(here, on_here))?;
        call!(driver.cuStreamWaitEvent(on_there, here, 0))?;
        call!(driver.cuStreamWaitEvent(on_here, there, 0))?;
        call!(driver.cuEventSynchronize(here))?;
        call!(driver.cuEventSynchronize(there))?;
        let mut time = 7.0;
        answers!(driver.cuEventElapsedTime(&mut time, here, there), CUDA_ERROR_INVALID_HANDLE);
        assert_eq!(time, 7.0);
        drop(second);
        drop(first);
    }
    Ok(())
}
