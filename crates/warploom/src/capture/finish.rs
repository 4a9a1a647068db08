//! Ending the driver's capture of a stream.
#![expect(unsafe_code, reason = "ends captures of raw streams")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{CUgraph, CUresult};

use crate::{CaptureStatus, Result, Stream};

/// Ends the driver's capture of a stream: the graph.
pub(super) fn end(stream: &Stream) -> Result<CUgraph> {
    let mut graph = null_mut();
    // SAFETY: the stream is alive, and `graph` is writable.
    stream.with_raw(|raw| unsafe { stream.driver().cuStreamEndCapture(raw, &raw mut graph) })??;
    Ok(graph)
}

/// As [`end`]. A call that fails before it has done anything is made again, so that the stream is usable;
/// `give_up` ends the graph that comes from that.
pub(super) fn finish(stream: &Stream, give_up: impl FnOnce(CUgraph) -> Result<()>) -> Result<CUgraph> {
    end(stream).or_else(|error| match stream.capture_status() {
        Ok(CaptureStatus::None) | Err(_) => Err(error),
        Ok(_) => end(stream).and_then(give_up).and(Err(error)),
    })
}

/// The answer for a capture whose graph is not wanted: that there is none is no error.
pub(super) fn unwanted(ended: Result<()>) -> Result<()> {
    ended.or_else(|error| match error.code() {
        Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED) => Ok(()),
        _ => Err(error),
    })
}
