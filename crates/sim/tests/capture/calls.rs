//! Unsafe calls during a capture, and the threads that must not make them.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUresult, CUstream, CUstreamCaptureMode};
use warploom_testkit::{TestResult, answers, call, code_of, driver_tests};

use crate::support::{ACTIVE, FILL, GLOBAL, INVALIDATED, LOCAL, NONE, RELAXED, Stage};

/// Runs something on another thread, where the stage's context is current.
fn elsewhere<R: Send>(stage: &Stage<'_>, run: impl FnOnce(&Driver) -> R + Send) -> R {
    let (driver, context) = (stage.driver, stage.primary.context.addr());
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let context = std::ptr::without_provenance_mut(context);
            call!(driver.cuCtxSetCurrent(context)).expect("the context is alive");
            run(driver)
        });
        other.join().expect("it does not panic")
    })
}

/// Exchanges the thread's mode; the one before.
fn exchange(driver: &Driver, mut mode: CUstreamCaptureMode) -> TestResult<CUstreamCaptureMode> {
    call!(driver.cuThreadExchangeStreamCaptureMode(&mut mode))?;
    Ok(mode)
}

/// The code that an allocation returns; the memory is freed.
fn allocate(driver: &Driver) -> CUresult {
    let mut address = 0;
    let code = code_of(call!(driver.cuMemAlloc_v2(&mut address, 64)));
    if code == CUresult::CUDA_SUCCESS {
        call!(driver.cuMemFree_v2(address)).expect("it was allocated");
    }
    code
}

/// Ends the capture of a stream; `true` if it was still valid.
fn outcome(stage: &Stage<'_>, stream: CUstream) -> TestResult<bool> {
    let is_valid = stage.status(stream)? == ACTIVE;
    if is_valid {
        assert_eq!(stage.end(stream)?.kinds()?, [FILL]);
    } else {
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    Ok(is_valid)
}

const UNSUPPORTED: CUresult = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

driver_tests! {
    fn modes_say_whom_a_capture_forbids_unsafe_calls(driver) {
        let stage = Stage::new(driver)?;
        for (mode, own, others) in [(GLOBAL, false, false), (LOCAL, false, true), (RELAXED, true, true)] {
            let stream = stage.captured(mode)?;
            assert_eq!(allocate(driver), if own { SUCCESS } else { UNSUPPORTED }, "{mode:?}");
            assert_eq!(outcome(&stage, stream)?, own, "{mode:?}");
            let stream = stage.captured(mode)?;
            assert_eq!(elsewhere(&stage, allocate), if others { SUCCESS } else { UNSUPPORTED }, "{mode:?}");
            assert_eq!(outcome(&stage, stream)?, others, "{mode:?}");
        }
    }

    fn a_thread_may_be_more_careful_or_less(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(GLOBAL)?;
        assert_eq!(exchange(driver, RELAXED)?, GLOBAL);
        assert_eq!(allocate(driver), SUCCESS);
        assert_eq!(exchange(driver, GLOBAL)?, RELAXED);
        let local = elsewhere(&stage, |driver| {
            exchange(driver, LOCAL).expect("it is a mode");
            allocate(driver)
        });
        assert_eq!(local, SUCCESS, "a thread-local thread minds its own captures");
        assert!(outcome(&stage, stream)?);
        let (first, second) = (stage.captured(LOCAL)?, stage.captured(GLOBAL)?);
        assert_eq!(allocate(driver), UNSUPPORTED);
        assert_eq!((stage.status(first)?, stage.status(second)?), (INVALIDATED, INVALIDATED), "all that forbid it");
        assert!(!outcome(&stage, first)? && !outcome(&stage, second)?);
    }

    fn a_capture_outlives_the_thread_that_began_it(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.stream()?;
        let number = stream.addr();
        elsewhere(&stage, |driver| {
            let stream = std::ptr::without_provenance_mut(number);
            call!(driver.cuStreamBeginCapture_v2(stream, GLOBAL)).expect("it can be captured");
        });
        assert_eq!(allocate(driver), UNSUPPORTED);
        // Its end reports the wrong thread or the invalidation; the capture is over in any case.
        assert_ne!(stage.end_answers(stream), SUCCESS);
        assert_eq!(allocate(driver), SUCCESS);
    }

    fn calls_that_no_graph_would_repeat(driver) {
        let stage = Stage::new(driver)?;
        let (reached, never, idle, mut pool) = (stage.reached()?, stage.event()?, stage.stream()?, null_mut());
        call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        let (mut address, mut pinned, mut value) = (0, null_mut(), 0_u64);
        for case in 0..13 {
            let stream = stage.captured(LOCAL)?;
            let code = code_of(match case {
                0 => call!(driver.cuMemFree_v2(0)),
                1 => call!(driver.cuMemAllocHost_v2(&mut pinned, 64)),
                2 => call!(driver.cuMemHostAlloc(&mut pinned, 64, 0)),
                3 => call!(driver.cuMemAllocManaged(&mut address, 64, 1)),
                4 => call!(driver.cuMemAllocAsync(&mut address, 64, idle)),
                5 => call!(driver.cuMemFreeAsync(0, idle)),
                6 => call!(driver.cuStreamSynchronize(idle)),
                7 => call!(driver.cuStreamQuery(idle)),
                8 => call!(driver.cuEventQuery(reached)),
                9 => call!(driver.cuEventSynchronize(never)),
                10 => call!(driver.cuMemPoolTrimTo(pool, 0)),
                11 => call!(driver.cuMemPoolGetAttribute(pool, POOL_THRESHOLD, (&raw mut value).cast())),
                _ => call!(driver.cuStreamQuery(null_mut())),
            });
            assert_eq!(code, UNSUPPORTED, "{case}");
            assert!(!outcome(&stage, stream)?, "{case}");
        }
    }

    fn calls_that_a_capture_does_not_mind(driver) {
        let stage = Stage::new(driver)?;
        let (reached, idle, other) = (stage.reached()?, stage.stream()?, stage.event()?);
        let stream = stage.captured(GLOBAL)?;
        let (mut free, mut total, mut elapsed, mut byte) = (0, 0, 0.0, 0_u8);
        call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
        call!(driver.cuEventElapsedTime(&mut elapsed, reached, reached))?;
        stage.fill(idle)?;
        call!(driver.cuMemsetD8Async(stage.memory + 4096, 1, 64, null_mut()))?;
        call!(driver.cuEventRecord(other, idle))?;
        call!(driver.cuStreamWaitEvent(idle, reached, 0))?;
        call!(driver.cuMemcpyDtoH_v2((&raw mut byte).cast(), stage.memory + 4096, 1))?;
        call!(driver.cuMemsetD8_v2(stage.memory + 4096, 1, 64))?;
        call!(driver.cuStreamDestroy_v2(stage.stream()?))?;
        call!(driver.cuEventDestroy_v2(stage.event()?))?;
        assert!(outcome(&stage, stream)?);
        call!(driver.cuCtxSynchronize())?;
    }

    fn waiting_for_a_captured_stream_invalidates_it_in_every_mode(driver) {
        let stage = Stage::new(driver)?;
        for case in 0..2 {
            let stream = stage.captured(RELAXED)?;
            let code = code_of(match case {
                0 => call!(driver.cuStreamSynchronize(stream)),
                _ => call!(driver.cuStreamQuery(stream)),
            });
            assert_eq!((code, outcome(&stage, stream)?), (UNSUPPORTED, false), "{case}");
        }
    }

    fn a_context_with_a_captured_stream_is_not_waited_for(driver) {
        let stage = Stage::new(driver)?;
        let (event, reached) = (stage.event()?, stage.reached()?);
        for case in 0..3 {
            let stream = stage.captured(RELAXED)?;
            let context = stage.primary.context;
            let code = code_of(match case {
                0 => call!(driver.cuCtxSynchronize()),
                1 => call!(driver.cuCtxRecordEvent(context, event)),
                _ => call!(driver.cuCtxWaitEvent(context, reached)),
            });
            assert_eq!((code, outcome(&stage, stream)?), (UNSUPPORTED, false), "{case}");
        }
        // Another context is another matter.
        let (stream, mut context) = (stage.captured(GLOBAL)?, null_mut());
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuCtxDestroy_v2(context))?;
        stage.primary.make_current()?;
        assert!(outcome(&stage, stream)?);
    }

    fn the_legacy_default_stream_would_wait_for_a_blocking_one(driver) {
        let stage = Stage::new(driver)?;
        let (event, reached, legacy) = (stage.event()?, stage.reached()?, null_mut());
        for case in 0..6 {
            let stream = stage.stream_with(0)?;
            stage.begin(stream, RELAXED)?;
            stage.fill(stream)?;
            let code = code_of(match case {
                0 => call!(driver.cuMemsetD8Async(stage.memory, 1, 64, legacy)),
                1 => call!(driver.cuEventRecord(event, legacy)),
                2 => call!(driver.cuStreamQuery(legacy)),
                3 => call!(driver.cuStreamSynchronize(legacy)),
                4 => call!(driver.cuStreamWaitEvent(legacy, reached, 0)),
                _ => call!(driver.cuMemsetD8_v2(stage.memory, 1, 64)),
            });
            assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "{case}");
            assert!(!outcome(&stage, stream)?, "{case}");
        }
        // Asking whether it is captured is no use of it.
        let stream = stage.stream_with(0)?;
        stage.begin(stream, RELAXED)?;
        stage.fill(stream)?;
        let mut status = NONE;
        answers!(driver.cuStreamIsCapturing(legacy, &mut status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        assert!(outcome(&stage, stream)?);
    }
}

const POOL_THRESHOLD: warploom_testkit::sys::types::CUmemPool_attribute =
    warploom_testkit::sys::types::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
