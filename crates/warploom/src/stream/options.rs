//! Options of a new stream.
#![expect(unsafe_code, reason = "makes raw streams")]

use std::fmt;
use std::ptr::null_mut;

use warploom_driver::sys::types::CUstream_flags;

use super::info::StreamInfo;
use super::{Origin, Stream};
use crate::{Context, Result, StreamError};

/// A stream priority; the smaller number goes first. See [`Context::priority_range`] for the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Priority(i32);

impl Priority {
    /// The number as the driver counts.
    #[must_use]
    pub fn level(self) -> i32 {
        self.0
    }
}

impl From<i32> for Priority {
    fn from(level: i32) -> Priority {
        Priority(level)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Options of a new stream: by default non-blocking, with the lowest priority.
///
/// ```
/// use warploom::{Driver, StreamOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let urgent = context.stream_with(StreamOptions::new().priority(context.priority_range()?.greatest))?;
/// assert_eq!(urgent.priority()?.level(), -5);
/// let refused = context.stream_with(StreamOptions::new().priority(1)).unwrap_err();
/// assert_eq!(refused.to_string(), "a stream cannot have priority 1; there are -5 (first) to 0 (last)");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct StreamOptions {
    is_blocking: bool,
    priority: Option<Priority>,
}

impl StreamOptions {
    /// Non-blocking, and least urgent.
    pub fn new() -> StreamOptions {
        StreamOptions::default()
    }

    /// In turns with the legacy default stream of its context: each waits for the other's work.
    pub fn blocking(mut self) -> StreamOptions {
        self.is_blocking = true;
        self
    }

    /// As urgent as this, and not least urgent.
    pub fn priority(mut self, priority: impl Into<Priority>) -> StreamOptions {
        self.priority = Some(priority.into());
        self
    }
}

impl Context {
    /// A new stream, which does not wait for the legacy default stream, and is least urgent.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuStreamCreate")]
    pub fn stream(&self) -> Result<Stream> {
        self.stream_with(StreamOptions::new())
    }

    /// A new stream, as the options say.
    ///
    /// # Errors
    ///
    /// [`StreamError::PriorityOutOfRange`] for a priority that the context does not have, and the driver's
    /// error.
    #[doc(alias = "cuStreamCreateWithPriority")]
    pub fn stream_with(&self, options: StreamOptions) -> Result<Stream> {
        let flags = if options.is_blocking {
            CUstream_flags::CU_STREAM_DEFAULT
        } else {
            CUstream_flags::CU_STREAM_NON_BLOCKING
        }
        .0;
        if let Some(Priority(priority)) = options.priority {
            let range = self.priority_range()?;
            if !range.contains(priority) {
                return Err(StreamError::PriorityOutOfRange { priority, range }.into());
            }
        }
        let _current = self.current()?;
        let mut raw = null_mut();
        match options.priority {
            // SAFETY: `raw` is writable, and `_current` keeps the context current.
            None => unsafe { self.driver().cuStreamCreate(&raw mut raw, flags) },
            // SAFETY: as above.
            Some(Priority(priority)) => unsafe {
                self.driver().cuStreamCreateWithPriority(&raw mut raw, flags, priority)
            },
        }?;
        // SAFETY: it was created just now, in this context.
        Ok(unsafe { Stream::new(raw, Origin::Created, self, StreamInfo::of(flags)) })
    }
}
