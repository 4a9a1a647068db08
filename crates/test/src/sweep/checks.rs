//! Conditions that must hold after a run.

use warploom_driver::{Driver, Function};
use warploom_sim::fault::Calls;
use warploom_sim::{Change, Finding, FindingKind, KindChange, LogKind, Machine};

use super::excuse::Excuse;
use super::probe::probe;
use super::report::{Failing, Problem};

/// The result of a scenario, or its panic message.
pub(super) enum ScenarioResult {
    Returned(Result<(), String>),
    Panicked(String),
}

/// A run that is over.
pub(super) struct Run<'a> {
    pub(super) machine: &'a Machine,
    pub(super) driver: &'a Driver,
    pub(super) failing: Failing,
    pub(super) result: ScenarioResult,
    /// The calls that were made to fail.
    pub(super) failed: Vec<Function>,
    pub(super) change: Change,
}

/// The problem that a finding of the machine's checks stands for, if it counts against the run.
fn found(finding: &Finding) -> Option<Problem> {
    use FindingKind::*;
    // Its first line says what is wrong; the table has one line for it.
    let text = finding.to_string();
    let first = text.lines().next().unwrap_or_default().to_owned();
    match finding.kind {
        // Leftovers are counted elsewhere, since some are excused.
        Leak { .. } => None,
        HandleMisuse { .. } | DoubleFree { .. } | InvalidFree { .. } | WrongFree { .. } | UseAfterFree { .. } => {
            Some(Problem::DeadHandle(first))
        }
        _ => Some(Problem::Found(first)),
    }
}

impl Run<'_> {
    /// The problems of this run; `usual` is the change that the scenario leaves to its contexts without a
    /// fault.
    pub(super) fn problems(&self, usual: &Change, tolerated: &[Calls]) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.failing != Failing::Nothing && self.failed.is_empty() {
            problems.push(Problem::NotReached);
        }
        match &self.result {
            ScenarioResult::Panicked(message) => problems.push(Problem::Panicked(message.clone())),
            ScenarioResult::Returned(Ok(())) => {
                // The first alone: each later one has a run in which it is the first, unless it is made only
                // because this one failed, as by a destructor that waits where it could not record an event.
                let is_tolerated = |function: &Function| tolerated.iter().any(|calls| calls.contains(*function));
                if !self.failed.first().is_none_or(is_tolerated) {
                    problems.push(Problem::Swallowed);
                }
            }
            ScenarioResult::Returned(Err(error)) if self.failing == Failing::Nothing => {
                problems.push(Problem::FailsAnyway(error.clone()));
            }
            ScenarioResult::Returned(Err(_)) => {}
        }
        problems.extend(self.left_over(usual));
        problems.extend(self.machine.findings().iter().filter_map(found));
        let bugs = self.machine.log().into_iter().filter(|entry| entry.kind == LogKind::Internal);
        problems.extend(bugs.map(|entry| Problem::Internal(entry.to_string())));
        problems.extend(
            probe(self.driver, self.machine.topology().devices.len(), self.failing).err().map(Problem::Unusable),
        );
        problems
    }

    /// The resources that the scenario leaves for its contexts to destroy.
    pub(super) fn left_to_contexts(&self) -> Change {
        let gone = |kind: &KindChange| KindChange { live: 0, ..*kind };
        Change { kinds: self.change.kinds.iter().map(gone).collect(), current_changed: false }
    }

    fn left_over(&self, usual: &Change) -> Option<Problem> {
        let rest = match (self.failing, self.failed.first()) {
            // Calls that destroy and free fail as well, so leftovers do not count.
            (Failing::FromHere, _) => return None,
            (failing, Some(function)) => Excuse::of(*function, failing).rest(&self.change, usual),
            (_, None) => Excuse::default().rest(&self.change, usual),
        };
        (!rest.is_empty()).then(|| Problem::LeftOver(rest.to_string()))
    }
}
