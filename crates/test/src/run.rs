//! One run of a test function: on a fresh machine, or on the system's driver.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use warploom_driver::Driver;
use warploom_sim::fault::{FaultError, FaultScope, Plan};
use warploom_sim::topology::Topology;
use warploom_sim::{Backtraces, Checks, Finding, FindingKind, KernelChecks, Machine, MachineBuilder};

use crate::case::{Case, Faults, Level};
use crate::failure::{Cause, Failure};
use crate::order::RunOrder;

/// A test function with its result as text.
pub(crate) type Body<'a> = &'a dyn Fn(&Machine, &Driver) -> Result<(), String>;

/// The time for threads of the program to release objects after the test function has returned.
const RELEASE: Duration = Duration::from_secs(1);

/// A machine that a test function runs on.
struct Started {
    machine: Machine,
    driver: Driver,
    plan: Option<FaultScope>,
}

/// Runs a test function on a fresh machine; the findings and leaks that are reported without being failures.
pub(crate) fn once(
    case: &Case,
    topology: &Topology,
    order: RunOrder,
    body: Body<'_>,
) -> Result<Vec<Finding>, Box<Failure>> {
    let Started { machine, driver, plan } =
        start(case, topology, order).map_err(|problem| case.failure(Some(order), Cause::Setup(problem)))?;
    let returned = catch_unwind(AssertUnwindSafe(|| __rust_begin_short_backtrace(|| body(&machine, &driver))));
    let is_unused = match (&case.faults, &plan) {
        (Faults::Plan(rules), Some(scope)) => !rules.rules().is_empty() && scope.fired_count() == 0,
        (Faults::Plan(rules), None) => !rules.rules().is_empty() && machine.fired().is_empty(),
        (Faults::Off | Faults::Sweep, _) => false,
    };
    drop(plan);
    let found = Found::on(case, &machine, matches!(returned, Ok(Ok(()))));
    let cause = match returned {
        Err(payload) => Some(Cause::Panicked { message: message(payload.as_ref()), payload: Some(payload) }),
        Ok(Err(error)) => Some(Cause::Returned(error)),
        Ok(Ok(())) if is_unused => Some(Cause::PlanUnused),
        Ok(Ok(())) => found.is_failure(case).then_some(Cause::Found),
    };
    match cause {
        Some(cause) => Err(Box::new(case.failure(Some(order), cause).with(found, &machine))),
        None => {
            found.print(order);
            Ok(found.into_iter().collect())
        }
    }
}

/// Marks the end of the program's own frames, for backtraces of findings and of panics.
#[inline(never)]
fn __rust_begin_short_backtrace<T>(body: impl FnOnce() -> T) -> T {
    let result = body();
    // Without work behind it, the call would be a jump, and have no frame.
    std::hint::black_box(());
    result
}

fn start(case: &Case, topology: &Topology, order: RunOrder) -> Result<Started, String> {
    let checks = match (case.check, case.leaks) {
        (Level::Off, Level::Off) => Checks::off(),
        (Level::Off, _) => Checks::report().kernels(KernelChecks::NONE),
        (_, _) => Checks::report().backtraces(Backtraces::All),
    };
    let builder = Machine::builder()
        .topology(topology.clone())
        .mode(order.mode())
        .patience(case.patience)
        .checks(checks.on_finding(|_| {}));
    let Faults::Plan(plan) = &case.faults else { return open(builder, None) };
    let started = open(builder.clone(), None)?;
    match started.machine.inject(plan.clone()) {
        Ok(scope) => Ok(Started { plan: Some(scope), ..started }),
        Err(FaultError::TooLate) => open(builder, Some(plan)),
        Err(error) => Err(error.to_string()),
    }
}

fn open(builder: MachineBuilder, plan: Option<&Plan>) -> Result<Started, String> {
    let builder = match plan {
        Some(plan) => builder.faults(plan.clone()),
        None => builder,
    };
    let machine = builder.start().map_err(|error| error.to_string())?;
    let driver = Driver::open(&machine).map_err(|error| error.to_string())?;
    driver.initialize().map_err(|error| error.to_string())?;
    Ok(Started { machine, driver, plan: None })
}

/// Findings and leaks of one run.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) findings: Vec<Finding>,
    pub(crate) leaks: Vec<Finding>,
    /// Number of findings beyond those that the machine kept.
    pub(crate) dropped: u64,
}

impl Found {
    /// Those of a machine whose test function has returned. A function that failed is not blamed for leaks.
    fn on(case: &Case, machine: &Machine, returned: bool) -> Found {
        let is_leak = |finding: &Finding| matches!(finding.kind, FindingKind::Leak { .. });
        let left = if returned && case.leaks != Level::Off { left_over(machine) } else { Vec::new() };
        let (with_context, findings): (Vec<_>, Vec<_>) = machine.findings().into_iter().partition(is_leak);
        let is_kept = |level: Level| move |finding: &Finding| level != Level::Off && !case.is_allowed(finding);
        let leaks = with_context.into_iter().filter(|_| returned).chain(left).filter(is_kept(case.leaks)).collect();
        let findings = findings.into_iter().filter(is_kept(case.check)).collect();
        Found { findings, leaks, dropped: machine.dropped_findings() }
    }

    fn is_failure(&self, case: &Case) -> bool {
        let fails = |level: Level, found: &[Finding]| level == Level::Fail && !found.is_empty();
        fails(case.check, &self.findings) || fails(case.leaks, &self.leaks)
    }

    #[expect(clippy::print_stderr, reason = "the test runner shows it with the test")]
    fn print(&self, order: RunOrder) {
        for finding in self.findings.iter().chain(&self.leaks) {
            eprintln!("in order {order}: {finding}");
        }
    }

    fn into_iter(self) -> impl Iterator<Item = Finding> {
        self.findings.into_iter().chain(self.leaks)
    }
}

/// The leaks of a machine, once threads of the program that release objects had time to do so.
fn left_over(machine: &Machine) -> Vec<Finding> {
    let deadline = Instant::now() + RELEASE;
    loop {
        let leaks = machine.leaks();
        if leaks.is_empty() || Instant::now() > deadline {
            return leaks;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a test function on the system's driver.
pub(crate) fn on_hardware(body: &dyn Fn(&Driver) -> Result<(), String>) -> Result<(), Cause> {
    let driver = Driver::load().map_err(|error| Cause::Setup(error.to_string()))?;
    driver.initialize().map_err(|error| Cause::Setup(error.to_string()))?;
    body(&driver).map_err(Cause::Returned)
}

/// The text of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
