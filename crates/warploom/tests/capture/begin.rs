//! Beginning and ending captures, and the memory their graphs keep.

use std::sync::Arc;

use warploom::capture::{Global, Relaxed, ThreadLocal};
use warploom::graph::reclaim;
use warploom::{CaptureError, CaptureStatus, Function, OrderedResource, Queue};
use warploom_testkit::{budget, driver_tests};

use crate::spy::Spy;
use crate::support::Stage;

driver_tests! {
    /// S2.39, S2.43: what is enqueued becomes a graph, which is owned from the end on, and nothing runs.
    fn a_capture_gives_a_graph_and_runs_nothing(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.upload(&[1_u32; 64], &stage.stream)?;
        let capture = stage.stream.capture(ThreadLocal)?;
        assert_eq!(stage.stream.capture_status()?, CaptureStatus::Active);
        assert!(capture.is_valid()?);
        buffer.fill(2, &capture)?;
        buffer.slice_mut(..8)?.fill(3, capture.stream())?;
        let graph = capture.end()?;
        assert_eq!(stage.stream.capture_status()?, CaptureStatus::None);
        assert_eq!(graph.node_count()?, 2);
        assert!(graph.is_accounted()?);
        assert_eq!(buffer.download(&stage.stream)?, [1; 64]);
        graph.close()?;
    }

    fn every_mode_captures(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let global = stage.stream.capture(Global)?;
        buffer.fill(1, &global)?;
        assert_eq!(global.end()?.node_count()?, 1);
        let relaxed = stage.stream.capture(Relaxed)?;
        let graph = std::thread::scope(|scope| scope.spawn(|| relaxed.end()).join().expect("it does not panic"))?;
        assert_eq!(graph.node_count()?, 0);
    }

    /// S2.38: dropping ends the capture, and the stream stays usable.
    fn a_capture_that_is_dropped_is_over(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        buffer.fill(1, &capture)?;
        drop(capture);
        assert_eq!(stage.stream.capture_status()?, CaptureStatus::None);
        buffer.fill(2, &stage.stream)?;
        assert_eq!(buffer.download(&stage.stream)?, [2; 64]);
    }

    fn a_stream_is_captured_once_at_a_time_and_default_streams_never(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(Relaxed)?;
        let again = stage.stream.clone().capture(Relaxed).map(drop);
        assert_eq!(again, Err(CaptureError::NotCapturable { what: "the beginning of another capture" }.into()));
        for default in [stage.context.legacy_stream(), stage.context.per_thread_stream()] {
            assert_eq!(default.capture(Relaxed).map(drop), Err(CaptureError::DefaultStream.into()));
        }
        assert!(capture.is_valid()?);
        let other = stage.other.capture(Relaxed)?;
        capture.end()?;
        other.end()?;
    }

    /// S2.38: an invalidated capture is an error and has to be ended; the driver's answer says so.
    fn a_spoiled_capture_gives_no_graph_and_the_stream_back(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(ThreadLocal)?;
        // Calls that no graph could contain, on the thread that captures.
        assert!(stage.other.is_idle().is_err());
        assert!(!capture.is_valid()?);
        let code = capture.end().map(drop).map_err(|error| error.code());
        assert_eq!(code, Err(Some(warploom::sys::types::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)));
        stage.stream.synchronize()?;
        drop(stage.stream.capture(ThreadLocal)?);
        stage.stream.synchronize()?;
    }

    /// S2.34: what a graph refers to is there for as long as the graph.
    fn a_graph_keeps_the_memory_that_it_uses(driver) {
        let stage = Stage::new(driver)?;
        let spy = Spy::on(&stage.pool);
        let (source, mut target) = (spy.upload(&[7_u8; 64], &stage.stream)?, spy.zeroed(64, &stage.stream)?);
        let addresses = [source.as_raw(), target.as_raw()];
        let capture = stage.stream.capture(Relaxed)?;
        source.copy_to(&mut target, &capture)?;
        drop((source, target));
        let graph = capture.end()?;
        assert!(spy.freed().is_empty(), "the graph has them");
        drop(graph);
        reclaim();
        let freed = spy.freed();
        assert!(freed.iter().all(|(_, on)| *on == stage.stream) && freed.len() == 2, "{freed:?}");
        assert!(addresses.iter().all(|address| freed.iter().any(|(freed, _)| freed == address)));
    }

    /// S2.34: an owner of one's own, without a node.
    fn a_graph_keeps_values_given_to_it(driver) {
        let stage = Stage::new(driver)?;
        let (early, late) = (Arc::new(()), Arc::new(()));
        let capture = stage.stream.capture(Relaxed)?;
        capture.keep_alive(Arc::clone(&early));
        let graph = capture.end()?;
        graph.keep_alive(Arc::clone(&late))?;
        assert_eq!((Arc::strong_count(&early), Arc::strong_count(&late), graph.node_count()?), (2, 2, 0));
        drop(graph);
        reclaim();
        assert_eq!((Arc::strong_count(&early), Arc::strong_count(&late)), (1, 1));
    }

    fn nodes_captured_by_calling_the_driver_are_not_accounted(driver) {
        let stage = Stage::new(driver)?;
        let buffer = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let raw = capture.stream().as_raw();
        warploom_testkit::call!(driver.cuMemsetD8Async(buffer.as_raw(), 1, 64, raw))?;
        let graph = capture.end()?;
        assert!(!graph.is_accounted()?);
        drop(graph);
        reclaim();
        drop(buffer);
    }

    /// One call to begin and one to mark what came before, one to end; a captured operation is one call, as
    /// any other.
    fn calls_of_a_capture(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        drop(stage.stream.record()?);
        let capture = budget(driver, &[(Function::cuEventRecord, 1), (Function::cuStreamBeginCapture_v2, 1)], || {
            stage.stream.capture(Relaxed)
        })?;
        budget(driver, &[(Function::cuMemsetD8Async, 1)], || buffer.fill(1, &capture))?;
        let graph = budget(driver, &[(Function::cuStreamEndCapture, 1)], || capture.end())?;
        budget(driver, &[(Function::cuGraphDestroy, 1)], || graph.close())?;
    }

    fn a_capture_is_a_queue(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(Relaxed)?;
        assert_eq!(Queue::stream(&capture), &stage.stream);
        assert!(format!("{capture:?}").contains("Capture"));
        let graph = capture.end()?;
        assert!(format!("{graph:?}").contains("Captured"));
        assert_eq!(graph.context(), &stage.context);
        assert!(!graph.as_raw()?.is_null());
    }
}
