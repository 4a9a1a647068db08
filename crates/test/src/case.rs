//! Test cases: the machine, the orders and the checks of one test, and its run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use warploom_driver::Driver;
use warploom_sim::fault::{Calls, Class, FaultError, Plan};
use warploom_sim::topology::{Topology, TopologyError};
use warploom_sim::{Finding, Machine};

use crate::environment::Environment;
use crate::failure::{Cause, Failure};
use crate::order::{Orders, RunOrder};
use crate::returned::TestReturn;
use crate::run::{self, Body};
use crate::sweep::{Sweep, SweepReport};

/// The machine of cases that name none.
const MACHINE: &str = "h200";
/// The number of random orders of cases that name none.
const SEEDS: u64 = 4;

/// The effect of findings, or of leaks, on a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// None: they are not looked for.
    Off,
    /// They are printed to standard error, which test runners show for a failed test.
    Report,
    /// They fail the test.
    Fail,
}

/// The faults of a test.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Faults {
    /// None.
    #[default]
    Off,
    /// A plan, in force in every run from the moment the test function begins. One that hides functions or
    /// lowers the driver's version is in force from the machine's start.
    Plan(Plan),
    /// A sweep after the runs without faults: each driver call fails once, on a fresh machine each time, and
    /// once with all later calls. See [`sweep`](crate::sweep).
    Sweep,
}

impl From<Plan> for Faults {
    fn from(plan: Plan) -> Faults {
        Faults::Plan(plan)
    }
}

/// Selects findings that are no failure.
type IsAllowed = Arc<dyn Fn(&Finding) -> bool + Send + Sync>;

/// A description of a machine that may still be wrong.
#[derive(Clone)]
struct Described {
    name: String,
    topology: Result<Topology, Arc<TopologyError>>,
}

/// A test case; [`#[warploom_test::test]`](crate::test) makes one from its arguments.
///
/// ```
/// use warploom_test::Case;
///
/// Case::new().machine("pcie-pair").seeds(8).run(|driver: &warploom::Driver| -> warploom::Result<()> {
///     assert_eq!(driver.devices()?.len(), 2);
///     Ok(())
/// });
/// ```
///
/// Every run is on a fresh machine. Without more, that is one H200, in eager, lazy and four random orders and
/// with threads; findings and leaks fail the test.
#[derive(Clone)]
#[must_use = "a case does nothing until it is run"]
pub struct Case {
    name: Option<String>,
    machine: Described,
    seeds: u64,
    orders: Orders,
    pub(crate) check: Level,
    pub(crate) leaks: Level,
    pub(crate) faults: Faults,
    allowed: Vec<IsAllowed>,
    tolerated: Vec<Calls>,
    problem: Option<Arc<FaultError>>,
    pub(crate) patience: Duration,
}

/// The result of a case that passed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// The orders that the test ran in.
    pub orders: Vec<RunOrder>,
    /// Findings and leaks whose [`Level`] is [`Report`](Level::Report).
    pub reported: Vec<Finding>,
    /// The report of the sweep, if there was one.
    pub sweep: Option<SweepReport>,
}

impl Default for Case {
    fn default() -> Case {
        Case::new()
    }
}

impl Case {
    /// A case on one H200 with every check.
    pub fn new() -> Case {
        Case {
            name: None,
            machine: Described { name: MACHINE.to_owned(), topology: Topology::preset(MACHINE).map_err(Arc::new) },
            seeds: SEEDS,
            orders: Orders::All,
            check: Level::Fail,
            leaks: Level::Fail,
            faults: Faults::Off,
            allowed: Vec::new(),
            tolerated: vec![Class::Release.into()],
            problem: None,
            patience: Duration::from_secs(5),
        }
        // Destructors put the current context back, and cannot return an error.
        .tolerates("cuCtxSetCurrent")
        .tolerates("cuCtxPopCurrent")
    }

    /// The name by which the test runner selects the test, for the line that reproduces a failure; without
    /// it, the name of the thread, which is the test's name under `cargo test`.
    pub fn name(mut self, name: impl Into<String>) -> Case {
        self.name = Some(name.into());
        self
    }

    /// A machine by its preset, such as `hgx-a100-4`; `warploom presets` lists them. A name that no preset has
    /// fails the run.
    pub fn machine(mut self, preset: &str) -> Case {
        self.machine = Described { name: preset.to_owned(), topology: Topology::preset(preset).map_err(Arc::new) };
        self
    }

    /// A machine by its description, made in Rust.
    pub fn topology(mut self, topology: Topology) -> Case {
        let name = format!("a machine with {} devices", topology.devices.len());
        self.machine = Described { name, topology: Ok(topology) };
        self
    }

    /// A machine by its topology file. One that cannot be read fails the run.
    pub fn topology_file(mut self, path: impl AsRef<Path>) -> Case {
        let path = path.as_ref();
        let topology = Topology::from_toml_file(path).map_err(Arc::new);
        self.machine = Described { name: path.display().to_string(), topology };
        self
    }

    /// The number of random orders, with the seeds 1 to `seeds`.
    pub fn seeds(mut self, seeds: u64) -> Case {
        self.seeds = seeds;
        self
    }

    /// The orders of the runs.
    pub fn orders(mut self, orders: Orders) -> Case {
        self.orders = orders;
        self
    }

    /// The effect of findings of the machine's checks. Driver calls answer as they would without checks, so
    /// that a test sees what its program would see.
    pub fn check(mut self, level: Level) -> Case {
        self.check = level;
        self
    }

    /// The effect of objects and memory that are left when the test function has returned.
    pub fn leaks(mut self, level: Level) -> Case {
        self.leaks = level;
        self
    }

    /// The faults: [`Faults::Sweep`], or a [`Plan`].
    pub fn faults(mut self, faults: impl Into<Faults>) -> Case {
        self.faults = faults.into();
        self
    }

    /// Findings that are no failure: those for which a function returns `true`.
    pub fn allow(mut self, is_allowed: impl Fn(&Finding) -> bool + Send + Sync + 'static) -> Case {
        self.allowed.push(Arc::new(is_allowed));
        self
    }

    /// Driver calls whose failure the test may ignore in a sweep, by name or glob (`cuEvent*`). Calls that
    /// release a resource, and those that put the current context back, are tolerated anyway: destructors
    /// make them. A name that no function has fails the run.
    pub fn tolerates(mut self, calls: &str) -> Case {
        match Calls::named(calls) {
            Ok(calls) => self.tolerated.push(calls),
            Err(error) => self.problem = Some(Arc::new(error)),
        }
        self
    }

    /// The time without progress after which a blocking call counts as a deadlock; 5 seconds without this call.
    pub fn patience(mut self, patience: Duration) -> Case {
        self.patience = patience;
        self
    }

    /// Runs a test function in every order, and panics with the [`Failure`] of the first that fails.
    ///
    /// The function gets an initialised driver of any type that is made from a [`warploom_driver::Driver`]:
    /// `warploom::Driver`, that type itself, or one of your own.
    #[track_caller]
    pub fn run<D: From<Driver>, R: TestReturn>(&self, body: impl Fn(&D) -> R) {
        self.run_with_machine(|_: &Machine, driver: &D| body(driver));
    }

    /// As [`Case::run`], with the machine: for faults, host accesses and counts in the middle of a test.
    #[track_caller]
    pub fn run_with_machine<D: From<Driver>, R: TestReturn>(&self, body: impl Fn(&Machine, &D) -> R) {
        if let Err(failure) = self.try_run_with_machine(body) {
            failure.raise();
        }
    }

    /// As [`Case::run`], with the failure as a value.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn try_run<D: From<Driver>, R: TestReturn>(&self, body: impl Fn(&D) -> R) -> Result<Passed, Box<Failure>> {
        self.try_run_with_machine(|_: &Machine, driver: &D| body(driver))
    }

    /// As [`Case::run_with_machine`], with the failure as a value.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn try_run_with_machine<D: From<Driver>, R: TestReturn>(
        &self,
        body: impl Fn(&Machine, &D) -> R,
    ) -> Result<Passed, Box<Failure>> {
        let body = |machine: &Machine, driver: &Driver| body(machine, &driver.clone().into()).into_result();
        let environment = Environment::read().map_err(|error| self.failure(None, Cause::Setup(error.to_string())))?;
        self.run_all(&environment, &body)
    }

    /// Runs a test function once, on the system's driver.
    #[track_caller]
    pub fn run_on_hardware<D: From<Driver>, R: TestReturn>(&self, body: impl Fn(&D) -> R) {
        let body = |driver: &Driver| body(&driver.clone().into()).into_result();
        if let Err(cause) = run::on_hardware(&body) {
            self.failure(None, cause).raise();
        }
    }

    pub(crate) fn run_all(&self, environment: &Environment, body: Body<'_>) -> Result<Passed, Box<Failure>> {
        let setup = |problem: &dyn fmt::Display| self.failure(None, Cause::Setup(problem.to_string()));
        if let Some(problem) = &self.problem {
            return Err(setup(problem));
        }
        let topology = self.machine.topology.as_ref().map_err(|error| setup(error))?;
        let mut passed = Passed { orders: Vec::new(), reported: Vec::new(), sweep: None };
        for order in environment.orders(|seeds| self.orders.list(seeds.unwrap_or(self.seeds))) {
            passed.reported.extend(run::once(self, topology, order, body)?);
            passed.orders.push(order);
        }
        if matches!(self.faults, Faults::Sweep) && environment.sweeps() {
            passed.sweep = Some(self.sweep(topology, environment, body)?);
        }
        Ok(passed)
    }

    fn sweep(
        &self,
        topology: &Topology,
        environment: &Environment,
        body: Body<'_>,
    ) -> Result<SweepReport, Box<Failure>> {
        let mut sweep = Sweep::new(topology.clone()).patience(self.patience);
        for calls in &self.tolerated {
            sweep = sweep.tolerates(calls.clone());
        }
        if let Some((call, failing)) = environment.fault {
            sweep = sweep.only(call, failing);
        }
        match sweep.try_run(body) {
            Ok(report) if report.failures.is_empty() => Ok(report),
            Ok(report) => Err(self.failure(None, Cause::Sweep(report))),
            Err(error) => Err(self.failure(None, Cause::Setup(error.to_string()))),
        }
    }

    pub(crate) fn is_allowed(&self, finding: &Finding) -> bool {
        self.allowed.iter().any(|is_allowed| is_allowed(finding))
    }

    /// A failure of this case, still without findings.
    pub(crate) fn failure(&self, order: Option<RunOrder>, cause: Cause) -> Box<Failure> {
        let thread = std::thread::current();
        let named = thread.name().filter(|name| *name != "main");
        let test = self.name.as_deref().or(named).map(str::to_owned);
        Box::new(Failure::new(test, self.machine.name.clone(), order, cause))
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Case")
            .field("name", &self.name)
            .field("machine", &self.machine.name)
            .field("seeds", &self.seeds)
            .field("orders", &self.orders)
            .field("check", &self.check)
            .field("leaks", &self.leaks)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}
