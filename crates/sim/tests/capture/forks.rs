//! Streams that take part in a capture by waiting for it.

use std::ptr::null_mut;

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{ACTIVE, FILL, INVALIDATED, LOCAL, NONE, RELAXED, Stage};

driver_tests! {
    fn a_stream_that_waits_takes_part_until_it_is_joined(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.captured(LOCAL)?, stage.stream()?);
        stage.wait(second, first)?;
        assert_eq!(stage.status(second)?, ACTIVE);
        assert_eq!(stage.tips(second)?, stage.tips(first)?);
        stage.fill(second)?;
        stage.fill(first)?;
        stage.wait(first, second)?;
        assert_eq!(stage.tips(first)?.len(), 2);
        stage.fill(first)?;
        assert_eq!(stage.tips(first)?.len(), 1);
        let graph = stage.end(first)?;
        assert_eq!(graph.kinds()?, [FILL; 4]);
        assert_eq!(graph.edges()?, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!((stage.status(first)?, stage.status(second)?), (NONE, NONE));
        stage.fill(second)?;
        call!(driver.cuStreamSynchronize(second))?;
    }

    fn a_fork_from_the_start_has_nothing_before_it(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.stream()?, stage.stream()?);
        stage.begin(first, LOCAL)?;
        stage.wait(second, first)?;
        assert!(stage.tips(second)?.is_empty());
        stage.fill(second)?;
        stage.wait(first, second)?;
        assert_eq!(stage.tips(first)?, stage.tips(second)?);
        let graph = stage.end(first)?;
        assert_eq!((graph.kinds()?.len(), graph.edges()?.len()), (1, 0));
    }

    fn a_fork_of_another_context_takes_part(driver) {
        let stage = Stage::new(driver)?;
        let first = stage.captured(RELAXED)?;
        let mut context = null_mut();
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        let second = stage.stream()?;
        stage.primary.make_current()?;
        stage.wait(second, first)?;
        assert_eq!(stage.status(second)?, ACTIVE);
        assert_eq!(stage.end(first)?.kinds()?, [FILL]);
        assert_eq!(stage.status(second)?, NONE);
        call!(driver.cuCtxDestroy_v2(context))?;
    }

    fn work_that_is_not_joined_gives_no_graph(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.captured(LOCAL)?, stage.stream()?);
        stage.wait(second, first)?;
        stage.fill(second)?;
        assert_eq!(stage.end_answers(first), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        assert_eq!((stage.status(first)?, stage.status(second)?), (NONE, NONE));
        // Joined, and then more.
        stage.begin(first, LOCAL)?;
        stage.wait(second, first)?;
        stage.fill(second)?;
        stage.wait(first, second)?;
        stage.fill(second)?;
        assert_eq!(stage.end_answers(first), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        // A fork without work has nothing to join.
        stage.begin(first, LOCAL)?;
        stage.fill(first)?;
        stage.wait(second, first)?;
        assert_eq!(stage.end(first)?.kinds()?, [FILL]);
        assert_eq!(stage.status(second)?, NONE);
    }

    fn a_capture_ends_where_it_began(driver) {
        let stage = Stage::new(driver)?;
        let (first, second) = (stage.captured(LOCAL)?, stage.stream()?);
        stage.wait(second, first)?;
        answers!(driver.cuStreamBeginCapture_v2(second, LOCAL), CUDA_ERROR_ILLEGAL_STATE);
        assert_eq!(stage.status(first)?, ACTIVE);
        assert_eq!(stage.end_answers(second), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        assert_eq!((stage.status(first)?, stage.status(second)?), (INVALIDATED, INVALIDATED));
        assert_eq!(stage.end_answers(first), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_eq!(stage.status(second)?, NONE);
    }

    fn two_captures_are_not_merged(driver) {
        let stage = Stage::new(driver)?;
        let (first, second, event) = (stage.captured(LOCAL)?, stage.captured(LOCAL)?, stage.event()?);
        call!(driver.cuEventRecord(event, first))?;
        answers!(driver.cuStreamWaitEvent(second, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
        for stream in [first, second] {
            assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        }
    }

    fn a_capture_waits_for_nothing_outside(driver) {
        let stage = Stage::new(driver)?;
        let (event, stream) = (stage.reached()?, stage.captured(LOCAL)?);
        answers!(driver.cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }

    fn the_legacy_default_stream_takes_part_in_no_capture(driver) {
        let stage = Stage::new(driver)?;
        let (stream, event) = (stage.captured(RELAXED)?, stage.event()?);
        call!(driver.cuEventRecord(event, stream))?;
        answers!(driver.cuStreamWaitEvent(null_mut(), event, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }

    fn an_event_of_a_capture_is_good_for_nothing_afterwards(driver) {
        let stage = Stage::new(driver)?;
        let (stream, other, event, reached) = (stage.captured(RELAXED)?, stage.stream()?, stage.event()?, stage.reached()?);
        call!(driver.cuEventRecord(event, stream))?;
        stage.end(stream)?;
        let mut elapsed = 0.0;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuEventSynchronize(event), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuEventElapsedTime(&mut elapsed, reached, event), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamWaitEvent(other, event, 0), CUDA_ERROR_INVALID_VALUE);
        // In another capture, it spoils that.
        stage.begin(stream, RELAXED)?;
        answers!(driver.cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        // Recorded again, it is an event like any other.
        call!(driver.cuEventRecord(event, other))?;
        call!(driver.cuEventSynchronize(event))?;
    }

    fn asking_for_an_event_of_a_capture_invalidates_it(driver) {
        let stage = Stage::new(driver)?;
        let (event, reached) = (stage.event()?, stage.reached()?);
        for case in 0..3 {
            let stream = stage.captured(RELAXED)?;
            call!(driver.cuEventRecord(event, stream))?;
            let mut elapsed = 0.0;
            match case {
                0 => answers!(driver.cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT),
                1 => answers!(driver.cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT),
                _ => answers!(driver.cuEventElapsedTime(&mut elapsed, reached, event), CUDA_ERROR_CAPTURED_EVENT),
            }
            if case < 2 {
                assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            } else {
                stage.end(stream)?;
            }
        }
    }

    fn an_event_may_go_and_what_waited_for_it_stays(driver) {
        let stage = Stage::new(driver)?;
        let (first, second, event) = (stage.captured(RELAXED)?, stage.stream()?, stage.event()?);
        call!(driver.cuEventRecord(event, first))?;
        call!(driver.cuStreamWaitEvent(second, event, 0))?;
        call!(driver.cuEventDestroy_v2(event))?;
        stage.fill(second)?;
        stage.wait(first, second)?;
        let graph = stage.end(first)?;
        assert_eq!(graph.edges()?, [(0, 1)]);
    }

    fn a_fork_that_is_destroyed_leaves_its_work(driver) {
        let stage = Stage::new(driver)?;
        for joins in [false, true] {
            let (first, second) = (stage.captured(LOCAL)?, stage.stream()?);
            stage.wait(second, first)?;
            stage.fill(second)?;
            if joins {
                stage.wait(first, second)?;
            }
            call!(driver.cuStreamDestroy_v2(second))?;
            assert_eq!(stage.status(first)?, ACTIVE);
            if joins {
                assert_eq!(stage.end(first)?.edges()?, [(0, 1)]);
            } else {
                assert_eq!(stage.end_answers(first), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
            }
        }
    }

    fn an_event_that_is_recorded_outside_again_is_outside(driver) {
        let stage = Stage::new(driver)?;
        let (stream, other, third, event) = (stage.captured(RELAXED)?, stage.stream()?, stage.stream()?, stage.event()?);
        call!(driver.cuEventRecord(event, stream))?;
        call!(driver.cuEventRecord(event, other))?;
        call!(driver.cuStreamWaitEvent(third, event, 0))?;
        assert_eq!(stage.status(third)?, NONE);
        call!(driver.cuEventSynchronize(event))?;
        stage.end(stream)?;
    }
}
