//! Dependencies of a captured stream's next node: queried and updated.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{CUgraphNode, CUresult};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{ACTIVE, LOCAL, NONE, Stage};

driver_tests! {
    fn captures_have_numbers_of_their_own(driver) {
        let stage = Stage::new(driver)?;
        let mut numbers = Vec::new();
        for _ in 0..2 {
            let (stream, mut status, mut id) = (stage.captured(LOCAL)?, NONE, 0);
            call!(driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, null_mut(), null_mut(), null_mut()))?;
            numbers.push(id);
            stage.end(stream)?;
        }
        assert_ne!(numbers[0], numbers[1]);
    }

    fn nothing_but_the_status_is_told_of_a_stream_that_is_not_captured(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut status, mut id, mut count) = (stage.stream()?, ACTIVE, 77, 78);
        call!(driver.cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, null_mut(), null_mut(), &mut count))?;
        assert_eq!((status, id, count), (NONE, 77, 78));
        answers!(
            driver.cuStreamGetCaptureInfo_v2(stream, null_mut(), null_mut(), null_mut(), null_mut(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    fn edges_are_told_with_their_nodes(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut status, mut count) = (stage.captured(LOCAL)?, NONE, 0);
        let (mut nodes, mut edges) = (null(), null());
        call!(driver.cuStreamGetCaptureInfo_v3(
            stream, &mut status, null_mut(), null_mut(), &mut nodes, &mut edges, &mut count
        ))?;
        assert!(count == 1 && !nodes.is_null() && !edges.is_null());
        answers!(
            driver.cuStreamGetCaptureInfo_v3(
                stream, &mut status, null_mut(), null_mut(), null_mut(), &mut edges, &mut count
            ),
            CUDA_ERROR_INVALID_VALUE
        );
        stage.end(stream)?;
    }

    fn dependencies_can_be_added_and_replaced(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        let mut first: [CUgraphNode; 2] = [stage.tips(stream)?[0]; 2];
        stage.fill(stream)?;
        let last = stage.tips(stream)?[0];
        // Twice the same is once.
        call!(driver.cuStreamUpdateCaptureDependencies(stream, first.as_mut_ptr(), 2, 0))?;
        assert_eq!(stage.tips(stream)?, [last, first[0]]);
        call!(driver.cuStreamUpdateCaptureDependencies_v2(stream, first.as_mut_ptr(), null(), 1, 1))?;
        assert_eq!(stage.tips(stream)?, [first[0]]);
        stage.fill(stream)?;
        call!(driver.cuStreamUpdateCaptureDependencies(stream, null_mut(), 0, 1))?;
        assert!(stage.tips(stream)?.is_empty());
        stage.fill(stream)?;
        // What was taken off is no fork that was not joined.
        let graph = stage.end(stream)?;
        assert_eq!(graph.edges()?, [(0, 1), (0, 2)]);
    }

    fn dependencies_that_make_no_sense_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (idle, other) = (stage.stream()?, stage.captured(LOCAL)?);
        let mut foreign = [stage.tips(other)?[0]];
        let stream = stage.captured(LOCAL)?;
        let list = foreign.as_mut_ptr();
        answers!(driver.cuStreamUpdateCaptureDependencies(idle, null_mut(), 0, 1), CUDA_ERROR_ILLEGAL_STATE);
        answers!(driver.cuStreamUpdateCaptureDependencies(stream, list, 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamUpdateCaptureDependencies(stream, null_mut(), 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuStreamUpdateCaptureDependencies(stream, null_mut(), 0, 2), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(stage.status(stream)?, ACTIVE);
        stage.end(stream)?;
        stage.end(other)?;
    }

    fn a_capture_can_go_into_a_graph_that_is_there(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        let graph = stage.end(stream)?;
        let first = graph.nodes()?;
        call!(driver.cuStreamBeginCaptureToGraph(stream, graph.raw, first.as_ptr(), null(), 1, LOCAL))?;
        let other = stage.stream()?;
        answers!(
            driver.cuStreamBeginCaptureToGraph(other, graph.raw, null(), null(), 0, LOCAL),
            CUDA_ERROR_ILLEGAL_STATE
        );
        stage.fill(stream)?;
        let mut same = null_mut();
        call!(driver.cuStreamEndCapture(stream, &mut same))?;
        assert_eq!(same, graph.raw);
        assert_eq!(graph.edges()?, [(0, 1)]);
        let raw = graph.raw;
        std::mem::forget(graph);
        // If that goes wrong, the graph is gone.
        call!(driver.cuStreamBeginCaptureToGraph(stream, raw, null(), null(), 0, LOCAL))?;
        answers!(driver.cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}
