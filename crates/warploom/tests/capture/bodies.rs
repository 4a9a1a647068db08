//! Bodies of conditional nodes in a capture.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::capture::{Relaxed, ThreadLocal};
use warploom::graph::{Owner, reclaim};
use warploom::{Buffer, CaptureError, Error, GraphDef, GraphError, Result, Stream};
use warploom_testkit::{TestResult, driver_tests};

use crate::support::{Stage, is_kept};

/// Launches a graph, and downloads its results.
fn written(graph: &GraphDef, buffer: &Buffer<u32>, stream: &Stream) -> Result<Vec<u32>> {
    graph.instantiate()?.launch(stream)?;
    buffer.download(stream)
}

driver_tests! {
    /// S2.37: a conditional node comes after what was captured before, and before what is captured next. Its
    /// body is captured on a stream of its own.
    fn a_body_is_captured(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
        for (value, expected) in [(1, [3, 2, 2, 1]), (0, [3, 1, 1, 1])] {
            let capture = stage.stream.capture(Relaxed)?;
            buffer.fill(1, &capture)?;
            let condition = capture.condition(value)?;
            let body = capture.if_then(&condition)?.capture(Relaxed)?;
            assert_ne!(body.stream(), capture.stream());
            buffer.slice_mut(..3)?.fill(2, &body)?;
            body.end()?;
            buffer.slice_mut(..1)?.fill(3, &capture)?;
            let graph = capture.end()?;
            assert_eq!((graph.node_count()?, graph.is_accounted()?), (3, true));
            assert_eq!(written(graph.definition(), &buffer, &stage.stream)?, expected);
        }
    }

    fn one_of_two_bodies_runs(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(1, &stage.stream)?;
        for (value, expected) in [(1, 10), (0, 20)] {
            let capture = stage.stream.capture(Relaxed)?;
            let (yes, no) = capture.if_else(&capture.condition(value)?)?;
            let (yes, no) = (yes.capture(Relaxed)?, no.capture(ThreadLocal)?);
            buffer.fill(10, &yes)?;
            buffer.fill(20, &no)?;
            yes.end()?;
            no.end()?;
            let graph = capture.end()?;
            assert_eq!(written(graph.definition(), &buffer, &stage.stream)?, [expected]);
        }
    }

    fn the_body_of_the_value_runs(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(1, &stage.stream)?;
        for (value, expected) in [(0, 1), (2, 3), (3, 0)] {
            buffer.zero(&stage.stream)?;
            let capture = stage.stream.capture(Relaxed)?;
            for (branch, number) in capture.switch(&capture.condition(value)?, 3)?.into_iter().zip(1..) {
                let branch = branch.capture(Relaxed)?;
                buffer.fill(number, &branch)?;
                branch.end()?;
            }
            let graph = capture.end()?;
            assert_eq!(written(graph.definition(), &buffer, &stage.stream)?, [expected]);
        }
    }

    /// S2.42: a body is filled by its definition alone, without a capture; or it is captured and then
    /// extended.
    fn a_body_is_filled_by_its_definition(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let explicit = capture.if_then(&capture.condition(1)?)?;
        explicit.definition().entry().fill(&mut buffer, 1)?;
        let hybrid = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
        buffer.slice_mut(..2)?.fill(2, &hybrid)?;
        let hybrid = hybrid.end()?;
        let captured = hybrid.definition().nodes()?;
        let graph = GraphDef::from(capture.end()?);
        // S2.41: the definition is the same graph, and is used after the capture has ended.
        hybrid.definition().after(captured).fill(buffer.slice_mut(..1)?, 3)?;
        assert_eq!(hybrid.definition().root(), graph);
        assert_eq!(written(&graph, &buffer, &stage.stream)?, [3, 2, 1, 1]);
    }

    /// S2.37: a node on a fork, and a node in the body of another, belong to the capture's hierarchy, and the
    /// innermost body keeps all of it.
    fn a_nested_body_keeps_the_whole_graph(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(2, &stage.stream)?;
        let value = Arc::new(());
        let capture = stage.stream.capture(Relaxed)?;
        capture.keep_alive(Arc::clone(&value));
        let inner = {
            let forks = capture.fork(1)?;
            let outer = forks[0].if_then(&forks[0].condition(1)?)?.capture(Relaxed)?;
            buffer.slice_mut(..1)?.fill(1, &outer)?;
            let inner = outer.if_then(&outer.condition(1)?)?;
            let definition = inner.definition().clone();
            outer.end()?;
            definition
        };
        drop(capture.end()?);
        assert!(is_kept(&value), "the body keeps the graph");
        inner.entry().fill(buffer.slice_mut(1..)?, 2)?;
        assert_eq!(written(&inner.root(), &buffer, &stage.stream)?, [1, 2]);
        inner.close()?;
        assert!(stage.is_gone(&value));
    }

    /// S2.34: memory and kernels captured in a body are kept with the graph.
    fn a_body_keeps_the_memory_that_it_uses(driver) {
        let stage = Stage::new(driver)?;
        let calls = Arc::new(AtomicU32::new(0));
        let mut scratch = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let body = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
        scratch.fill(1, &body)?;
        body.keep_alive(Arc::clone(&calls));
        let used = stage.pool.statistics()?.used;
        drop(scratch);
        let body = body.end()?;
        body.definition().keep_alive(Owner::new(Arc::clone(&calls)))?;
        let exec = capture.end()?.instantiate()?;
        reclaim();
        assert_eq!(stage.pool.statistics()?.used, used);
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
        assert_eq!(Arc::strong_count(&calls), 3);
        drop((body, exec));
        assert!(stage.is_gone(&calls));
        stage.stream.synchronize()?;
        assert_eq!(stage.pool.statistics()?.used, 0);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }

    /// S2.38: dropping a body ends its capture, and the capture that it is part of goes on.
    fn a_body_that_is_dropped_is_over(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(1, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let body = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
        buffer.fill(1, &body)?;
        let stream = body.stream().clone();
        drop(body);
        assert_eq!(stream.capture_status()?, warploom::CaptureStatus::None);
        stream.synchronize()?;
        assert!(capture.is_valid()?);
        capture.end()?;
    }

    /// Conditions belong to their graph, and captures do not mix.
    fn conditions_and_streams_of_other_graphs_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(Relaxed)?;
        let other = stage.other.capture(Relaxed)?;
        let (condition, foreign) = (capture.condition(1)?, other.condition(1)?);
        let refused = Error::Graph(GraphError::OtherGraph { what: "condition" });
        assert_eq!(capture.while_loop(&foreign).map(drop), Err(refused));
        assert_eq!(capture.switch(&condition, 0).map(drop), Err(GraphError::NoBranches.into()));
        let body = capture.if_then(&condition)?.capture(Relaxed)?;
        assert_eq!(body.if_then(&condition).map(drop), Err(GraphError::ConditionUsed.into()));
        assert_eq!(body.stream().wait_for(capture.stream()), Err(CaptureError::OtherCapture.into()));
        assert!(body.is_valid()? && capture.is_valid()? && other.is_valid()?);
        drop(body);
        capture.end()?;
    }

    /// A body is filled on one thread while the capture goes on on another; the graph is used by one at a
    /// time.
    fn a_body_is_filled_on_another_thread(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(2, &stage.stream)?;
        let mut other = stage.pool.zeroed::<u32>(2, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let body = capture.if_then(&capture.condition(1)?)?.definition().clone();
        std::thread::scope(|scope| -> TestResult {
            let filling = scope.spawn(|| -> Result<()> {
                let mut last = body.entry().fill(&mut other, 0)?;
                for value in 1..=100 {
                    last = last.then().fill(&mut other, value)?;
                }
                Ok(())
            });
            for value in 1..=100 {
                buffer.fill(value, &capture)?;
            }
            Ok(filling.join().map_err(|_| "it panicked")??)
        })?;
        let graph = GraphDef::from(capture.end()?);
        assert_eq!((graph.node_count()?, body.node_count()?), (101, 101));
        assert_eq!(written(&graph, &buffer, &stage.stream)?, [100, 100]);
        assert_eq!(other.download(&stage.stream)?, [100, 100]);
    }
}
