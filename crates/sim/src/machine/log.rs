//! The log of a machine: an entry for each refused call, injected fault and deadlock.

use std::collections::VecDeque;

use parking_lot::Mutex;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::process::home::lock_briefly_held;

/// Number of newest entries that are kept.
const KEPT: usize = 4096;

/// A call that was refused, a fault that was injected, or a wait that nothing could end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The call.
    pub function: Function,
    /// Its answer.
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
    /// The driver would refuse this, too.
    Refused,
    /// The real driver has it; the simulator does not.
    Unsupported,
    /// A fault that a plan asked for.
    Injected,
    /// A kernel that stopped before its end.
    Fault,
    /// A wait that nothing can end; the real driver would hang.
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
