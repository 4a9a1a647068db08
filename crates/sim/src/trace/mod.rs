//! Traces: calls per function, bytes moved, kernels, memory in use, and a timeline.
//!
//! A machine records when it is started with a [`Trace`]; otherwise nothing is kept and nothing is paid for.
//!
//! ```text
//!   call ──▶ calls: how often, and how often failed      ┐
//!     │                                                  ├─▶ TraceReport
//!     ▼                                                  │
//!   op ended ──▶ moved: bytes from where to where        │
//!     │     └──▶ kernels: launches and their work        ┘
//!     │
//!     ├──▶ events: calls in real time, ops in virtual time ─▶ Timeline ─▶ Chrome's trace format
//!     └──▶ memory_use: bytes in use over virtual time ─▶ Machine::record
//! ```
//!
//! ```
//! use warploom_sim::Machine;
//! use warploom_sim::trace::Trace;
//!
//! let machine = Machine::builder().trace(Trace::timeline()).start()?;
//! // … open a driver on it, and use that …
//! let report = machine.trace().expect("the machine was started with a trace");
//! println!("{report}");
//! let mut json = Vec::new();
//! machine.timeline().expect("and with a timeline").write_chrome(&mut json)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod calls;
mod chrome;
mod events;
mod kernels;
mod memory_use;
mod moved;
mod recorder;
mod report;

pub use activity::{Activity, Memory};
pub use calls::{CallCount, Failures};
pub use events::{HostCall, Span, Timeline};
pub use moved::Moved;
pub use report::{Kept, TraceReport};
pub use warploom_record::{KernelCount, KernelWork, LaunchShape};

pub(crate) use memory_use::{InUse, MemorySubject};
pub(crate) use recorder::{Ended, KernelRun, Recorder};

/// Number of events a timeline keeps unless told otherwise.
const EVENTS: usize = 1 << 20;

/// Settings of a trace: counts, or counts and a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Events that are kept, of a trace with a timeline.
    events: Option<usize>,
}

impl Trace {
    /// Calls and bytes are counted. That needs the same memory however long the machine runs.
    #[must_use]
    pub const fn counts() -> Self {
        Self { events: None }
    }

    /// Calls and bytes are counted, and every call and op becomes an event of a [`Timeline`].
    ///
    /// The first 1,048,576 events are kept; [`Trace::limit`] sets another number. Later events are counted,
    /// as [`Timeline::dropped`].
    #[must_use]
    pub const fn timeline() -> Self {
        Self { events: Some(EVENTS) }
    }

    /// Keeps that many events of a timeline: a call takes 40 bytes of memory, an op 64. Without a timeline
    /// there are none to keep.
    #[must_use]
    pub const fn limit(self, events: usize) -> Self {
        match self.events {
            Some(_) => Self { events: Some(events) },
            None => self,
        }
    }
}
