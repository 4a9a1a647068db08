//! Errors of stream capture.

/// What a capture does not allow. The driver has not been asked, and the capture goes on as before.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CaptureError {
    /// No graph can have it, or its memory would not be kept.
    #[error("{what} is not possible on a stream that is being captured; end the capture, or use another stream")]
    NotCapturable {
        /// What was to be done.
        what: &'static str,
    },

    /// A default stream cannot be captured.
    #[error("a default stream cannot be captured; make a stream with Context::stream")]
    DefaultStream,

    /// A pool allocates when the call is made, and a graph when it is launched.
    #[error(
        "{resource} does not allocate on a stream that is being captured; allocate before the capture, or from a GraphPool, \
         whose memory is the graph's own"
    )]
    OrdinaryPool {
        /// What people call the resource.
        resource: &'static str,
    },

    /// A graph's memory is allocated in a capture.
    #[error(
        "a GraphPool allocates on a stream that is being captured, and this one is not; allocate from a DevicePool"
    )]
    NotCaptured,

    /// A graph's memory is there when the graph is launched.
    #[error(
        "the memory is a graph's own, which was allocated in a capture that the stream is not part of, or that is over"
    )]
    GraphMemory,

    /// What the capture would have to wait for is not part of it.
    #[error(
        "the event was recorded outside of the capture, which can wait for nothing outside; wait for it before the capture \
         begins"
    )]
    Outside,

    /// Two captures do not become one.
    #[error("the event was recorded in another capture than the one that the stream is part of")]
    OtherCapture,

    /// No device comes to it.
    #[error("the event was recorded in a capture that is not over, and no device will come to it")]
    CapturedEvent,

    /// Work outside of the capture uses the memory, and the copy would have to wait for it.
    #[error(
        "the copy would have to wait for work on device {device} that is not part of the capture; wait for it before the \
         capture begins"
    )]
    Conflict {
        /// Where that work runs.
        device: u32,
    },

    /// The legacy default stream waits for all blocking streams of its context.
    #[error(
        "the legacy default stream would wait for a stream that is being captured; use another, or make that non-blocking"
    )]
    Legacy,

    /// Whoever waits for a context waits for its streams.
    #[error("a stream of device {device}'s context is being captured, so that the context cannot be waited for")]
    Context {
        /// The context's device.
        device: u32,
    },
}
