//! Errors of streams and host functions.

use crate::PriorityRange;

/// A stream that cannot be made or used like that, or a host function that failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The context has no such stream priority.
    #[error("a stream cannot have priority {priority}; there are {range}")]
    PriorityOutOfRange {
        /// The priority asked for.
        priority: i32,
        /// The priorities of the context.
        range: PriorityRange,
    },

    /// A per-thread default stream was used on another thread.
    #[error("the per-thread default stream belongs to another thread; ask the context for this thread's")]
    OtherThread,

    /// A raw stream was taken over with a context that it was not created in.
    #[error("the stream was not made in the given context of device {device}; give the context it was made in")]
    ForeignContext {
        /// The device of the context that was given.
        device: u32,
    },

    /// The device's streams lack an operation on words.
    #[error("the streams of device {device} have no {of}; signal with events, or with words of 32 bits")]
    NoWords {
        /// The device.
        device: u32,
        /// The operation.
        of: &'static str,
    },

    /// A host function panicked.
    #[error("a host function panicked: {message}")]
    HostFunctionPanicked {
        /// The panic's message.
        message: Box<str>,
    },

    /// A host function was skipped, or its result has been taken already.
    #[error("the host function did not run; work before it may have failed")]
    HostFunctionNotRun,
}
