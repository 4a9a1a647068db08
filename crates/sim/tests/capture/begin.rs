//! Begin and end of captures.

use std::ptr::null_mut;

use warploom_testkit::sys::types::{CUresult, CUstreamCaptureMode};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{ACTIVE, FILL, GLOBAL, INVALIDATED, LOCAL, NONE, RELAXED, Stage};

driver_tests! {
    fn a_capture_makes_a_graph_and_runs_nothing(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.stream()?;
        call!(driver.cuMemsetD8_v2(stage.memory, 1, 64))?;
        for mode in [GLOBAL, LOCAL, RELAXED] {
            assert_eq!(stage.status(stream)?, NONE);
            stage.begin(stream, mode)?;
            assert_eq!(stage.status(stream)?, ACTIVE);
            stage.fill(stream)?;
            stage.fill(stream)?;
            let graph = stage.end(stream)?;
            assert_eq!(stage.status(stream)?, NONE);
            assert_eq!(graph.kinds()?, [FILL; 2]);
            assert_eq!(graph.edges()?, [(0, 1)]);
            assert!(graph.nodes()?.iter().all(|node| !node.is_null()));
        }
        let mut byte = 0_u8;
        call!(driver.cuMemcpyDtoH_v2((&raw mut byte).cast(), stage.memory, 1))?;
        assert_eq!(byte, 1, "nothing was filled");
        call!(driver.cuStreamDestroy_v2(stream))?;
    }

    fn a_capture_of_nothing_gives_an_empty_graph(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.stream()?;
        stage.begin(stream, LOCAL)?;
        assert!(stage.tips(stream)?.is_empty());
        let graph = stage.end(stream)?;
        assert!(graph.nodes()?.is_empty() && graph.edges()?.is_empty());
    }

    fn invalid_captures_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.stream()?;
        for legacy in [0, 1] {
            let legacy = std::ptr::without_provenance_mut(legacy);
            answers!(driver.cuStreamBeginCapture_v2(legacy, LOCAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        for mode in [3, u32::MAX] {
            answers!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(mode)), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        assert_eq!(stage.end_answers(null_mut()), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        stage.begin(stream, LOCAL)?;
        answers!(driver.cuStreamBeginCapture_v2(stream, LOCAL), CUDA_ERROR_ILLEGAL_STATE);
        assert_eq!(stage.status(stream)?, ACTIVE);
        stage.end(stream)?;
    }

    fn a_per_thread_default_stream_can_be_captured(driver) {
        let stage = Stage::new(driver)?;
        let stream = std::ptr::without_provenance_mut(2);
        stage.begin(stream, RELAXED)?;
        stage.fill(stream)?;
        // It is a blocking stream, so that the legacy one cannot be asked.
        let mut status = NONE;
        answers!(driver.cuStreamIsCapturing(null_mut(), &mut status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        assert_eq!(stage.end(stream)?.kinds()?, [FILL]);
    }

    fn a_capture_needs_no_current_context(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.stream()?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        stage.begin(stream, LOCAL)?;
        stage.fill(stream)?;
        let kinds = stage.end(stream)?.kinds()?;
        stage.primary.make_current()?;
        assert_eq!(kinds, [FILL]);
    }

    /// The end of a capture by another thread is refused, and ends it.
    fn only_a_relaxed_capture_may_end_on_another_thread(driver) {
        let stage = Stage::new(driver)?;
        for mode in [GLOBAL, LOCAL] {
            let stream = stage.captured(mode)?;
            let number = stream.addr();
            let code = std::thread::scope(|scope| {
                let elsewhere = scope.spawn(|| {
                    let (mut graph, stream) = (null_mut(), std::ptr::without_provenance_mut(number));
                    warploom_testkit::code_of(call!(driver.cuStreamEndCapture(stream, &mut graph)))
                });
                elsewhere.join().expect("it does not panic")
            });
            assert_eq!(code, CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
            assert_eq!(stage.status(stream)?, NONE);
            assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        }
        let stream = stage.captured(RELAXED)?;
        let number = stream.addr();
        let graph = std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| {
                let (mut graph, stream) = (null_mut(), std::ptr::without_provenance_mut(number));
                call!(driver.cuStreamEndCapture(stream, &mut graph)).map(|()| graph.addr())
            });
            elsewhere.join().expect("it does not panic")
        })?;
        let graph = std::ptr::without_provenance_mut(graph);
        call!(driver.cuGraphDestroy(graph))?;
    }

    fn a_stream_that_was_busy_or_blocking_can_be_captured(driver) {
        let stage = Stage::new(driver)?;
        for flags in [0, 1] {
            let stream = stage.stream_with(flags)?;
            call!(driver.cuMemsetD8Async(stage.memory + 4096, 1, 64, null_mut()))?;
            stage.fill(stream)?;
            stage.begin(stream, LOCAL)?;
            assert!(stage.end(stream)?.nodes()?.is_empty(), "what came before is not part of it");
            call!(driver.cuCtxSynchronize())?;
        }
    }

    fn an_invalid_capture_answers_its_code(driver) {
        let stage = Stage::new(driver)?;
        let (stream, fork) = (stage.captured(LOCAL)?, stage.stream()?);
        answers!(driver.cuStreamQuery(fork), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(stage.status(stream)?, INVALIDATED);
        let (event, never) = (stage.event()?, stage.event()?);
        answers!(driver.cuMemsetD8Async(stage.memory, 0, 64, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        answers!(driver.cuEventRecord(event, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        answers!(driver.cuStreamWaitEvent(stream, never, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        answers!(driver.cuStreamBeginCapture_v2(stream, LOCAL), CUDA_ERROR_ILLEGAL_STATE);
        answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        let mut address = 0;
        answers!(driver.cuMemAllocAsync(&mut address, 64, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        answers!(driver.cuMemAlloc_v2(&mut address, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        // The stream is as good as before.
        assert_eq!(stage.status(stream)?, NONE);
        stage.fill(stream)?;
        stage.wait(fork, stream)?;
        call!(driver.cuStreamSynchronize(fork))?;
    }

    fn a_stream_that_is_destroyed_takes_its_capture_along(driver) {
        let stage = Stage::new(driver)?;
        for mode in [GLOBAL, LOCAL, RELAXED] {
            let stream = stage.captured(mode)?;
            call!(driver.cuStreamDestroy_v2(stream))?;
            let mut address = 0;
            call!(driver.cuMemAlloc_v2(&mut address, 64))?;
            call!(driver.cuMemFree_v2(address))?;
            call!(driver.cuCtxSynchronize())?;
        }
    }

    fn a_context_that_is_destroyed_takes_captures_along(driver) {
        let stage = Stage::new(driver)?;
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let stream = stage.stream()?;
        stage.begin(stream, LOCAL)?;
        call!(driver.cuCtxDestroy_v2(context))?;
        stage.primary.make_current()?;
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, 64))?;
        call!(driver.cuMemFree_v2(address))?;
    }
}
