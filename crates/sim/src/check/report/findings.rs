//! The findings of a machine, kept and reported.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warploom_sys::types::CUresult;

use super::finding::{Finding, FindingKind};
use super::settings::{Backtraces, CheckMode, Checks, KernelChecks};
use crate::memory::shadow::{Trace, current_site};

/// How many findings are kept; a loop with a race in it has as many as it has turns.
const KEPT: usize = 1000;

/// What a call answers that is failed for a finding.
const FAILED: CUresult = CUresult::CUDA_ERROR_ILLEGAL_STATE;

/// What was found, and what is to be done about it.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) checks: Checks,
    kept: Mutex<Kept>,
    /// There is something that nobody was told yet.
    news: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    findings: Vec<Finding>,
    /// How many of them have been told.
    told: usize,
    dropped: u64,
}

impl Findings {
    pub(crate) fn new(checks: Checks) -> Self {
        Self { checks, kept: Mutex::default(), news: AtomicBool::new(false) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.checks.is_on()
    }

    /// Whether the pointers that C callers pass are looked into before they are followed.
    pub(crate) fn checks_pointers(&self) -> bool {
        self.checks.pointers
    }

    /// What is looked for among the threads of kernels.
    pub(crate) fn kernel_checks(&self) -> KernelChecks {
        if self.is_on() { self.checks.kernels } else { KernelChecks::NONE }
    }

    /// Whether calls remember who called.
    pub(crate) fn remembers_callers(&self) -> bool {
        self.checks.backtraces == Backtraces::All
    }

    pub(crate) fn fails_calls(&self) -> bool {
        self.checks.mode == CheckMode::Fail
    }

    /// Who is calling, for a finding of this moment.
    pub(crate) fn caller(&self) -> Option<Trace> {
        (self.checks.backtraces != Backtraces::Off).then(Trace::of_finding)
    }

    /// Keeps a finding.
    pub(crate) fn add(&self, kind: FindingKind) {
        let call = current_site().map(|site| site.call);
        let mut kept = self.kept.lock();
        if kept.findings.len() < KEPT {
            kept.findings.push(Finding { kind, call });
            self.news.store(true, Ordering::Release);
        } else {
            kept.dropped += 1;
        }
    }

    /// Keeps findings of a call that could still be stopped; whether it is.
    pub(crate) fn judge(&self, kinds: Vec<FindingKind>) -> Result<(), CUresult> {
        let is_stopped = self.fails_calls() && !kinds.is_empty();
        for kind in kinds {
            self.add(kind);
        }
        if is_stopped { Err(FAILED) } else { Ok(()) }
    }

    pub(crate) fn all(&self) -> Vec<Finding> {
        self.kept.lock().findings.clone()
    }

    pub(crate) fn take(&self) -> Vec<Finding> {
        let mut kept = self.kept.lock();
        kept.told = 0;
        std::mem::take(&mut kept.findings)
    }

    /// How many there were beyond those that are kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.kept.lock().dropped
    }

    /// Tells what has not been told; called where no lock of the machine is held.
    pub(crate) fn tell(&self) {
        if !self.news.swap(false, Ordering::Acquire) {
            return;
        }
        let news: Vec<Finding> = {
            let mut kept = self.kept.lock();
            let told = std::mem::replace(&mut kept.told, 0);
            kept.told = kept.findings.len();
            kept.findings[told..].to_vec()
        };
        for finding in &news {
            match &self.checks.sink {
                Some(sink) => sink(finding),
                None => tracing::warn!(target: "warploom::sim::check", "{finding}"),
            }
        }
    }
}
