//! The log of a machine: an entry for each refused call, injected fault and deadlock.

use std::collections::VecDeque;

use parking_lot::Mutex;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::process::home::lock_briefly_held;

/// Number of newest entries that are kept.
const KEPT: usize = 4096;

/// A refused call, an injected fault, or a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The call.
    pub function: Function,
    /// Its status code.
    pub code: CUresult,
    /// The reason.
    pub reason: String,
    /// The kind of entry.
    pub kind: LogKind,
}

/// The kind of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogKind {
    /// The real driver would refuse it, too.
    Refused,
    /// The real driver supports it; the simulator does not.
    Unsupported,
    /// An injected fault of a plan.
    Injected,
    /// A kernel that ended early.
    Fault,
    /// A deadlock; the real driver would hang.
    Deadlock,
    /// A bug in the simulator.
    Internal,
}

impl std::fmt::Display for LogEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}: {}", self.function, self.code, self.reason)
    }
}

#[derive(Default)]
pub(crate) struct Log {
    entries: Mutex<VecDeque<LogEntry>>,
}

impl Log {
    pub(crate) fn add(&self, entry: LogEntry) {
        match entry.kind {
            LogKind::Refused | LogKind::Unsupported => tracing::debug!(target: "warploom::sim", "{entry}"),
            LogKind::Injected => tracing::info!(target: "warploom::sim", "{entry}"),
            LogKind::Fault | LogKind::Deadlock | LogKind::Internal => {
                tracing::error!(target: "warploom::sim", "{entry}")
            }
        }
        let Some(mut entries) = lock_briefly_held(&self.entries) else { return };
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        lock_briefly_held(&self.entries).map_or_else(Vec::new, |entries| entries.iter().cloned().collect())
    }
}
