//! Bodies of conditional nodes, filled by capture.
//!
//! ```text
//!   Body<Idle> ── capture(mode) ──▶ Body<Capturing> ── end() ──▶ Body<Done>
//!      │                                  │                          │
//!   definition()                 takes work like a stream       definition()
//! ```
#![expect(unsafe_code, reason = "begins captures into raw graphs")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::null;

use super::finish::{end, unwanted};
use super::forgotten::{end_bodies, end_body};
use super::{CaptureStream, Mode, Relaxed, RelaxedMode, Sequence};
use crate::diagnostics::{Subject, report};
use crate::{CaptureStatus, GraphDef, Queue, Result, Stream, queue};

/// The graph of a conditional node, which is filled by capturing a stream of its own, by adding nodes to its
/// [definition](Body::definition), or by both. See [`CaptureStream::while_loop`].
///
/// It borrows the stream that the conditional node was captured on until its own capture has ended: a capture
/// cannot end while a body of it is being captured.
///
/// ```compile_fail,E0505
/// # use warploom::Result;
/// # use warploom::capture::{Capture, Relaxed};
/// # use warploom::graph::Condition;
/// fn too_early(capture: Capture, more: &Condition) -> Result<()> {
///     let body = capture.while_loop(more)?.capture(Relaxed)?;
///     capture.end()?;
///     body.end().map(drop)
/// }
/// ```
pub struct Body<'c, S: State = Idle> {
    definition: GraphDef,
    state: S::Data<'c>,
}

/// States of a [`Body`]: [`Idle`], [`Capturing`] and [`Done`].
pub trait State: sealed::State {}

/// The state of a [`Body`] that has not been captured.
#[derive(Debug)]
pub enum Idle {}

/// The state of a [`Body`] that is being captured. It takes work like a stream, and has no definition view:
///
/// ```compile_fail,E0599
/// # use warploom::capture::{Body, Capturing};
/// fn too_early(body: &Body<'_, Capturing>) {
///     body.definition();
/// }
/// ```
#[derive(Debug)]
pub struct Capturing<M: Mode = Relaxed>(PhantomData<M>);

/// The state of a [`Body`] whose capture has ended.
#[derive(Debug)]
pub enum Done {}

/// States of a [`Body`] in which its graph can be seen and extended.
pub trait Settled: State {}

impl State for Idle {}
impl<M: Mode> State for Capturing<M> {}
impl State for Done {}
impl Settled for Idle {}
impl Settled for Done {}

/// Keeps the traits to these states.
mod sealed {
    use super::{ActiveBody, CaptureStream, Capturing, Done, Idle, Mode};

    pub trait State {
        /// The borrow of the stream that the conditional node was captured on, and the capture.
        type Data<'c>;
    }

    impl State for Idle {
        type Data<'c> = &'c CaptureStream;
    }

    impl<M: Mode> State for Capturing<M> {
        type Data<'c> = ActiveBody<'c, M>;
    }

    impl State for Done {
        type Data<'c> = ();
    }
}

/// The capture of a body. It ends when it is dropped.
#[expect(unnameable_types, reason = "the data of a state")]
pub struct ActiveBody<'c, M: Mode> {
    stream: CaptureStream,
    /// The graph that is captured into.
    definition: GraphDef,
    is_over: bool,
    origin: &'c CaptureStream,
    _stays: M::Stays,
}

impl<S: Settled> Body<'_, S> {
    /// The graph, to be extended node by node. It is the same graph: it can be used after this value, and
    /// nodes that are added to it belong to the body.
    #[must_use]
    pub fn definition(&self) -> &GraphDef {
        &self.definition
    }
}

impl<'c> Body<'c, Idle> {
    pub(super) fn new(origin: &'c CaptureStream, definition: GraphDef) -> Body<'c, Idle> {
        Body { definition, state: origin }
    }

    /// Begins to capture into the body, on a stream of its own.
    ///
    /// # Errors
    ///
    /// The driver's error; the body is as it was.
    #[doc(alias = "cuStreamBeginCaptureToGraph")]
    pub fn capture<M: Mode>(self, _mode: M) -> Result<Body<'c, Capturing<M>>> {
        let Body { definition, state: origin } = self;
        let stream = {
            let _relaxed = RelaxedMode::new(definition.driver());
            definition.context().stream()?
        };
        let (sequence, _turn) = Sequence::begin(&stream, Some(definition.clone()))?;
        let begun = definition.begin_capture(|graph| {
            // SAFETY: the stream and the graph are alive, and the first node comes after none.
            let begin =
                |raw| unsafe { stream.driver().cuStreamBeginCaptureToGraph(raw, graph, null(), null(), 0, M::MODE) };
            Ok(stream.with_raw(begin)??)
        });
        if let Err(error) = begun {
            // The call may have failed when it was done.
            let begun = stream.capture_status().is_ok_and(|status| status != CaptureStatus::None);
            let ended = if begun { end(&stream).result } else { Ok(()) };
            report(|| Subject::Capture { device: stream.device().ordinal() }, ended);
            drop(sequence.finish());
            return Err(error);
        }
        let state = ActiveBody {
            stream: CaptureStream::new(stream, sequence),
            definition: definition.clone(),
            is_over: false,
            origin,
            _stays: M::Stays::default(),
        };
        Ok(Body { definition, state })
    }
}

impl<M: Mode> Body<'_, Capturing<M>> {
    /// Ends the capture. The body keeps everything that it uses.
    ///
    /// # Errors
    ///
    /// As [`Capture::end`](super::Capture::end). The capture is over all the same, and what it has captured
    /// is left to the driver.
    #[doc(alias = "cuStreamEndCapture")]
    pub fn end(mut self) -> Result<Body<'static, Done>> {
        self.state.end()?;
        Ok(Body { definition: self.definition, state: () })
    }
}

impl<M: Mode> ActiveBody<'_, M> {
    /// Ends the capture, after those below it that were forgotten.
    fn end(&mut self) -> Result<()> {
        self.is_over = true;
        let sequence = self.stream.sequence();
        end_bodies(sequence)?;
        end_body(&self.definition, self.stream.stream(), sequence, self.origin.sequence()).result
    }
}

impl<M: Mode> Drop for ActiveBody<'_, M> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let device = self.stream.stream().device().ordinal();
        let ended = self.end();
        report(|| Subject::Capture { device }, unwanted(ended));
    }
}

impl<M: Mode> Deref for Body<'_, Capturing<M>> {
    type Target = CaptureStream;

    fn deref(&self) -> &CaptureStream {
        &self.state.stream
    }
}

impl<M: Mode> queue::sealed::Sealed for Body<'_, Capturing<M>> {}
impl<M: Mode> Queue for Body<'_, Capturing<M>> {
    fn stream(&self) -> &Stream {
        self.state.stream.stream()
    }
}

impl<S: State> fmt::Debug for Body<'_, S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Body").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl<M: Mode> fmt::Debug for ActiveBody<'_, M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ActiveBody").field("stream", &self.stream).finish_non_exhaustive()
    }
}
