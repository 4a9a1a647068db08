//! Ending the driver's capture of a stream.
#![expect(unsafe_code, reason = "ends captures of raw streams")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{CUgraph, CUresult};

use crate::{CaptureStatus, Result, Stream};

/// A capture that is over.
pub(crate) struct Ended {
    /// The graph; null if there is none. There may be one in spite of an error.
    pub(crate) graph: CUgraph,
    pub(crate) result: Result<()>,
    /// `false` if the stream is still being captured.
    pub(crate) is_over: bool,
}

/// Ends the driver's capture of a stream. A call that fails before it has done anything is made again, so
/// that the stream is usable; the error is still returned.
pub(super) fn end(stream: &Stream) -> Ended {
    let mut graph = null_mut();
    let mut call = || -> Result<()> {
        // SAFETY: the stream is alive, and `graph` is writable.
        Ok(stream.with_raw(|raw| unsafe { stream.driver().cuStreamEndCapture(raw, &raw mut graph) })??)
    };
    let is_captured = || stream.capture_status().is_ok_and(|status| status != CaptureStatus::None);
    let (mut result, mut is_over) = (call(), true);
    if let Err(error) = &result
        && is_captured()
    {
        let again = call();
        is_over = again.is_ok() || !is_captured();
        result = again.and(Err(error.clone()));
    }
    Ended { graph, result, is_over }
}

/// The answer for a capture whose graph is not wanted: that there is none is no error.
pub(super) fn unwanted(ended: Result<()>) -> Result<()> {
    ended.or_else(|error| match error.code() {
        Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED) => Ok(()),
        _ => Err(error),
    })
}
