//! Captures that are forgotten, or that the driver does not end.

use std::mem::forget;

use warploom::capture::{Relaxed, ThreadLocal};
use warploom::sys::types::CUresult;
use warploom::{CaptureError, CaptureStatus, Function, GraphDef, GraphError};
use warploom_sim::Mode;
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_testkit::{TestResult, driver_tests, open};

use crate::support::Stage;

driver_tests! {
    /// The driver must not destroy a graph that a stream is captured into, so that bodies end before the
    /// captures around them, the innermost first.
    ///
    /// All cases share one machine, which forgotten streams keep for good.
    fn forgotten_bodies_end_before_the_captures_around_them(driver) {
        let stage = Stage::new(driver)?;
        at_the_end(&stage)?;
        at_a_drop(&stage)?;
        inside_of_another(&stage)?;
        without_a_graph(&stage)?;
    }
}

fn at_the_end(stage: &Stage) -> TestResult {
    let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
    let capture = stage.stream.capture(Relaxed)?;
    let body = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
    let inner = body.stream().clone();
    buffer.fill(1, &inner)?;
    forget(body);
    let graph = GraphDef::from(capture.end()?);
    assert_eq!(inner.capture_status()?, CaptureStatus::None);
    graph.instantiate()?.launch(&stage.stream)?;
    assert_eq!(buffer.download(&stage.stream)?, [1; 4]);
    buffer.fill(2, &inner)?;
    assert_eq!(buffer.download(&inner)?, [2; 4]);
    Ok(())
}

fn at_a_drop(stage: &Stage) -> TestResult {
    let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
    let capture = stage.stream.capture(Relaxed)?;
    let condition = capture.condition(1)?;
    let body = capture.if_then(&condition)?.capture(Relaxed)?;
    let inner = body.stream().clone();
    buffer.fill(1, &inner)?;
    forget(body);
    drop(capture);
    assert_eq!(inner.capture_status()?, CaptureStatus::None);
    assert!(condition.graph().is_destroyed());
    buffer.fill(2, &inner)?;
    assert_eq!(buffer.download(&inner)?, [2; 4]);
    Ok(())
}

fn inside_of_another(stage: &Stage) -> TestResult {
    let mut buffer = stage.pool.zeroed::<u32>(2, &stage.stream)?;
    let capture = stage.stream.capture(ThreadLocal)?;
    let outer = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
    let middle = outer.if_then(&outer.condition(1)?)?.capture(Relaxed)?;
    let inner = middle.if_then(&middle.condition(1)?)?.capture(ThreadLocal)?;
    buffer.fill(7, &inner)?;
    let streams = [inner.stream().clone(), middle.stream().clone()];
    forget(inner);
    forget(middle);
    outer.end()?;
    for stream in streams {
        assert_eq!(stream.capture_status()?, CaptureStatus::None);
    }
    capture.end()?.instantiate()?.launch(&stage.stream)?;
    assert_eq!(buffer.download(&stage.stream)?, [7; 2]);
    Ok(())
}

/// The driver destroys the graph of a capture that was not joined, and with it the body.
fn without_a_graph(stage: &Stage) -> TestResult {
    let mut buffer = stage.pool.zeroed::<u32>(2, &stage.other)?;
    let capture = stage.stream.capture(Relaxed)?;
    let body = capture.if_then(&capture.condition(1)?)?.capture(Relaxed)?;
    let inner = body.stream().clone();
    forget(body);
    stage.other.wait_for(capture.stream())?;
    buffer.fill(1, &stage.other)?;
    let code = capture.end().map(drop).map_err(|error| error.code());
    assert_eq!(code, Err(Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED)));
    for stream in [&inner, &stage.stream, &stage.other] {
        assert_eq!(stream.capture_status()?, CaptureStatus::None);
        stream.synchronize()?;
    }
    Ok(())
}

/// If a body cannot be ended, nothing that has it inside ends, or is destroyed.
#[test]
fn a_capture_goes_on_around_a_body_that_cannot_be_ended() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
    let capture = stage.stream.capture(Relaxed)?;
    let condition = capture.condition(1)?;
    let body = capture.if_then(&condition)?.capture(Relaxed)?;
    let inner = body.stream().clone();
    forget(body);
    let rule = Rule::on(Function::cuStreamEndCapture).fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    let scope = machine.inject(Plan::new().rule(rule))?;
    assert_eq!(capture.end().map(drop), Err(CaptureError::BodyForgotten.into()));
    drop(scope);
    for stream in [&inner, &stage.stream] {
        assert_eq!(stream.capture_status()?, CaptureStatus::Active);
        buffer.fill(1, stream)?;
    }
    let node = condition.graph().nodes()?.remove(0);
    assert_eq!(node.destroy(), Err(GraphError::Captured.into()));
    Ok(())
}

/// A capture that the driver does not end is still known, and keeps what is captured from then on.
#[test]
fn a_capture_that_cannot_be_ended_goes_on() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let stage = Stage::new(&driver)?;
    let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
    let capture = stage.stream.capture(Relaxed)?;
    let rule = Rule::on(Function::cuStreamEndCapture).fail(CUresult::CUDA_ERROR_UNKNOWN);
    let scope = machine.inject(Plan::new().rule(rule))?;
    let code = capture.end().map(drop).map_err(|error| error.code());
    assert_eq!(code, Err(Some(CUresult::CUDA_ERROR_UNKNOWN)));
    drop(scope);
    assert_eq!(stage.stream.capture_status()?, CaptureStatus::Active);
    buffer.fill(1, &stage.stream)?;
    assert!(stage.stream.synchronize().is_err(), "it is still captured");
    let used = stage.pool.statistics()?.used;
    drop(buffer);
    assert_eq!(stage.pool.statistics()?.used, used, "the capture keeps the memory");
    Ok(())
}
