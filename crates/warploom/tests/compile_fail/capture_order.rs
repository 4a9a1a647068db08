//! S2.43: captures end once, after their forks and bodies.
use warploom::Result;
use warploom::capture::{Body, Capture, Fork, Relaxed};
use warploom::graph::Condition;

fn a_body_that_is_captured_twice(body: Body<'_>) -> Result<()> {
    body.capture(Relaxed)?;
    body.capture(Relaxed).map(drop)
}

fn a_capture_that_has_ended(capture: Capture) -> Result<()> {
    capture.end()?;
    capture.fork(1).map(drop)
}

fn a_capture_that_ends_before_its_forks(capture: Capture) -> Result<()> {
    let _forks = capture.fork(2)?;
    capture.end().map(drop)
}

fn a_capture_that_ends_before_its_body(capture: Capture, more: &Condition) -> Result<()> {
    let _body = capture.while_loop(more)?.capture(Relaxed)?;
    capture.end().map(drop)
}

fn a_fork_that_is_joined_twice(capture: &Capture, fork: Fork<'_>) -> Result<()> {
    capture.join([fork])?;
    capture.join([fork])
}

fn main() {}
