//! Failures of tests, with everything that is needed to see and to repeat them.

use std::any::Any;
use std::fmt;

use warploom_sim::{Finding, LogEntry, Machine};

use crate::environment::{FAULT_VARIABLE, SEED_VARIABLE};
use crate::order::RunOrder;
use crate::run::Found;
use crate::sweep::SweepReport;

/// The most findings and leaks that a message shows in full.
const SHOWN: usize = 10;
/// The most entries of the machine's log that a message shows.
const LOGGED: usize = 40;

/// The first cause of a failure.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// There was no machine or driver to run on, or a setting is wrong.
    Setup(String),
    /// The test function returned this error.
    Returned(String),
    /// The test function panicked.
    #[non_exhaustive]
    Panicked {
        /// The message of the panic.
        message: String,
        /// The panic, to be resumed.
        payload: Option<Box<dyn Any + Send>>,
    },
    /// The machine's checks found errors, or objects were left over.
    Found,
    /// The test makes no call on which a rule of its fault plan acts.
    PlanUnused,
    /// Runs of a sweep had problems.
    Sweep(SweepReport),
}

/// The failure of a test: the order of work, the cause, the findings, the machine's log, and the line that
/// repeats it. All of it is in its `Display`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The name of the test, if it is known.
    pub test: Option<String>,
    /// The machine: a preset, a file or a number of devices.
    pub machine: String,
    /// The order of work in which it failed; none for a sweep and on hardware.
    pub order: Option<RunOrder>,
    /// The first cause.
    pub cause: Cause,
    /// Findings of the machine's checks.
    pub findings: Vec<Finding>,
    /// Objects and memory that were left over.
    pub leaks: Vec<Finding>,
    /// The machine's log: refused calls, injected faults, kernels that ended early, deadlocks.
    pub log: Vec<LogEntry>,
    /// Number of findings beyond those that the machine kept.
    dropped: u64,
}

impl Failure {
    pub(crate) fn new(test: Option<String>, machine: String, order: Option<RunOrder>, cause: Cause) -> Failure {
        Failure { test, machine, order, cause, findings: Vec::new(), leaks: Vec::new(), log: Vec::new(), dropped: 0 }
    }

    /// The same, with the findings of a run and the log of its machine.
    pub(crate) fn with(self, found: Found, machine: &Machine) -> Failure {
        let Found { findings, leaks, dropped } = found;
        Failure { findings, leaks, dropped, log: machine.log(), ..self }
    }

    /// Fails the test: panics with the message, or goes on with the panic of the test function after printing
    /// the message, so that `#[should_panic]` sees the function's own.
    #[track_caller]
    pub fn raise(mut self: Box<Self>) -> ! {
        if let Cause::Panicked { payload, .. } = &mut self.cause
            && let Some(payload) = payload.take()
        {
            print(&self);
            std::panic::resume_unwind(payload);
        }
        panic!("{self}")
    }

    /// The command that repeats the failure.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        let setting = match (&self.cause, self.order) {
            (Cause::Sweep(report), _) => {
                let failure = report.failures.iter().find(|failure| failure.call > 0)?;
                format!("{FAULT_VARIABLE}={}:{} ", failure.call, failure.failing.key())
            }
            (_, Some(order)) => format!("{SEED_VARIABLE}={order} "),
            (_, None) => return None,
        };
        Some(format!("{setting}cargo test {}", self.test.as_deref().unwrap_or_default()).trim_end().to_owned())
    }
}

#[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
fn print(failure: &Failure) {
    eprintln!("{failure}");
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} failed", self.test.as_deref().unwrap_or("the test"))?;
        match (&self.cause, self.order) {
            (Cause::Sweep(_), _) => write!(formatter, " on {} when a driver call failed", self.machine)?,
            (_, Some(RunOrder::Seed(seed))) => write!(formatter, " on {} with seed {seed}", self.machine)?,
            (_, Some(order)) => write!(formatter, " on {} in order {order}", self.machine)?,
            (_, None) => {}
        }
        match &self.cause {
            Cause::Setup(problem) => write!(formatter, "\nsetup: {problem}")?,
            Cause::Returned(error) => write!(formatter, "\nerror: {error}")?,
            Cause::Panicked { message, .. } => write!(formatter, "\npanic: {message}")?,
            Cause::Found => {}
            Cause::PlanUnused => {
                write!(formatter, "\nfaults: no rule of the plan acted; the test makes no call that its rules select")?;
            }
            Cause::Sweep(report) => write!(formatter, "\n{}", report.table())?,
        }
        list(formatter, "finding", &self.findings, self.dropped)?;
        list(formatter, "leak", &self.leaks, 0)?;
        if !self.log.is_empty() {
            let skipped = self.log.len().saturating_sub(LOGGED);
            write!(formatter, "\nlog of the machine:")?;
            if skipped > 0 {
                write!(formatter, " the last {LOGGED} of {} entries", self.log.len())?;
            }
            for entry in &self.log[skipped..] {
                write!(formatter, "\n  {entry}")?;
            }
        }
        match self.command() {
            Some(command) => write!(formatter, "\nreproduce: {command}"),
            None => Ok(()),
        }
    }
}

/// Findings, each with a headline of its own.
fn list(formatter: &mut fmt::Formatter<'_>, noun: &str, findings: &[Finding], dropped: u64) -> fmt::Result {
    for (number, finding) in (1..).zip(findings).take(SHOWN) {
        write!(formatter, "\n{noun} {number} of {}: {finding}", findings.len())?;
    }
    let more = findings.len().saturating_sub(SHOWN) as u64 + dropped;
    if more > 0 { write!(formatter, "\nand {more} more") } else { Ok(()) }
}

impl std::error::Error for Failure {}
