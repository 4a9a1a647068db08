//! Streams that take part in a capture.

use warploom::capture::Relaxed;
use warploom::{CaptureError, CaptureStatus, OrderedResource};
use warploom_testkit::driver_tests;

use crate::spy::Spy;
use crate::support::Stage;

driver_tests! {
    /// A stream that waits for the capture takes part: its work becomes part of the graph, and its buffers
    /// wait for the end.
    fn a_stream_that_waits_takes_part(driver) {
        let stage = Stage::new(driver)?;
        let spy = Spy::on(&stage.pool);
        let (mut first, mut second) = (spy.zeroed::<u8>(64, &stage.stream)?, spy.zeroed::<u8>(64, &stage.other)?);
        let third = spy.zeroed::<u8>(64, &stage.other)?;
        let capture = stage.stream.capture(Relaxed)?;
        first.fill(1, &capture)?;
        stage.other.wait_for(&stage.stream)?;
        assert_eq!(stage.other.capture_status()?, CaptureStatus::Active);
        second.fill(2, &stage.other)?;
        stage.stream.wait_for(&stage.other)?;
        drop((second, third));
        assert!(spy.freed().is_empty(), "one is the graph's, one waits for the end");
        assert!(stage.other.synchronize().is_err());
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 2);
        assert!(graph.is_accounted()?);
        assert_eq!(spy.freed().len(), 1);
        assert_eq!(stage.other.capture_status()?, CaptureStatus::None);
        stage.other.synchronize()?;
        drop(graph);
        assert_eq!(spy.freed().len(), 1);
    }

    fn work_that_is_not_joined_gives_no_graph(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(64, &stage.other)?;
        let capture = stage.stream.capture(Relaxed)?;
        stage.other.wait_for(capture.stream())?;
        buffer.fill(2, &stage.other)?;
        let code = capture.end().map(drop).map_err(|error| error.code());
        assert_eq!(code, Err(Some(warploom::sys::types::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED)));
        buffer.fill(3, &stage.other)?;
        assert_eq!(buffer.download(&stage.other)?[0], 3);
    }

    /// What would spoil a capture is refused before the driver is asked.
    fn captures_wait_for_nothing_outside_and_are_not_merged(driver) {
        let stage = Stage::new(driver)?;
        let outside = stage.other.record()?;
        let first = stage.stream.capture(Relaxed)?;
        assert_eq!(stage.stream.wait(&outside), Err(CaptureError::Outside.into()));
        let inside = stage.stream.record()?;
        let second = stage.other.capture(Relaxed)?;
        assert_eq!(stage.other.wait(&inside), Err(CaptureError::OtherCapture.into()));
        assert_eq!(stage.context.legacy_stream().wait(&inside), Err(CaptureError::DefaultStream.into()));
        assert_eq!(inside.is_complete(), Err(CaptureError::CapturedEvent.into()));
        assert_eq!(inside.synchronize(), Err(CaptureError::CapturedEvent.into()));
        assert!(first.is_valid()? && second.is_valid()?);
        first.end()?;
        second.end()?;
        // Moved outside, the event is one like any other.
        stage.stream.record_into(&inside)?;
        inside.synchronize()?;
    }
}
