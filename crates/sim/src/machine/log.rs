//! The log of a machine: an entry for each refused call, injected fault and deadlock.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::check::emit;
use crate::machine::error_log::ErrorLog;
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
    entries: Mutex<Entries>,
    /// The part of it that the driver's own functions show.
    pub(crate) errors: ErrorLog,
}

#[derive(Default)]
struct Entries {
    newest: VecDeque<LogEntry>,
    /// Functions that are named as not simulated: once is enough.
    unsupported: HashSet<Function>,
    /// Advice about refusals, each said once.
    advice: Vec<&'static str>,
}

impl Log {
    pub(crate) fn add(&self, entry: LogEntry) {
        if entry.kind == LogKind::Unsupported && !self.is_first(entry.function) {
            return;
        }
        match entry.kind {
            LogKind::Refused | LogKind::Unsupported => {
                emit(|| tracing::debug!(target: "warploom::sim", "{entry}"));
            }
            LogKind::Injected => emit(|| tracing::info!(target: "warploom::sim", "{entry}")),
            LogKind::Fault | LogKind::Deadlock | LogKind::Internal => {
                emit(|| tracing::error!(target: "warploom::sim", "{entry}"));
                self.errors.note(&entry.to_string());
            }
        }
        let Some(mut entries) = lock_briefly_held(&self.entries) else { return };
        if entries.newest.len() == KEPT {
            entries.newest.pop_front();
        }
        entries.newest.push_back(entry);
    }

    /// True once for each function that is not simulated.
    fn is_first(&self, function: Function) -> bool {
        lock_briefly_held(&self.entries).is_none_or(|mut entries| entries.unsupported.insert(function))
    }

    /// Keeps advice; `false` if it is known already.
    pub(crate) fn add_advice(&self, advice: &'static str) -> bool {
        let Some(mut entries) = lock_briefly_held(&self.entries) else { return false };
        let is_new = !entries.advice.contains(&advice);
        if is_new {
            entries.advice.push(advice);
        }
        is_new
    }

    /// Advice about refusals so far.
    pub(crate) fn advice(&self) -> Vec<&'static str> {
        lock_briefly_held(&self.entries).map_or_else(Vec::new, |entries| entries.advice.clone())
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        lock_briefly_held(&self.entries).map_or_else(Vec::new, |entries| entries.newest.iter().cloned().collect())
    }
}
