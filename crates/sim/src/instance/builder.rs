//! Description of a machine before it is started.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use warploom_engine::Mode;

use super::machine::Machine;
use super::start_error::StartError;
use crate::abi::{annotations, shims};
use crate::check::Checks;
use crate::fault::{FaultScope, Faults, Plan};
use crate::ffi::pointer_check;
use crate::machine::core::{Core, Instruments, Output};
use crate::machine::slots;
use crate::topology::Topology;
use crate::trace::Trace;

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
    host_memory: Option<u64>,
}

impl std::fmt::Debug for MachineBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { topology, mode, patience, slot_patience, checks, trace, faults, watchdog, output, workers, .. } =
            self;
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
            .field("host_memory", &self.host_memory)
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
            host_memory: None,
        }
    }
}

impl MachineBuilder {
    /// The devices, links and driver version; without it, one H200.
    #[must_use]
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// The execution mode of enqueued work; without this call, [`Mode::Threads`].
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The checks of the programs that run on it; without it, none.
    #[must_use]
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// The time without progress after which a blocking call is reported as a deadlock.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The time to wait for another machine to end when the process has the maximum number of them.
    #[must_use]
    pub fn slot_patience(mut self, patience: Duration) -> Self {
        self.slot_patience = patience;
        self
    }

    /// Records calls and ops; without it, nothing is recorded.
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// The fault plan that the machine starts with; see [`fault`](crate::fault).
    #[must_use]
    pub fn faults(mut self, plan: Plan) -> Self {
        self.faults = plan;
        self
    }

    /// The time limit of a kernel, by the real clock; then it is ended with `CUDA_ERROR_LAUNCH_TIMEOUT`.
    /// Without this call there is no limit, as on a device without a display.
    #[must_use]
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.watchdog = Some(limit);
        self
    }

    /// Calls a function with the output of kernels as they print it; without it, the output goes to standard
    /// output. The function must not call the machine's driver.
    #[must_use]
    pub fn output(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.output = Some(Arc::new(sink));
        self
    }

    /// Number of threads that run the blocks of a kernel; without it, as many as this process has processors.
    /// One block after the other, in the same order every time, is `NonZero::MIN`; a machine that checks, or
    /// whose mode is not [`Threads`](Mode::Threads), does so anyway.
    #[must_use]
    pub fn workers(mut self, workers: NonZeroUsize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The most bytes of the host's memory that simulated memory may take; without it,
    /// [`Topology::host_memory`], or half of what the host has. Beyond it, allocations, copies, fills and
    /// launches answer `CUDA_ERROR_OUT_OF_MEMORY`.
    ///
    /// Memory counts when it is written. What other machines of the process take is counted, too.
    #[must_use]
    pub fn host_memory(mut self, bytes: u64) -> Self {
        self.host_memory = Some(bytes);
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
        let instruments = Instruments {
            checks: self.checks,
            trace: self.trace,
            faults: Faults::new(&plan),
            watchdog: self.watchdog,
            output: self.output,
            workers: self.workers,
            host_limit: self.host_memory.or(topology.host_memory),
            function_address: shims::address,
            annotations: annotations::table,
        };
        match Core::new(id, slot, topology, self.mode, self.patience, instruments) {
            Ok(core) => {
                if core.findings.checks_pointers() {
                    pointer_check::enable();
                }
                let core = Arc::new(core);
                let faults = (!plan.is_quiet()).then(|| FaultScope::begin(&core.faults, &plan, None));
                slots::fill(slot, Arc::clone(&core));
                Ok(Machine::new(core, faults))
            }
            Err(error) => {
                slots::give(slot);
                Err(StartError::AddressSpace(error))
            }
        }
    }
}
