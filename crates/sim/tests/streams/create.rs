//! Making and destroying streams.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::CUstream;
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call, driver_tests, open};

use crate::latch::{Latch, NOT_READY, comes, event, legacy, per_thread, read, stays, stream};

driver_tests! {
    sim fn streams_and_events_of_a_destroyed_context_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let (made, mark) = (stream(driver, 0)?, event(driver, 0)?);
        call!(driver.cuCtxDestroy_v2(context))?;
        answers!(driver.cuStreamQuery(made), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuStreamSynchronize(made), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuStreamDestroy_v2(made), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuEventQuery(mark), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventRecord(mark, null_mut()), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuEventDestroy_v2(mark), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }

    fn a_stream_is_blocking_or_not_and_nothing_else(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in [0, 1] {
            let made = stream(driver, flags)?;
            let mut found = 7;
            call!(driver.cuStreamGetFlags(made, &mut found))?;
            assert_eq!(found, flags);
            call!(driver.cuStreamDestroy_v2(made))?;
        }
        for flags in [2, 3, 4, 8, 0x100, 0x8000_0000] {
            let mut made = null_mut();
            answers!(driver.cuStreamCreate(&mut made, flags), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuStreamCreateWithPriority(&mut made, flags, 0), CUDA_ERROR_INVALID_VALUE);
            assert!(made.is_null());
        }
        answers!(driver.cuStreamCreate(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamCreateWithPriority(null_mut(), 0, 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_priority_that_does_not_exist_becomes_the_nearest_one(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in [0, 1] {
            for (asked, given) in [(i32::MAX, 0), (5, 0), (0, 0), (-1, -1), (-5, -5), (-6, -5), (i32::MIN, -5)] {
                let mut made = null_mut();
                call!(driver.cuStreamCreateWithPriority(&mut made, flags, asked))?;
                let (mut priority, mut found) = (99, 99);
                call!(driver.cuStreamGetPriority(made, &mut priority))?;
                call!(driver.cuStreamGetFlags(made, &mut found))?;
                assert_eq!((priority, found), (given, flags), "asked for {asked}");
                call!(driver.cuStreamDestroy_v2(made))?;
            }
        }
    }

    fn a_stream_needs_a_context_to_be_made_and_none_to_be_used(driver) {
        let primary = Primary::of(driver, 0)?;
        let made = stream(driver, 1)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuStreamCreate(&mut null_mut(), 0), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuStreamQuery(made))?;
        call!(driver.cuStreamSynchronize(made))?;
        for default in [null_mut(), legacy(), per_thread()] {
            answers!(driver.cuStreamQuery(default), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuStreamSynchronize(default), CUDA_ERROR_INVALID_CONTEXT);
            answers!(driver.cuStreamGetFlags(default, &mut 0), CUDA_ERROR_INVALID_CONTEXT);
        }
        primary.make_current()?;
        call!(driver.cuStreamDestroy_v2(made))?;
    }

    fn default_streams_cannot_be_destroyed(driver) {
        let _primary = Primary::of(driver, 0)?;
        for default in [null_mut(), legacy(), per_thread()] {
            answers!(driver.cuStreamDestroy_v2(default), CUDA_ERROR_INVALID_HANDLE);
        }
    }

    fn the_work_of_a_destroyed_stream_goes_on(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in [0, 1] {
            let mut latch = Latch::new(driver)?;
            let done = event(driver, 2)?;
            let doomed = stream(driver, flags)?;
            latch.block(doomed)?;
            call!(driver.cuStreamWriteValue64_v2(doomed, latch.word + 8, 77, 0))?;
            call!(driver.cuEventRecord(done, doomed))?;
            call!(driver.cuStreamDestroy_v2(doomed))?;
            stays(NOT_READY, "an event behind the block", || call!(driver.cuEventQuery(done)));
            if flags == 0 {
                // The legacy default stream waits even for a blocking stream that is gone.
                stays(NOT_READY, "the legacy stream", || call!(driver.cuStreamQuery(null_mut())));
            }
            latch.open();
            comes(warploom_testkit::sys::types::CUresult::CUDA_SUCCESS, "the event", || call!(driver.cuEventQuery(done)));
            assert_eq!(read(driver, latch.word + 8)?, 77);
            call!(driver.cuEventDestroy_v2(done))?;
        }
    }

    fn waiting_for_the_context_waits_for_destroyed_streams(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut latch = Latch::new(driver)?;
        let doomed = stream(driver, 1)?;
        latch.block(doomed)?;
        call!(driver.cuStreamWriteValue64_v2(doomed, latch.word + 8, 78, 0))?;
        call!(driver.cuStreamDestroy_v2(doomed))?;
        latch.open();
        call!(driver.cuCtxSynchronize())?;
        assert_eq!(read(driver, latch.word + 8)?, 78);
    }

    fn an_event_is_not_a_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let event = event(driver, 0)?;
        let wrong: CUstream = event.cast();
        answers!(driver.cuStreamQuery(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamSynchronize(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamDestroy_v2(wrong), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamGetId(wrong, &mut 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuStreamWaitEvent(wrong, event, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        call!(driver.cuEventDestroy_v2(event))?;
    }
}

/// The real driver follows such handles and crashes.
#[test]
fn handles_that_are_no_streams_are_refused() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("h200")?, *mode)?;
        let (_other_machine, other) = open(Topology::preset("h200")?, *mode)?;
        let driver: &Driver = &driver;
        let primary = Primary::of(driver, 0)?;
        let gone = stream(driver, 0)?;
        call!(driver.cuStreamDestroy_v2(gone))?;
        let foreign = {
            let _elsewhere = Primary::of(&other, 0)?;
            stream(&other, 0)?
        };
        let context: CUstream = primary.context.cast();
        let garbage: [CUstream; 3] = [3, 4096, 0xdead_0000].map(std::ptr::without_provenance_mut);
        for wrong in [gone, foreign, context].into_iter().chain(garbage) {
            answers!(driver.cuStreamQuery(wrong), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuStreamSynchronize(wrong), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuStreamDestroy_v2(wrong), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuStreamGetFlags(wrong, &mut 0), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuStreamGetCtx(wrong, &mut null_mut()), CUDA_ERROR_INVALID_HANDLE);
            answers!(driver.cuStreamWriteValue32_v2(wrong, 0, 0, 0), CUDA_ERROR_INVALID_HANDLE);
        }
    }
    Ok(())
}

#[test]
fn a_wait_that_nothing_can_end_is_reported_and_not_hung() -> TestResult {
    use std::time::Duration;
    use warploom_testkit::sim::{LogKind, Machine, Order};
    let modes = ASYNCHRONOUS.iter().copied().chain([Mode::Sync, Mode::Deterministic(Order::Seeded(7))]);
    for mode in modes {
        let machine = Machine::builder().mode(mode).patience(Duration::from_millis(100)).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let driver = &driver;
        let primary = Primary::of(driver, 0)?;
        let mut word = 0;
        call!(driver.cuMemAlloc_v2(&mut word, 64))?;
        let writer = stream(driver, 1)?;
        call!(driver.cuStreamWriteValue32_v2(writer, word, 5, 0))?;
        call!(driver.cuStreamSynchronize(writer))?;
        let stuck = stream(driver, 1)?;
        if mode == Mode::Sync {
            answers!(driver.cuStreamWaitValue32_v2(stuck, word, 6, 1), CUDA_ERROR_TIMEOUT);
        } else {
            call!(driver.cuStreamWaitValue32_v2(stuck, word, 6, 1))?;
        }
        answers!(driver.cuStreamSynchronize(stuck), CUDA_ERROR_TIMEOUT);
        let log = machine.log();
        let deadlock = log.iter().rfind(|entry| entry.kind == LogKind::Deadlock).expect("the log has the deadlock");
        assert!(deadlock.reason.contains(&format!("{word:#x}")), "{deadlock}");
        assert!(deadlock.reason.contains("Equal 6"), "{deadlock}");
        // And the machine is as good as before.
        call!(driver.cuStreamWriteValue32_v2(writer, word, 6, 0))?;
        call!(driver.cuStreamSynchronize(stuck))?;
        drop(primary);
    }
    Ok(())
}
