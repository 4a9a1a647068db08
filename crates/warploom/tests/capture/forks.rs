//! Streams that take part in a capture.

use std::ptr::null_mut;

use warploom::capture::{Captured, Relaxed, ThreadLocal};
use warploom::graph::reclaim;
use warploom::{CaptureError, CaptureStatus, Driver, OrderedResource};
use warploom_testkit::{TestResult, driver_tests};

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
        reclaim();
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

    /// A call that would invalidate a capture is refused before the driver is called.
    fn captures_wait_for_nothing_outside_and_are_not_merged(driver) {
        let stage = Stage::new(driver)?;
        let outside = stage.other.record()?;
        let first = stage.stream.capture(Relaxed)?;
        assert_eq!(stage.stream.wait(&outside), Err(CaptureError::Outside.into()));
        let mut inside = stage.stream.record()?;
        let second = stage.other.capture(Relaxed)?;
        assert_eq!(stage.other.wait(&inside), Err(CaptureError::OtherCapture.into()));
        assert_eq!(stage.context.legacy_stream().wait(&inside), Err(CaptureError::DefaultStream.into()));
        assert_eq!(inside.is_complete(), Err(CaptureError::CapturedEvent.into()));
        assert_eq!(inside.synchronize(), Err(CaptureError::CapturedEvent.into()));
        assert!(first.is_valid()? && second.is_valid()?);
        first.end()?;
        second.end()?;
        // Moved outside, the event is one like any other.
        stage.stream.record_into(&mut inside)?;
        inside.synchronize()?;
    }

    /// S2.38: forks capture beside each other on streams of their own, and a fork ends no capture.
    fn forks_are_branches_of_the_graph(driver) {
        let stage = Stage::new(driver)?;
        let mut buffers = [(); 4].map(|()| stage.pool.zeroed::<u8>(64, &stage.stream));
        let [Ok(first), Ok(left), Ok(right), Ok(last)] = &mut buffers else { return Err("no buffers".into()) };
        let capture = stage.stream.capture(Relaxed)?;
        first.fill(1, &capture)?;
        let mut forks = capture.fork(2)?;
        assert!(forks.iter().all(|fork| fork.stream() != capture.stream()));
        left.fill(2, &forks[0])?;
        right.fill(3, &forks[1])?;
        assert!(forks[0].is_valid()? && capture.is_valid()?);
        drop(forks.remove(0));
        assert!(capture.is_valid()?, "a fork ends no capture");
        capture.join(forks)?;
        last.fill(4, &capture)?;
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 4);
        assert!(graph.is_accounted()?);
        // One to each branch and one from each; that from the first node to the last may be left out.
        assert!(matches!(edges(driver, &graph)?, 4 | 5));
    }

    /// A fork may be forked, and is joined when it is dropped.
    fn forks_of_forks_are_joined_by_their_ends(driver) {
        let stage = Stage::new(driver)?;
        let (mut x, mut y) = (stage.pool.zeroed::<u8>(64, &stage.stream)?, stage.pool.zeroed::<u8>(64, &stage.stream)?);
        let capture = stage.stream.capture(ThreadLocal)?;
        assert!(capture.fork(0)?.is_empty());
        {
            let outer = capture.fork(1)?;
            x.fill(1, &outer[0])?;
            let inner = outer[0].fork(1)?;
            y.fill(2, &inner[0])?;
        }
        let graph = capture.end()?;
        assert_eq!((graph.node_count()?, edges(driver, &graph)?), (2, 1));
    }

    fn a_fork_of_another_capture_is_not_joined(driver) {
        let stage = Stage::new(driver)?;
        let (one, two) = (stage.stream.capture(Relaxed)?, stage.other.capture(Relaxed)?);
        assert_eq!(one.join(two.fork(1)?), Err(CaptureError::OtherCapture.into()));
        one.end()?;
        two.end()?;
    }
}

/// The number of edges of a graph.
#[expect(unsafe_code, reason = "asks the driver")]
fn edges(driver: &Driver, graph: &Captured) -> TestResult<usize> {
    let mut count = 0;
    // SAFETY: the graph is alive, and edges are only counted.
    unsafe { driver.cuGraphGetEdges(graph.as_raw()?, null_mut(), null_mut(), &raw mut count) }?;
    Ok(count)
}
