//! Reports of a machine: log, findings, leaks, traces and counts of objects.

use super::machine::Machine;
use crate::check::Finding;
use crate::machine::census::Census;
use crate::machine::log::LogEntry;
use crate::process::thread;
use crate::trace::{Recorder, Timeline, TraceReport};

impl Machine {
    /// The newest entries of the log: refused calls, injected faults, deadlocks.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        self.here().map_or_else(Vec::new, |core| core.log.entries())
    }

    /// Advice about refusals with a common remedy, such as machine code without PTX: each once, in a few
    /// lines.
    #[must_use]
    pub fn advice(&self) -> Vec<&'static str> {
        self.here().map_or_else(Vec::new, |core| core.log.advice())
    }

    /// Number of calls to a machine that checks or records, without those that only find functions:
    /// the number of the last.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.core().calls()
    }

    /// Mistakes that the checks found in the programs that run on the machine, in their order; the first
    /// thousand.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.findings.all())
    }

    /// Removes the findings and returns them, so that the next part of a program is looked at alone.
    pub fn take_findings(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.findings.take())
    }

    /// Number of findings beyond those that are kept.
    #[must_use]
    pub fn dropped_findings(&self) -> u64 {
        self.here().map_or(0, |core| core.findings.dropped())
    }

    /// Leaks that would be reported if the machine ended now. A machine that checks reports them when it
    /// ends.
    #[must_use]
    pub fn leaks(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.leaks())
    }

    /// Calls made and bytes moved so far, if the machine was started with a [`Trace`](crate::trace::Trace).
    #[must_use]
    pub fn trace(&self) -> Option<TraceReport> {
        Some(self.recorder()?.report())
    }

    /// Calls and ops with their times so far, if the machine was started with
    /// [`Trace::timeline`](crate::trace::Trace::timeline).
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        let devices = self.topology().devices.iter().map(|device| device.name.clone()).collect();
        self.recorder()?.timeline(devices)
    }

    pub(super) fn recorder(&self) -> Option<&Recorder> {
        self.here()?.trace.as_deref()
    }

    /// Objects and memory that have not been released, and the contexts that are current on this thread.
    #[must_use]
    pub fn census(&self) -> Census {
        let core = self.core();
        let current = thread::with_contexts(core.id, |stack| stack.clone());
        core.world().census(&current)
    }

    /// Work that has been enqueued and is not done.
    #[must_use]
    pub fn unfinished_ops(&self) -> usize {
        self.here().map_or(0, |core| core.world().unfinished_ops())
    }
}
