//! Fault sweeps: a scenario runs once for each of its driver calls, with that call failing.
//!
//! A [`Sweep`] runs a scenario once to see which driver calls it makes. Then it runs it again for each of
//! them, on a fresh machine each time: once with that call failing before it has any effect, once with it and
//! all later calls failing, and, if asked to, once with it failing after its effect. After every run these
//! must hold:
//!
//! | | one call failed | it and all later ones |
//! |---|---|---|
//! | the scenario did not panic | ✓ | ✓ |
//! | nothing that had been destroyed or freed was used, or given back again | ✓ | ✓ |
//! | the machine's checks found nothing else: no race, no uninitialised read | ✓ | ✓ |
//! | the scenario returned an error, unless it may tolerate the failure | ✓ | ✓ |
//! | the machine works, or every call on its contexts answers the same sticky code | ✓ | ✓ |
//! | nothing is left over, and the thread's contexts are as before | ✓ | |
//!
//! If all later calls fail, the calls that free and destroy fail too, so leftovers are not counted there.
//!
//! Some leftovers are excused, by exact count, because the scenario cannot free them: a resource whose
//! destroy or free failed, and, where a call fails after its effect, the resource that it created and did not
//! return. The same holds for the current context after a failed `cuCtxSetCurrent`, push or pop. A resource
//! that is destroyed with its context counts as left over, unless the scenario leaves it to the context
//! without any fault, too.
//!
//! A destructor cannot return an error, so a scenario may succeed although a call of [`Class::Release`]
//! failed. Other calls whose failure it may ignore are declared with [`Sweep::tolerates`].
//!
//! A panic in a destructor that runs because of another panic ends the process; no test can go on after that.

mod checks;
mod codes;
mod error;
mod excuse;
mod probe;
mod report;
mod runs;

use std::fmt;
use std::time::Duration;

use warploom_driver::{Driver, Function};
use warploom_sim::fault::{Calls, Class};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_sys::types::CUresult;

pub use self::error::SweepError;
pub use self::report::{Failing, Problem, SweepFailure, SweepReport};

/// A fault sweep and its settings; see the [module](self).
///
/// ```
/// use warploom_test::driver::{self, Driver};
/// use warploom_test::sim;
/// use warploom_test::sweep::Sweep;
///
/// /// Allocates twice, and forgets the first allocation if there is no second.
/// fn forgetful(_: &sim::Machine, driver: &Driver) -> driver::Result<()> {
///     let (mut context, mut first, mut second) = (std::ptr::null_mut(), 0, 0);
///     // SAFETY: each pointer is to a variable of this function.
///     unsafe {
///         driver.cuCtxCreate_v2(&mut context, 0, 0)?;
///         let both = driver.cuMemAlloc_v2(&mut first, 64).and_then(|()| driver.cuMemAlloc_v2(&mut second, 64));
///         if both.is_ok() {
///             driver.cuMemFree_v2(second)?;
///             driver.cuMemFree_v2(first)?;
///         }
///         driver.cuCtxDestroy_v2(context)?;
///         both
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let report = Sweep::new(sim::topology::Topology::preset("h200")?).try_run(forgetful)?;
/// assert_eq!(report.calls.len(), 6);
/// let found = report.failures.iter().find(|failure| failure.call == 3).ok_or("the second allocation")?;
/// assert!(found.problem.to_string().contains("1 device allocation gone with its context"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Sweep {
    topology: Topology,
    mode: Mode,
    after_effect: bool,
    codes: Box<dyn Fn(Function) -> Vec<CUresult>>,
    tolerated: Vec<Calls>,
    from_here: bool,
    only: Option<(u64, Failing)>,
    patience: Duration,
}

impl Sweep {
    /// A sweep on machines of this kind, in [`Order::Eager`], with one plausible code for each function.
    pub fn new(topology: Topology) -> Sweep {
        Sweep {
            topology,
            mode: Mode::Deterministic(Order::Eager),
            after_effect: false,
            codes: Box::new(|function| vec![codes::plausible(function)]),
            tolerated: vec![Class::Release.into()],
            from_here: true,
            only: None,
            patience: Duration::from_secs(2),
        }
    }

    /// The execution mode of the machines. A scenario with several threads makes its calls in another order
    /// every time, in any mode; then a call that is not reached is reported.
    pub fn mode(mut self, mode: Mode) -> Sweep {
        self.mode = mode;
        self
    }

    /// The codes that a function fails with, one run for each.
    pub fn codes(mut self, codes: impl Fn(Function) -> Vec<CUresult> + 'static) -> Sweep {
        self.codes = Box::new(codes);
        self
    }

    /// `true` if each call is also made to fail after its effect.
    pub fn after_effect(mut self, wanted: bool) -> Sweep {
        self.after_effect = wanted;
        self
    }

    /// `true` if each call is also made to fail with all later ones. A scenario whose objects keep the driver
    /// until they are destroyed leaves it out: a machine ends when the last driver goes.
    pub fn from_here(mut self, wanted: bool) -> Sweep {
        self.from_here = wanted;
        self
    }

    /// Lets the scenario succeed although one of these calls failed.
    pub fn tolerates(mut self, calls: impl Into<Calls>) -> Sweep {
        self.tolerated.push(calls.into());
        self
    }

    /// Runs only what failed, to look at it: the call's number and how it fails are in the report.
    pub fn only(mut self, call: u64, failing: Failing) -> Sweep {
        self.only = Some((call, failing));
        self
    }

    /// The time without progress after which a blocking call counts as a deadlock.
    pub fn patience(mut self, patience: Duration) -> Sweep {
        self.patience = patience;
        self
    }

    /// Runs the scenario as often as it takes, and panics with the report if something went wrong.
    ///
    /// The driver it gets has been initialised, and what the scenario does with it before it returns is all
    /// that counts: it must have dropped what it made.
    #[track_caller]
    pub fn run<D: From<Driver>, E: fmt::Display>(
        self,
        scenario: impl Fn(&Machine, &D) -> Result<(), E>,
    ) -> SweepReport {
        match self.try_run(scenario) {
            Ok(report) if report.failures.is_empty() => report,
            Ok(report) => panic!("{report}"),
            Err(error) => panic!("no machine to sweep on: {error}"),
        }
    }

    /// As [`Sweep::run`], but leaves it to the caller what to make of the report.
    ///
    /// # Errors
    ///
    /// The machine or its driver did not start.
    pub fn try_run<D: From<Driver>, E: fmt::Display>(
        self,
        scenario: impl Fn(&Machine, &D) -> Result<(), E>,
    ) -> Result<SweepReport, SweepError> {
        runs::all(&self, &|machine, driver| {
            scenario(machine, &driver.clone().into()).map_err(|error| error.to_string())
        })
    }
}

/// Sweeps a scenario as [`Sweep::new`] does by itself; panics with the report if something went wrong.
#[track_caller]
pub fn sweep<D: From<Driver>, E: fmt::Display>(
    topology: Topology,
    scenario: impl Fn(&Machine, &D) -> Result<(), E>,
) -> SweepReport {
    Sweep::new(topology).run(scenario)
}

/// As [`sweep`], but leaves it to the caller what to make of the report.
///
/// # Errors
///
/// The machine or its driver did not start.
pub fn try_sweep<D: From<Driver>, E: fmt::Display>(
    topology: Topology,
    scenario: impl Fn(&Machine, &D) -> Result<(), E>,
) -> Result<SweepReport, SweepError> {
    Sweep::new(topology).try_run(scenario)
}

impl fmt::Debug for Sweep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sweep")
            .field("devices", &self.topology.devices.len())
            .field("mode", &self.mode)
            .field("after_effect", &self.after_effect)
            .field("from_here", &self.from_here)
            .field("tolerated", &self.tolerated)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}
