//! Errors of stream capture.

/// A call that a capture does not allow. The driver was not called, and the capture goes on.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CaptureError {
    /// The operation cannot be captured.
    #[error("{what} is not possible on a stream that is being captured; end the capture, or use another stream")]
    NotCapturable {
        /// The operation.
        what: &'static str,
    },

    /// An earlier call has invalidated the capture.
    #[error("the capture was invalidated by an earlier call, and can only be ended; capture again")]
    Invalidated,

    /// The capture of a conditional body was invalidated, so that the graph lacks the body.
    #[error("the capture of a body was invalidated, and the graph cannot be used without it; capture again")]
    BodyLost,

    /// The value of a body that is being captured was forgotten, and only the thread that began its capture can
    /// end that.
    #[error(
        "the capture of a body was forgotten, and cannot be ended on this thread: the streams stay captured; end bodies \
         on the threads that they were begun on"
    )]
    BodyForgotten,

    /// Another thread began to capture the stream during the call.
    #[error(
        "another thread began to capture the stream during the call, whose memory the graph would not keep; call again, or \
         enqueue and capture on one thread at a time"
    )]
    BeganMeanwhile,

    /// A callback was captured, but its node cannot be told from others. The graph keeps its function for
    /// good.
    #[error(
        "the callback was captured, but {candidates} nodes may be its node instead of 1; capture on one thread at a time"
    )]
    CallbackNotFound {
        /// The nodes at the tail of the stream.
        candidates: usize,
    },

    /// A default stream cannot be captured.
    #[error("a default stream cannot be captured; make a stream with Context::stream")]
    DefaultStream,

    /// A pool other than [`GraphPool`](crate::GraphPool) was to allocate on a captured stream.
    #[error(
        "{resource} does not allocate on a stream that is being captured; allocate before the capture, or from a GraphPool, \
         whose memory is the graph's own"
    )]
    OrdinaryPool {
        /// The resource's name.
        resource: &'static str,
    },

    /// A [`GraphPool`](crate::GraphPool) was to allocate outside of a capture.
    #[error(
        "a GraphPool allocates on a stream that is being captured, and this one is not; allocate from a DevicePool"
    )]
    NotCaptured,

    /// Memory of a graph was used outside of its capture.
    #[error(
        "the memory belongs to a graph: its capture is over, or the stream is not part of it; use it on a stream of its capture"
    )]
    GraphMemory,

    /// The event to wait for is not part of the capture.
    #[error("the event was recorded outside of the capture; wait for it before the capture begins")]
    Outside,

    /// The event belongs to another capture.
    #[error("the event was recorded in another capture than that of the stream; keep the two captures apart")]
    OtherCapture,

    /// An event of a capture was queried or waited for.
    #[error("the event was recorded in a capture and will not complete; use an event recorded outside of it")]
    CapturedEvent,

    /// Work outside of the capture uses the memory, and the copy would have to wait for it.
    #[error(
        "the copy would have to wait for work on device {device} that is not part of the capture; have the stream wait \
         for it before the capture begins, by `hold_back` of the memory"
    )]
    Conflict {
        /// The device of that work.
        device: u32,
    },

    /// The legacy default stream waits for all blocking streams of its context.
    #[error(
        "the legacy default stream would wait for a stream that is being captured; use another, or make that non-blocking"
    )]
    Legacy,

    /// The context cannot be waited for while one of its streams is captured.
    #[error(
        "a stream of device {device}'s context is being captured, so that the context cannot be waited for; end the capture first"
    )]
    Context {
        /// The context's device.
        device: u32,
    },
}
