//! The findings of a machine, kept and reported.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warploom_sys::types::CUresult;

use super::finding::{Finding, FindingKind};
use super::handles::{HandleProblem, ObjectKind};
use super::settings::{Backtraces, CheckMode, Checks, KernelChecks};
use crate::memory::shadow::{AccessKind, Operation, Site, Trace, current_site};

/// Number of findings that are kept; a loop with a race in it has as many as it has turns.
const KEPT: usize = 1000;

/// The status of a call that fails because of a finding.
const FAILED: CUresult = CUresult::CUDA_ERROR_ILLEGAL_STATE;

/// The findings of a machine, and the settings of its checks.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) checks: Checks,
    kept: Mutex<Kept>,
    /// There are findings that were not reported yet.
    news: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    findings: Vec<Finding>,
    /// Number of them that have been told.
    told: usize,
    dropped: u64,
}

/// Emits an event. A panic of the subscriber ends here: it must not change the answer of a call, nor unwind out
/// of one.
pub(crate) fn emit(event: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(event)) {
        // It may panic when it is dropped.
        std::mem::forget(payload);
    }
}

impl Findings {
    pub(crate) fn new(checks: Checks) -> Self {
        Self { checks, kept: Mutex::default(), news: AtomicBool::new(false) }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.checks.is_on()
    }

    /// `true` if the pointers that C callers pass are looked into before they are followed.
    pub(crate) fn checks_pointers(&self) -> bool {
        self.checks.pointers
    }

    /// The checks among the threads of kernels.
    pub(crate) fn kernel_checks(&self) -> KernelChecks {
        if self.is_on() { self.checks.kernels } else { KernelChecks::NONE }
    }

    /// `true` if calls remember their backtrace.
    pub(crate) fn remembers_callers(&self) -> bool {
        self.checks.backtraces == Backtraces::All
    }

    pub(crate) fn fails_calls(&self) -> bool {
        self.checks.mode == CheckMode::Fail
    }

    /// The backtrace of this call, for a finding.
    pub(crate) fn caller(&self) -> Option<Trace> {
        (self.checks.backtraces != Backtraces::Off).then(Trace::of_finding)
    }

    /// The call that this thread is in, as part of a finding.
    pub(crate) fn operation(&self, kind: AccessKind) -> Operation {
        match current_site() {
            Some(site) => {
                let trace = site.trace.clone().or_else(|| self.caller().map(Arc::new));
                Operation::of_call(kind, &Site { trace, ..site })
            }
            None => Operation {
                process: None,
                call: None,
                function: None,
                access: kind,
                stream: None,
                node: None,
                backtrace: Vec::new(),
            },
        }
    }

    /// Keeps a report of a handle that a call cannot use; `destroyer` is the call that destroyed its object.
    pub(crate) fn add_handle_misuse(
        &self,
        handle: u64,
        wanted: ObjectKind,
        problem: HandleProblem,
        destroyer: Option<&Site>,
    ) {
        if self.is_on() {
            let destroyed = destroyer.map(|site| Operation::of_call(AccessKind::Use, site));
            let user = self.operation(AccessKind::Use);
            self.add(FindingKind::HandleMisuse { user, handle, wanted, problem, destroyed });
        }
    }

    /// Reports that a graph is used while another thread may be changing it.
    pub(crate) fn add_graph_race(&self, graph: u32, first: &Site) {
        let (first, second) = (Operation::of_call(AccessKind::Use, first), self.operation(AccessKind::Use));
        self.add(FindingKind::GraphRace { graph, first, second });
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
    #[inline]
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

    /// The number of findings beyond those that are kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.kept.lock().dropped
    }

    /// Reports the findings that were not reported yet; called where no lock of the machine is held.
    #[inline]
    pub(crate) fn tell(&self) {
        // Every call asks, and a load takes less time than a swap.
        if self.news.load(Ordering::Relaxed) && self.news.swap(false, Ordering::Acquire) {
            self.tell_news();
        }
    }

    #[cold]
    fn tell_news(&self) {
        let news: Vec<Finding> = {
            let mut kept = self.kept.lock();
            let told = std::mem::replace(&mut kept.told, 0);
            kept.told = kept.findings.len();
            kept.findings[told..].to_vec()
        };
        for finding in &news {
            match &self.checks.sink {
                Some(sink) => sink(finding),
                None => emit(|| tracing::warn!(target: "warploom::sim::check", "{finding}")),
            }
        }
    }
}
