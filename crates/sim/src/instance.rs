//! Machines: what a simulated driver runs on.

mod residency;

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use warploom_engine::Mode;
use warploom_sys::{Function, Source};

use crate::abi::shims;
use crate::check::{Checks, Finding};
use crate::fault::{FaultError, FaultScope, Faults, Fired, Plan};
use crate::ffi::vet;
use crate::machine::census::Census;
use crate::machine::core::{Core, Instruments, Output};
use crate::machine::log::LogEntry;
use crate::machine::slots;
use crate::process::thread;
use crate::topology::{Topology, TopologyError};
use crate::trace::{Recorder, Timeline, Trace, TraceReport};

/// A simulated machine: any number of GPUs behind a CUDA driver of its own.
///
/// Cheap to clone; it lives until the last clone, and the last driver opened on it, are gone. Machines never see each
/// other: a handle or a pointer of one means nothing to another.
///
/// A machine lives in one process. In a child of `fork`, every function of a machine that was initialised before answers
/// `NOT_INITIALIZED`, as the real driver's do, and the machine has nothing to tell; one that was not is the child's own. A
/// child of a process whose machines had threads should start none before it has called `exec`: its locks may still know
/// the threads that it does not have.
#[derive(Clone)]
pub struct Machine {
    running: Arc<Running>,
}

/// Holds a slot and the machine in it.
struct Running {
    slot: usize,
    core: Arc<Core>,
    /// The plan it was started with.
    faults: Option<FaultScope>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // In a child of `fork` there are no executors to end, and what other threads were doing with the machine is left
        // half done: it stays as it is, in its slot.
        if !self.core.home.is_here() {
            return;
        }
        self.core.stop();
        self.core.report_leaks();
        slots::give(self.slot);
    }
}

/// Why a machine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The description of the machine is wrong.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The fault plan is wrong, or does not fit the machine.
    #[error("fault plan: {0}")]
    Faults(#[from] FaultError),
    /// There are as many machines as a process can have.
    #[error(
        "{} machines are running and none ended within {waited:?}; drop one, with every driver opened on it",
        slots::SLOTS
    )]
    NoSlot {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The operating system has no address space for the devices' memory.
    #[error(
        "no address space for the devices' memory: {0}; every device needs about three times its capacity, none of it \
         as memory: raise `ulimit -v`, and do not set vm.overcommit_memory to 2"
    )]
    AddressSpace(#[source] std::io::Error),
}

/// Describes a machine before it is started.
#[derive(Clone)]
pub struct MachineBuilder {
    topology: Option<Topology>,
    mode: Mode,
    patience: Duration,
    slot_patience: Duration,
    checks: Checks,
    trace: Option<Trace>,
    faults: Plan,
    watchdog: Option<Duration>,
    output: Option<Output>,
    workers: Option<NonZeroUsize>,
}

impl std::fmt::Debug for MachineBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { topology, mode, patience, slot_patience, checks, trace, faults, watchdog, output, workers } = self;
        formatter
            .debug_struct("MachineBuilder")
            .field("topology", topology)
            .field("mode", mode)
            .field("patience", patience)
            .field("slot_patience", slot_patience)
            .field("checks", checks)
            .field("trace", trace)
            .field("faults", faults)
            .field("watchdog", watchdog)
            .field("has_output", &output.is_some())
            .field("workers", workers)
            .finish()
    }
}

impl Machine {
    /// Starts a machine that is known by name, such as `dgx-h100`.
    pub fn preset(name: &str) -> Result<Machine, StartError> {
        Self::builder().topology(Topology::preset(name)?).start()
    }

    /// Describes a machine; without more, one H200.
    #[must_use]
    pub fn builder() -> MachineBuilder {
        MachineBuilder {
            topology: None,
            mode: Mode::Threads,
            patience: Duration::from_secs(10),
            slot_patience: Duration::from_secs(60),
            checks: Checks::off(),
            trace: None,
            faults: Plan::new(),
            watchdog: None,
            output: None,
            workers: None,
        }
    }

    /// What the machine is made of.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.running.core.topology
    }

    /// Why calls were refused: the newest entries.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        self.here().map_or_else(Vec::new, |core| core.log.entries())
    }

    /// How many calls were made to a machine that checks or records, without those that only find functions: the number of
    /// the last.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.running.core.calls()
    }

    /// What the machine found wrong with the programs that run on it, in the order it was found; the first thousand.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.findings.all())
    }

    /// Takes out what [`Machine::findings`] shows, to look at the next part of a program alone.
    pub fn take_findings(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.findings.take())
    }

    /// How many findings there were beyond those that are kept.
    #[must_use]
    pub fn dropped_findings(&self) -> u64 {
        self.here().map_or(0, |core| core.findings.dropped())
    }

    /// What would be reported as lost if the machine ended now. A machine that checks reports it when it does.
    #[must_use]
    pub fn leaks(&self) -> Vec<Finding> {
        self.here().map_or_else(Vec::new, |core| core.leaks())
    }

    /// Calls made and bytes moved so far, if the machine was started with a [`Trace`].
    #[must_use]
    pub fn trace(&self) -> Option<TraceReport> {
        Some(self.recorder()?.report())
    }

    /// What happened when, so far, if the machine was started with [`Trace::timeline`].
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        let devices = self.topology().devices.iter().map(|device| device.name.clone()).collect();
        self.recorder()?.timeline(devices)
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.here()?.trace.as_deref()
    }

    /// The machine, where there is anything to be had from it: not in a child of the process that used it.
    pub(crate) fn here(&self) -> Option<&Core> {
        Some(&*self.running.core).filter(|core| core.home.is_here())
    }

    /// Whether this is the process in which the machine was started, or a child of it that was the first to use the
    /// machine. In any other child of `fork` there is nothing to be had from it.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.running.core.home.is_own()
    }

    /// What has been made on the machine and not been given back, and what is current on this thread.
    #[must_use]
    pub fn census(&self) -> Census {
        let core = &self.running.core;
        let current = thread::with_contexts(core.id, |stack| stack.clone());
        core.world().census(&current)
    }

    /// Work that has been enqueued and is not done.
    #[must_use]
    pub fn unfinished_ops(&self) -> usize {
        self.here().map_or(0, |core| core.world().engine.unfinished())
    }

    /// Lets a plan go wrong on every thread until the scope is dropped.
    ///
    /// # Errors
    ///
    /// [`FaultError::TooLate`] for a plan that hides symbols or lowers the driver's version, and what else is wrong with it.
    pub fn inject(&self, plan: Plan) -> Result<FaultScope, FaultError> {
        self.put_into_force(&plan, None)
    }

    /// As [`Machine::inject`], for the calls of this thread alone.
    ///
    /// # Errors
    ///
    /// As [`Machine::inject`].
    pub fn inject_on_this_thread(&self, plan: Plan) -> Result<FaultScope, FaultError> {
        self.put_into_force(&plan, Some(thread::key()))
    }

    fn put_into_force(&self, plan: &Plan, thread: Option<thread::ThreadKey>) -> Result<FaultScope, FaultError> {
        if plan.has_static_parts() {
            return Err(FaultError::TooLate);
        }
        plan.check(self.topology().devices.len())?;
        Ok(FaultScope::begin(&self.running.core, plan, thread))
    }

    /// What the plan that the machine was started with has done so far; see [`FaultScope::fired`].
    #[must_use]
    pub fn fired(&self) -> Vec<Fired> {
        self.running.faults.as_ref().map(FaultScope::fired).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.running.core
    }

    /// One of the machine's C functions, without the call that a look-up through [`Machine::source`] is; `per_thread` for
    /// the variant in which stream 0 is the per-thread default stream, where there is one. `None` if the machine's driver
    /// is older than it, or a fault plan hides it.
    ///
    /// The function has the signature of its row of the list. It can be called as long as the process lives; when the
    /// machine is gone, it says so.
    #[must_use]
    pub fn function(&self, function: Function, per_thread: bool) -> Option<NonNull<c_void>> {
        let variant = function.per_thread().filter(|_| per_thread);
        let since = variant.map_or(function.version(), |(since, _)| since);
        let is_there = since <= self.topology().driver_version && !self.running.core.faults.hidden.contains(function);
        NonNull::new(shims::address(self.running.slot, function, variant.is_some())).filter(|_| is_there)
    }

    /// The machine's driver, for whoever opens drivers.
    #[must_use]
    #[expect(unsafe_code, reason = "vouches for the functions of its slot")]
    pub fn source(&self) -> Source {
        let resolve = shims::resolver(self.running.slot);
        let keep_alive = Arc::clone(&self.running);
        let description = format!("simulated machine, {} devices", self.topology().devices.len());
        // SAFETY: the resolver hands out this slot's functions, each made from the row of the list that names its ABI and
        // signature; they refuse to work, rather than misbehave, even when the machine is gone.
        unsafe { Source::new(resolve, keep_alive, description) }
    }
}

impl MachineBuilder {
    /// The devices, links and driver version; without it, one H200.
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// When enqueued work runs; without it, on threads of the machine's own.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What is checked in the programs that run on it; without it, nothing.
    #[must_use]
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// How long a blocking call may see nothing happen before it is reported as a deadlock.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long to wait for another machine to end when the process has as many as it can.
    #[must_use]
    pub fn slot_patience(mut self, patience: Duration) -> Self {
        self.slot_patience = patience;
        self
    }

    /// Records what the machine is asked to do; without it, nothing is recorded.
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// What goes wrong on the machine; see [`fault`](crate::fault).
    #[must_use]
    pub fn faults(mut self, plan: Plan) -> Self {
        self.faults = plan;
        self
    }

    /// How long a kernel may run, by the real clock, before it is ended with `CUDA_ERROR_LAUNCH_TIMEOUT`; without it, for
    /// ever, as on a device without a display.
    #[must_use]
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.watchdog = Some(limit);
        self
    }

    /// Calls a function with what kernels print, when they print it; without it, that goes to standard output. The function
    /// must not call the machine's driver.
    #[must_use]
    pub fn output(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(sink));
        self
    }

    /// How many threads run the blocks of a kernel; without it, as many as this process has processors. One block after the
    /// other, in the same order every time, is `NonZero::MIN`; a machine that checks, or whose mode is not
    /// [`Threads`](Mode::Threads), does so anyway.
    #[must_use]
    pub fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Starts the machine.
    pub fn start(self) -> Result<Machine, StartError> {
        let mut topology = match self.topology {
            Some(topology) => topology,
            None => Topology::preset("h200")?,
        };
        topology.check()?;
        let plan = self.faults;
        plan.check(topology.devices.len())?;
        topology.driver_version = plan.lowered(topology.driver_version)?;
        let waited = self.slot_patience;
        let slot = slots::take(waited).ok_or(StartError::NoSlot { waited })?;
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (faults, watchdog, output) = (Faults::new(&plan), self.watchdog, self.output);
        let instruments =
            Instruments { checks: self.checks, trace: self.trace, faults, watchdog, output, workers: self.workers };
        match Core::new(id, slot, topology, self.mode, self.patience, instruments) {
            Ok(core) => {
                if core.findings.checks_pointers() {
                    vet::enable();
                }
                let core = Arc::new(core);
                let faults = (!plan.is_quiet()).then(|| FaultScope::begin(&core, &plan, None));
                slots::fill(slot, Arc::clone(&core));
                Ok(Machine { running: Arc::new(Running { slot, core, faults }) })
            }
            Err(error) => {
                slots::give(slot);
                Err(StartError::AddressSpace(error))
            }
        }
    }
}

impl From<&Machine> for Source {
    fn from(machine: &Machine) -> Source {
        machine.source()
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Machine").field("devices", &self.topology().devices.len()).finish_non_exhaustive()
    }
}
