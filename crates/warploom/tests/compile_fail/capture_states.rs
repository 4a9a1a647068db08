//! S2.40, S2.43: the states of captures, forks and bodies are types.
use warploom::capture::{Body, Capture, Capturing, Done, Fork, Relaxed};
use warploom::{Buffer, Result};

fn the_definition_of_a_capture_in_progress(capture: &Capture) {
    capture.definition();
}

fn the_definition_of_a_fork(fork: &Fork<'_>) {
    fork.definition();
}

fn the_definition_of_a_body_in_progress(body: &Body<'_, Capturing>) {
    body.definition();
}

fn work_on_a_body_that_is_not_captured(body: &Body<'_>, buffer: &mut Buffer<u8>) -> Result<()> {
    buffer.fill(1, body)
}

fn work_on_a_body_whose_capture_has_ended(body: &Body<'_, Done>, buffer: &mut Buffer<u8>) -> Result<()> {
    buffer.fill(1, body)
}

fn a_body_that_is_captured_again(body: Body<'_, Done>) -> Result<()> {
    body.capture(Relaxed).map(drop)
}

fn a_fork_that_ends_the_capture(fork: Fork<'_>) {
    fork.end();
}

fn main() {}
