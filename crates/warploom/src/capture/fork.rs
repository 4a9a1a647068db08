//! Forks of a capture.

use std::fmt;
use std::ops::Deref;

use warploom_driver::sys::types::CUresult;

use super::CaptureStream;
use crate::diagnostics::{Subject, report};
use crate::queue::sealed;
use crate::{Queue, Result, Stream};

/// A branch of a capture on a stream of its own; see [`CaptureStream::fork`].
///
/// It takes work until it is joined, and never ends the capture. Dropping it joins it to the stream that it
/// was forked from, which it borrows: the capture cannot end before its forks are joined.
///
/// ```compile_fail,E0505
/// # use warploom::{Result, Stream};
/// # use warploom::capture::Relaxed;
/// fn unjoined(stream: &Stream) -> Result<()> {
///     let capture = stream.capture(Relaxed)?;
///     let forks = capture.fork(1)?;
///     capture.end()?;
///     drop(forks);
///     Ok(())
/// }
/// ```
pub struct Fork<'c> {
    stream: CaptureStream,
    origin: &'c CaptureStream,
    is_joined: bool,
}

impl<'c> Fork<'c> {
    pub(super) fn new(origin: &'c CaptureStream, stream: CaptureStream) -> Fork<'c> {
        Fork { stream, origin, is_joined: false }
    }

    /// Has a stream wait for the work of the fork.
    pub(super) fn join(mut self, stream: &Stream) -> Result<()> {
        stream.wait_for(self.stream.stream())?;
        self.is_joined = true;
        Ok(())
    }
}

impl Drop for Fork<'_> {
    fn drop(&mut self) {
        if self.is_joined {
            return;
        }
        let joined = self.origin.stream().wait_for(self.stream.stream());
        // The end of the capture reports that it was invalidated.
        let joined = joined.or_else(|error| match error.code() {
            Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) => Ok(()),
            _ => Err(error),
        });
        report(|| Subject::Capture { device: self.stream.stream().device().ordinal() }, joined);
    }
}

impl Deref for Fork<'_> {
    type Target = CaptureStream;

    fn deref(&self) -> &CaptureStream {
        &self.stream
    }
}

impl sealed::Sealed for Fork<'_> {}
impl Queue for Fork<'_> {
    fn stream(&self) -> &Stream {
        self.stream.stream()
    }
}

impl fmt::Debug for Fork<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Fork").field("stream", self.stream.stream()).finish_non_exhaustive()
    }
}
