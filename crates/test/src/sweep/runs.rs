//! One run after the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use warploom_driver::{Driver, Function};
use warploom_sim::fault::{Calls, Fired, Plan, Rule};
use warploom_sim::{Change, Checks, Machine};
use warploom_sys::types::CUresult;

use super::Sweep;
use super::checks::{Run, ScenarioResult};
use super::error::SweepError;
use super::report::{Failing, Problem, SweepFailure, SweepReport};
use crate::run::message;

pub(super) type Scenario<'a> = &'a dyn Fn(&Machine, &Driver) -> Result<(), String>;

/// The time after which a sweep prints its progress.
const QUIET: Duration = Duration::from_secs(2);

/// The result of one run.
struct Outcome {
    fired: Vec<Fired>,
    left_to_contexts: Change,
    problems: Vec<Problem>,
}

pub(super) fn all(sweep: &Sweep, scenario: Scenario<'_>) -> Result<SweepReport, SweepError> {
    let mut progress = Progress::new();
    let note = Plan::new().rule(Rule::on(Calls::all()));
    let first = once(sweep, scenario, Failing::Nothing, note, None)?;
    let calls: Vec<Function> = first.fired.iter().map(|fired| fired.function).collect();
    let mut report = SweepReport {
        calls: calls.iter().map(Function::to_string).collect(),
        runs: 1,
        seconds: 0.0,
        failures: Vec::new(),
    };
    let problems = first.problems.into_iter();
    report.failures.extend(problems.map(|problem| SweepFailure {
        call: 0,
        function: String::new(),
        failing: Failing::Nothing,
        code: String::new(),
        problem,
    }));
    if report.failures.is_empty() {
        each(sweep, scenario, &calls, &first.left_to_contexts, &mut report, &mut progress)?;
    }
    report.seconds = progress.began.elapsed().as_secs_f64();
    Ok(report)
}

/// Every call, in every way it is to fail.
fn each(
    sweep: &Sweep,
    scenario: Scenario<'_>,
    calls: &[Function],
    usual: &Change,
    report: &mut SweepReport,
    progress: &mut Progress,
) -> Result<(), SweepError> {
    let after = sweep.after_effect.then_some(Failing::AfterEffect);
    let from_here = sweep.from_here.then_some(Failing::FromHere);
    for (number, function) in (1_u64..).zip(calls) {
        for failing in [Failing::Once].into_iter().chain(from_here).chain(after) {
            if sweep.only.is_some_and(|only| only != (number, failing)) {
                continue;
            }
            for code in (sweep.codes)(*function) {
                let outcome = once(sweep, scenario, failing, plan(number, failing, code), Some(usual))?;
                report.runs += 1;
                report.failures.extend(outcome.problems.into_iter().map(|problem| SweepFailure {
                    call: number,
                    function: function.to_string(),
                    failing,
                    code: code.to_string(),
                    problem,
                }));
            }
        }
        progress.tell(number, calls.len());
    }
    Ok(())
}

fn plan(number: u64, failing: Failing, code: CUresult) -> Plan {
    let every = Rule::on(Calls::all());
    match failing {
        Failing::Nothing => Plan::new(),
        Failing::Once => Plan::new().rule(every.nth(number).fail(code)),
        Failing::AfterEffect => Plan::new().rule(every.nth(number).fail_after(code)),
        Failing::FromHere => Plan::new().rule(every.from(number).fail(code)),
    }
}

/// Runs the scenario on a machine of its own; `usual` is what it leaves to its contexts without a fault, once
/// that is known.
fn once(
    sweep: &Sweep,
    scenario: Scenario<'_>,
    failing: Failing,
    plan: Plan,
    usual: Option<&Change>,
) -> Result<Outcome, SweepError> {
    // Findings are in the report, and need no warnings.
    let checks = Checks::report().on_finding(|_| {});
    let builder = Machine::builder().topology(sweep.topology.clone()).mode(sweep.mode);
    let machine = builder.patience(sweep.patience).checks(checks).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let before = machine.census();
    let scope = machine.inject(plan)?;
    let result = match catch_unwind(AssertUnwindSafe(|| scenario(&machine, &driver))) {
        Ok(result) => ScenarioResult::Returned(result),
        Err(payload) => ScenarioResult::Panicked(message(payload.as_ref())),
    };
    let fired = scope.fired();
    drop(scope);
    let change = machine.census().since(&before);
    let failed = match failing {
        Failing::Nothing => Vec::new(),
        Failing::Once | Failing::AfterEffect | Failing::FromHere => fired.iter().map(|fired| fired.function).collect(),
    };
    let run = Run { machine: &machine, driver: &driver, failing, result, failed, change };
    let problems = match usual {
        Some(usual) => run.problems(usual, &sweep.tolerated),
        None => run.problems(&run.left_to_contexts(), &sweep.tolerated),
    };
    Ok(Outcome { fired, left_to_contexts: run.left_to_contexts(), problems })
}

/// Progress of a sweep, printed if it takes long.
struct Progress {
    began: Instant,
    said: Instant,
}

impl Progress {
    fn new() -> Self {
        let now = Instant::now();
        Self { began: now, said: now }
    }

    #[expect(clippy::print_stderr, reason = "the progress of a long test, which the test runner shows")]
    fn tell(&mut self, call: u64, calls: usize) {
        if self.said.elapsed() >= QUIET {
            self.said = Instant::now();
            eprintln!("sweep: call {call} of {calls}, {:.0} s", self.began.elapsed().as_secs_f64());
        }
    }
}
