//! Streams of a capture: the operations that captures, their forks and captured bodies share.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::fork::Fork;
use super::{RelaxedMode, Sequence};
use crate::queue::sealed;
use crate::{CaptureStatus, Queue, Result, Stream};

/// A stream that takes part in a capture. [`Capture`](super::Capture), [`Fork`] and
/// [`Body<Capturing>`](super::Body) dereference to it.
///
/// Threads may share it: calls on the streams of a capture are made one at a time, so that the nodes of a stream
/// come one after another, whichever threads they are from.
pub struct CaptureStream {
    stream: Stream,
    sequence: Arc<Sequence>,
}

impl CaptureStream {
    pub(super) fn new(stream: Stream, sequence: Arc<Sequence>) -> CaptureStream {
        CaptureStream { stream, sequence }
    }

    pub(super) fn sequence(&self) -> &Arc<Sequence> {
        &self.sequence
    }

    /// The stream. Streams that wait for it take part in the capture.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Keeps a value for as long as the graph, without a node.
    pub fn keep_alive(&self, owner: impl Any + Send + Sync) {
        self.sequence.keep_owner(Arc::new(owner));
    }

    /// `true` if the capture can still become a graph; `false` if a call has invalidated it, so that it can
    /// only be ended.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn is_valid(&self) -> Result<bool> {
        Ok(self.stream.capture_status()? == CaptureStatus::Active)
    }

    /// Forks: streams of their own, whose work comes after the work captured here so far, and in no order
    /// with what is captured here or on another fork from now on. [`CaptureStream::join`] ends that.
    ///
    /// ```
    /// use warploom::capture::Relaxed;
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let pool = DevicePool::new(&context)?;
    /// let (mut x, mut y) = (pool.zeroed::<u32>(64, &stream)?, pool.zeroed::<u32>(64, &stream)?);
    ///
    /// let capture = stream.capture(Relaxed)?;
    /// let forks = capture.fork(2)?;
    /// x.fill(1, &forks[0])?;
    /// y.fill(2, &forks[1])?; // beside the other
    /// capture.join(forks)?;
    /// x.copy_to(&mut y, &capture)?; // after both
    /// assert_eq!(capture.end()?.node_count()?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn fork(&self, count: usize) -> Result<Vec<Fork<'_>>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let _relaxed = RelaxedMode::new(self.stream.driver());
        let point = self.stream.record()?;
        let fork = |_| {
            let stream = self.stream.context().stream()?;
            stream.wait(&point)?;
            Ok(Fork::new(self, CaptureStream::new(stream, Arc::clone(&self.sequence))))
        };
        (0..count).map(fork).collect()
    }

    /// Has work captured here from now on wait for the work of forks, which end.
    ///
    /// # Errors
    ///
    /// [`CaptureError::OtherCapture`](crate::CaptureError::OtherCapture) for a fork of another capture, and
    /// the driver's error. Forks that are left are dropped, which joins them to the streams they came from.
    pub fn join<'f>(&self, forks: impl IntoIterator<Item = Fork<'f>>) -> Result<()> {
        forks.into_iter().try_for_each(|fork| fork.join(&self.stream))
    }
}

impl sealed::Sealed for CaptureStream {}
impl Queue for CaptureStream {
    fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl fmt::Debug for CaptureStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CaptureStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}
