//! Errors of recording events and of the time between them.

use std::time::Duration;

/// An event that cannot be recorded on the stream, or has no elapsed time.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum EventError {
    /// The event and the stream belong to different contexts.
    #[error("the event belongs to device {event}, the stream to device {stream}; record an event of the stream's own")]
    ContextMismatch {
        /// The event's device.
        event: u32,
        /// The stream's device.
        stream: u32,
    },

    /// Events of different contexts have no clock in common.
    #[error("the start belongs to device {start}, the end to device {end}, and their contexts have no clock in common")]
    DifferentContexts {
        /// The device of the start event.
        start: u32,
        /// The device of the end event.
        end: u32,
    },

    /// One of the two events is not complete.
    #[error("an event is not done yet; wait for both before asking for the time between them")]
    NotComplete,

    /// The start event completed after the end event.
    #[error("the start was reached {by:?} after the end; swap the two, or use elapsed_ms")]
    Reversed {
        /// The delay.
        by: Duration,
    },
}
