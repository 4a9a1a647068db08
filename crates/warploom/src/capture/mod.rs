//! Stream capture: enqueued work becomes a graph instead of running.
//!
//! ```text
//!   Stream ── capture(mode) ──▶ Capture ── end() ──▶ Captured ── definition(), into() ──▶ GraphDef
//!                                  │
//!                                  ├── fork(n) ──▶ Fork ── join(forks), or dropped ──▶ joined again
//!                                  ├── while_loop(&condition) … ──▶ Body<Idle> ── capture(mode) ──▶
//!                                  │                                Body<Capturing> ── end() ──▶ Body<Done>
//!                                  └── dropped: the capture is over, and there is no graph
//! ```
//!
//! [`Stream::capture`] begins, and the [`Capture`] takes work, on itself or on its stream, until it is ended.
//! [Forks](CaptureStream::fork) are branches on streams of their own. A stream that waits for an event of the
//! capture becomes part of it ([`Stream::wait_for`]), until the end, before which its work has to be joined
//! by a wait the other way round.
//!
//! ```
//! use warploom::capture::Relaxed;
//! use warploom::{DevicePool, Driver};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
//! let context = driver.device(0)?.context()?;
//! let stream = context.stream()?;
//! let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(1024, &stream)?;
//!
//! let capture = stream.capture(Relaxed)?;
//! buffer.fill(7, &capture)?;
//! let graph = capture.end()?;
//! assert_eq!(graph.node_count()?, 1);
//! assert_eq!(buffer.download(&stream)?[0], 0, "nothing has been filled");
//! drop(buffer); // the graph keeps the memory
//! # Ok(())
//! # }
//! ```
//!
//! # Memory and code that a capture keeps
//!
//! A graph refers to memory and to code. The capture, and then the graph with its clones, executables and
//! launches, keeps everything that is captured through this crate: buffers, kernels and their libraries,
//! [callbacks](CaptureStream::callback), and values [given to it](CaptureStream::keep_alive). Nodes that are
//! captured by calling the driver with [`Stream::as_raw`] are not kept; [`Captured::is_accounted`] is `false`
//! if there are any.
//!
//! # Threads
//!
//! Threads may enqueue on a stream while others begin to capture it, have it join a capture, or end that. Each
//! call then runs, is captured with the memory that it uses, or returns [`CaptureError::BeganMeanwhile`], if the
//! capture began after the call did. Calls on the streams of a capture are made one at a time.
//!
//! # Operations that can be captured
//!
//! | | on a captured stream |
//! |---|---|
//! | fills, copies between memory that the device has access to, launches, records and waits | become part of the graph |
//! | allocations | from a [`GraphPool`](crate::GraphPool), and from no other |
//! | dropping a buffer that is to be freed in the order of the stream | frees it when the capture ends |
//! | closing a buffer of a [`GraphPool`](crate::GraphPool) | becomes part of the graph, after all streams that used it |
//! | callbacks, embedded graphs, conditional nodes | by the functions of [`CaptureStream`] |
//! | waiting for the stream, [`Stream::host`], futures, launches of graphs, copies from and to the host, in batches or with options, prefetches, discards | [`CaptureError`], and the capture goes on |
//!
//! Other streams go on as before. A wait for a captured stream is a wait for its work before the capture.
//!
//! # Modes
//!
//! The driver forbids calls that no graph would repeat, such as allocations elsewhere, while a stream is
//! captured: [`Relaxed`] none, [`ThreadLocal`] those of the thread that began, [`Global`] those of all
//! threads. Such a call fails and invalidates the capture. Calls that this crate makes itself when a value is
//! dropped are never among them.
//!
//! # Captures that others began
//!
//! A capture that was begun by calling the driver is not known here, neither on a stream of one's own
//! ([`Stream::as_raw`]) nor on one that was [taken over](Stream::from_raw): the code that begins it keeps
//! everything the graph refers to, and uses the stream for nothing else until the end.
//! [`Stream::capture_status`] asks the driver, and knows of all.
#![expect(unsafe_code, reason = "begins and ends captures of raw streams")]

mod active;
mod body;
mod captured;
mod error;
mod finish;
mod forgotten;
mod fork;
mod in_flight;
mod mode;
mod nodes;
mod order;
mod relaxed_mode;
mod sequence;
mod stream;
mod tail;
mod turn;

use active::is_on;
pub(crate) use active::{
    Claim, any, before, check_context, check_event, check_legacy, check_scope, check_work, claim, declare_use, did,
    enqueue, in_context, keep, keep_owner, note_copy, of, shadowed,
};
pub use body::{Body, Capturing, Done, Idle, Settled, State};
pub use captured::Captured;
pub use error::CaptureError;
pub(crate) use finish::Ended;
pub use fork::Fork;
pub(crate) use in_flight::mark;
pub use mode::{Global, Mode, Relaxed, ThreadLocal};
pub(crate) use order::GraphMemoryId;
pub(crate) use relaxed_mode::RelaxedMode;
pub(crate) use sequence::{CaptureId, Sequence};
pub use stream::CaptureStream;
pub(crate) use turn::Turn;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use self::finish::{end, unwanted};
use self::forgotten::end_bodies;
use crate::diagnostics::{Subject, report};
use crate::queue::sealed;
use crate::{CaptureStatus, Context, GraphDef, Queue, Result, Stream, callback, reclaimer};

/// A stream that is being captured. Dropping it ends the capture, and there is no graph.
///
/// Only a [`Relaxed`] capture may go to another thread: the driver wants the others to end where they began.
#[must_use = "dropping it ends the capture"]
pub struct Capture<M: Mode = Relaxed> {
    stream: CaptureStream,
    is_over: bool,
    _stays: M::Stays,
}

impl Stream {
    /// Begins a capture: work enqueued from now on becomes a graph, and does not run. See
    /// [`capture`](crate::capture).
    ///
    /// # Errors
    ///
    /// [`CaptureError::DefaultStream`] for a default stream, [`CaptureError::NotCapturable`] if the stream is
    /// part of a capture already, and the driver's error.
    #[doc(alias = "cuStreamBeginCapture")]
    pub fn capture<M: Mode>(&self, _mode: M) -> Result<Capture<M>> {
        if self.is_default() {
            return Err(CaptureError::DefaultStream.into());
        }
        self.refuse_captured("the beginning of another capture")?;
        let (sequence, _turn) = Sequence::begin(self, None)?;
        // SAFETY: `self` keeps the stream alive.
        let begun = self.with_raw(|raw| unsafe { self.driver().cuStreamBeginCapture_v2(raw, M::MODE) });
        if let Err(error) = begun.and_then(|answer| Ok(answer?)) {
            // The call may have failed when it was done.
            let begun = self.capture_status().is_ok_and(|status| status != CaptureStatus::None);
            let ended = if begun { end_unwanted(self) } else { Ok(()) };
            report(|| Subject::Capture { device: self.device().ordinal() }, ended);
            drop(sequence.finish());
            return Err(error);
        }
        let stream = CaptureStream::new(self.clone(), sequence);
        Ok(Capture { stream, is_over: false, _stays: M::Stays::default() })
    }
}

impl Context {
    /// Begins a capture on a stream of its own; see [`Stream::capture`].
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn capture<M: Mode>(&self, mode: M) -> Result<Capture<M>> {
        self.stream()?.capture(mode)
    }
}

impl<M: Mode> Capture<M> {
    /// Ends the capture: returns the graph and everything it uses. Buffers that were dropped meanwhile are
    /// freed now.
    ///
    /// # Errors
    ///
    /// The driver's error: `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a call has spoiled the capture,
    /// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` if a stream takes part whose work was not joined again. The
    /// capture is over all the same.
    ///
    /// Captures of bodies that were forgotten ([`std::mem::forget`]) are ended as if dropped.
    /// [`CaptureError::BodyForgotten`] if one can be ended on another thread alone; then this capture and its
    /// stream stay as they are for good.
    #[doc(alias = "cuStreamEndCapture")]
    pub fn end(mut self) -> Result<Captured> {
        self.is_over = true;
        end_bodies(self.stream.sequence())?;
        let definition = self.finish();
        let mut kept = self.stream.sequence().finish();
        let (definition, nodes) = (definition?, kept.nodes);
        if kept.has_memory_nodes {
            definition.note_memory_nodes();
        }
        definition.note_contexts(std::mem::take(&mut kept.contexts));
        if kept.has_padded_copies {
            definition.note_padded_copies();
        }
        if let Err(error) = definition.attach(kept.into_bundle()) {
            // It would use memory that nothing keeps.
            report(|| Subject::Capture { device: self.stream().device().ordinal() }, definition.destroy_root());
            return Err(error);
        }
        Ok(Captured::new(definition, nodes))
    }

    /// Ends it for the driver: the graph, which is owned from now on.
    fn finish(&self) -> Result<GraphDef> {
        let (stream, sequence) = (self.stream.stream(), self.stream.sequence());
        let _turn = sequence.turn();
        if let Some(graph) = sequence.known_graph() {
            return graph.end_capture(|| sequence.end(stream)).map(|()| graph.clone());
        }
        let Ended { graph, result, .. } = sequence.end(stream);
        if graph.is_null() {
            return result.and(Err(CaptureError::Invalidated.into()));
        }
        // SAFETY: the driver has given it out just now, and it has no other owner.
        let definition = unsafe { GraphDef::adopt(stream.context(), graph) };
        result.map(|()| definition)
    }
}

/// Ends the driver's capture of a stream, and destroys the graph.
fn end_unwanted(stream: &Stream) -> Result<()> {
    let Ended { graph, result, .. } = end(stream);
    if !graph.is_null() {
        // SAFETY: the driver has given it out just now, and it has no other owner.
        unsafe { GraphDef::adopt(stream.context(), graph) }.close()?;
    }
    result
}

impl<M: Mode> Drop for Capture<M> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if callback::is_running() {
            self.is_over = true;
            let stream = CaptureStream::new(self.stream().clone(), Arc::clone(self.stream.sequence()));
            // Only a relaxed capture gets to the thread of a callback.
            return reclaimer::defer(Capture::<Relaxed> { stream, is_over: false, _stays: () });
        }
        let device = self.stream().device().ordinal();
        if let Err(error) = end_bodies(self.stream.sequence()) {
            return report(|| Subject::Capture { device }, Err::<(), _>(error));
        }
        let ended = self.finish().and_then(|graph| graph.destroy_root());
        drop(self.stream.sequence().finish());
        report(|| Subject::Capture { device }, unwanted(ended));
    }
}

impl<M: Mode> Deref for Capture<M> {
    type Target = CaptureStream;

    fn deref(&self) -> &CaptureStream {
        &self.stream
    }
}

impl<M: Mode> sealed::Sealed for Capture<M> {}
impl<M: Mode> Queue for Capture<M> {
    fn stream(&self) -> &Stream {
        self.stream.stream()
    }
}

impl<M: Mode> fmt::Debug for Capture<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Capture").field("stream", self.stream.stream()).finish_non_exhaustive()
    }
}
