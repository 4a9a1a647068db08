//! Diagnostics: errors without a caller, in a `drop` or on a thread of the driver.
//!
//! Without a hook it is a [`tracing`](https://docs.rs/tracing) event of level `WARN` with the target
//! `warploom`. A closing call that returns the error, such as [`Buffer::close`](crate::Buffer::close),
//! reports nothing.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use warploom::diagnostics::{self, Subject};
//!
//! let lost = Arc::new(AtomicU64::new(0));
//! let count = Arc::clone(&lost);
//! diagnostics::set_hook(move |report| {
//!     if let Subject::Memory { bytes, .. } = report.subject {
//!         count.fetch_add(bytes as u64, Ordering::Relaxed);
//!     }
//! });
//! // … the program
//! assert_eq!(lost.load(Ordering::Relaxed), 0, "bytes that could not be freed");
//! diagnostics::reset_hook();
//! ```

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use warploom_driver::user_code;

use crate::{Error, Result};

/// An error and the value it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The value it concerns.
    pub subject: Subject,
    /// The error.
    pub error: Error,
}

impl fmt::Display for Report {
    /// `while dropping a stream of device 0: …`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "while {} {}: {}", self.subject.doing(), self.subject, self.error)
    }
}

/// The value that was dropped, or the function that was run. Devices are named by their ordinal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subject {
    /// Memory, which may not have been freed.
    Memory {
        /// Its address.
        address: u64,
        /// The number of bytes.
        bytes: usize,
        /// The device of its context.
        device: u32,
    },
    /// A pool.
    Pool {
        /// The device of its context.
        device: u32,
    },
    /// A stream.
    Stream {
        /// Its device.
        device: u32,
    },
    /// A capture, which may not be over.
    Capture {
        /// The device of its stream.
        device: u32,
    },
    /// A graph.
    Graph {
        /// The device of its context.
        device: u32,
    },
    /// An executable graph.
    GraphExec {
        /// The device of its context.
        device: u32,
    },
    /// Memory, code or functions that a graph keeps, and may keep longer than it needs them.
    GraphOwners,
    /// An event that its context had kept.
    Event,
    /// Page-locked memory for words that streams wait for.
    Word,
    /// A stream of the library's own, which tells tasks that others are done.
    Relay,
    /// Page-locked memory of the library's own, which copies from and to the host went through.
    Staging,
    /// A context, or a reference to a primary one.
    Context {
        /// The device in use.
        device: u32,
    },
    /// A profiler range, which may still be recorded.
    ProfilerRange {
        /// The device of its context.
        device: u32,
    },
    /// A context that was made current: the previous one could not be restored.
    CurrentContext,
    /// A communicator of NCCL.
    #[cfg(feature = "nccl")]
    Communicator {
        /// Its device.
        device: u32,
    },
    /// A program of NVRTC's or libNVVM's.
    #[cfg(feature = "nvrtc")]
    Program,
    /// A link of nvJitLink's or of a driver's.
    #[cfg(feature = "nvrtc")]
    Link,
    /// A library of code, which stays loaded.
    Library,
    /// A function in a stream, which panicked.
    HostFunction,
}

impl Subject {
    fn doing(&self) -> &'static str {
        if *self == Subject::HostFunction { "running" } else { "dropping" }
    }
}

impl fmt::Display for Subject {
    /// `a stream of device 0`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, device) = match self {
            Subject::Memory { address, bytes, device } => {
                return write!(formatter, "{bytes} bytes of memory at {address:#x} of device {device}");
            }
            Subject::CurrentContext => return formatter.write_str("the current context of a thread"),
            Subject::Event => return formatter.write_str("an event"),
            Subject::Staging => return formatter.write_str("staging memory"),
            Subject::Word => return formatter.write_str("memory for words that streams wait for"),
            Subject::Relay => return formatter.write_str("a stream that tells tasks"),
            #[cfg(feature = "nvrtc")]
            Subject::Program => return formatter.write_str("a program of a compiler's"),
            #[cfg(feature = "nvrtc")]
            Subject::Link => return formatter.write_str("a link of nvJitLink's"),
            Subject::Library => return formatter.write_str("a library"),
            Subject::GraphOwners => return formatter.write_str("values that a graph keeps"),
            Subject::HostFunction => return formatter.write_str("a host function"),
            Subject::Pool { device } => ("a pool", device),
            Subject::Capture { device } => ("a capture", device),
            Subject::Graph { device } => ("a graph", device),
            Subject::GraphExec { device } => ("an executable graph", device),
            Subject::Stream { device } => ("a stream", device),
            Subject::Context { device } => ("a context", device),
            Subject::ProfilerRange { device } => ("a profiler range", device),
            #[cfg(feature = "nccl")]
            Subject::Communicator { device } => ("a communicator", device),
        };
        write!(formatter, "{what} of device {device}")
    }
}

type Hook = Arc<dyn Fn(&Report) + Send + Sync>;

static HOOK: RwLock<Option<Hook>> = RwLock::new(None);

/// Has every report of the process given to `hook` from now on, instead of to the hook before it or to
/// `tracing`.
///
/// It is called on the thread that drops, which may be any, or on the driver's, where the driver must not be
/// called (for a [`Subject::HostFunction`]). Failures that occur while a graph is changed are reported soon
/// afterwards by a thread of this crate, or by [`graph::reclaim`](crate::graph::reclaim), so that the hook may
/// use the graph. It is called when its thread holds no lock of the library. If it panics, the report goes to
/// `tracing`.
pub fn set_hook(hook: impl Fn(&Report) + Send + Sync + 'static) {
    replace(Some(Arc::new(hook)));
}

/// Has every report of the process given to `tracing`, as at first.
pub fn reset_hook() {
    replace(None);
}

fn replace(hook: Option<Hook>) {
    let before = std::mem::replace(&mut *HOOK.write().unwrap_or_else(PoisonError::into_inner), hook);
    // The old hook may report when it is dropped, so it is dropped after the lock.
    drop(before);
}

/// Reports an error that has no caller.
pub(crate) fn report(subject: impl FnOnce() -> Subject, result: Result<(), impl Into<Error>>) {
    let Err(error) = result else { return };
    let report = Report { subject: subject(), error: error.into() };
    user_code::run_unlocked(move || {
        let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
        if hook.is_none_or(|hook| !user_code::run(|| hook(&report))) {
            let Report { subject, error } = report;
            user_code::emit(move || tracing::warn!(target: "warploom", %error, "while {} {subject}", subject.doing()));
        }
    });
}
