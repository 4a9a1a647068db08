//! Machine core, shared by threads: the locked state, its executors, and waits for changes.

use std::ffi::c_void;
use std::io::Write;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use warploom_engine::{Engine, Mode, OpId, Runner, Step, Timelines, WaitError, Work as _};
use warploom_ptx::Crew;
use warploom_sys::types::CUresult;
use warploom_sys::{Function, MemoryAnnotationTable};

use crate::check::{Checks, Findings};
use crate::fault::Faults;
use crate::ffi::status::Status;
use crate::machine::log::{Log, LogEntry, LogKind};
use crate::machine::world::{Work, World};
use crate::memory::digest;
use crate::process::home::Home;
use crate::process::thread;
use crate::topology::Topology;
use crate::trace::{Recorder, Trace};

pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) slot: usize,
    pub(crate) topology: Topology,
    /// Digest of the topology, computed at first use.
    digest: OnceLock<u128>,
    pub(crate) mode: Mode,
    pub(crate) log: Arc<Log>,
    pub(crate) findings: Arc<Findings>,
    calls: AtomicU64,
    pub(crate) trace: Option<Arc<Recorder>>,
    pub(crate) home: Home,
    pub(crate) faults: Arc<Faults>,
    pub(crate) initialized: AtomicBool,
    /// Set once a context with 32-bit device addresses has been created.
    pub(crate) has_narrow_contexts: AtomicBool,
    /// Set when the first kernel faults.
    has_faulted: Arc<AtomicBool>,
    /// The time limit of a kernel.
    pub(crate) watchdog: Option<Duration>,
    output: Option<Output>,
    /// Number of threads that run blocks of kernels; the threads start at first use.
    workers: usize,
    crew: OnceLock<Arc<Crew>>,
    /// Values that kernels set for conditional nodes of graphs.
    runner: Arc<Runner<World>>,
    /// Set by the C boundary, which depends on the machine.
    function_address: FunctionAddress,
    annotations: Annotations,
}

/// Optional parts of a machine: checks, trace, faults, watchdog, output.
pub(crate) struct Instruments {
    pub(crate) checks: Checks,
    pub(crate) trace: Option<Trace>,
    pub(crate) faults: Faults,
    pub(crate) watchdog: Option<Duration>,
    pub(crate) output: Option<Output>,
    pub(crate) workers: Option<NonZeroUsize>,
    /// The most bytes of the host's memory that simulated memory may take.
    pub(crate) host_limit: Option<u64>,
    pub(crate) function_address: FunctionAddress,
    pub(crate) annotations: Annotations,
}

/// Finds the C function of a slot, or its variant in which stream 0 is the per-thread default stream.
pub(crate) type FunctionAddress = fn(usize, Function, bool) -> *mut c_void;

/// Finds the memory annotations of a slot.
pub(crate) type Annotations = fn(usize) -> &'static MemoryAnnotationTable;

/// Receiver of the output of kernels.
pub(crate) type Output = Arc<dyn Fn(&str) + Send + Sync>;

pub(crate) type Guard<'a> = warploom_engine::Guard<'a, World>;

impl Core {
    pub(crate) fn new(
        id: u64,
        slot: usize,
        topology: Topology,
        mode: Mode,
        patience: Duration,
        instruments: Instruments,
    ) -> std::io::Result<Self> {
        let checks = instruments.checks;
        let timelines = Timelines::new(checks.is_on(), checks.host_order);
        let engine = Engine::new(mode, topology.devices.len(), timelines);
        let findings = Arc::new(Findings::new(checks));
        let trace = instruments.trace.map(|trace| Arc::new(Recorder::new(trace, topology.devices.len())));
        let world =
            World::new(id, &topology, mode, engine, Arc::clone(&findings), trace.clone(), instruments.host_limit)?;
        let has_faulted = world.fault_flag();
        let log = Arc::new(Log::default());
        let performers_log = Arc::clone(&log);
        let perform = Box::new(move |work: &mut Work| perform(id, &performers_log, work));
        let runner = Arc::new(Runner::new(mode, patience, world, perform));
        Ok(Self {
            id,
            slot,
            topology,
            digest: OnceLock::new(),
            mode,
            log,
            findings,
            calls: AtomicU64::new(0),
            trace,
            home: Home::new()?,
            faults: Arc::new(instruments.faults),
            initialized: AtomicBool::new(false),
            has_faulted,
            has_narrow_contexts: AtomicBool::new(false),
            watchdog: instruments.watchdog,
            output: instruments.output,
            workers: instruments.workers.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get),
            crew: OnceLock::new(),
            runner,
            function_address: instruments.function_address,
            annotations: instruments.annotations,
        })
    }

    /// One of the machine's C functions, or its variant in which stream 0 is the per-thread default stream.
    pub(crate) fn address_of(&self, function: Function, per_thread: bool) -> *mut c_void {
        (self.function_address)(self.slot, function, per_thread)
    }

    /// Digest of the machine's description; processes share memory between machines with the same one.
    pub(crate) fn digest(&self) -> u128 {
        *self.digest.get_or_init(|| digest(&self.topology))
    }

    /// The memory annotations, if the machine checks.
    pub(crate) fn annotations(&self) -> Option<&'static MemoryAnnotationTable> {
        self.findings.is_on().then(|| (self.annotations)(self.slot))
    }

    /// `true` if a kernel has faulted.
    #[inline]
    pub(crate) fn has_faulted(&self) -> bool {
        self.has_faulted.load(Ordering::Relaxed)
    }

    /// Passes on the output of a kernel.
    pub(crate) fn print(&self, text: &str) {
        match &self.output {
            Some(output) => output(text),
            // As in the real driver; errors of a closed stdout are ignored.
            None => std::io::stdout().write_all(text.as_bytes()).unwrap_or_default(),
        }
    }

    /// Threads for the blocks of a kernel, if there are several.
    pub(crate) fn crew(&self) -> Option<Arc<Crew>> {
        (self.workers > 1).then(|| Arc::clone(self.crew.get_or_init(|| Arc::new(Crew::new(self.workers)))))
    }

    /// The next call number, from 1.
    #[inline]
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Number of calls that have a number.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn world(&self) -> Guard<'_> {
        self.home.live_in();
        self.runner.lock()
    }

    /// Starts the executors, if the mode has them; called once, by `cuInit`.
    pub(crate) fn start(&self) -> std::io::Result<()> {
        self.runner.start(&format!("warploom-{}", self.id))
    }

    /// Stops the executors. Enqueued work is dropped and running work completes. The thread of a host
    /// function that does not return is left behind, with the memory that it uses.
    pub(crate) fn stop(&self) {
        self.runner.stop();
    }

    /// Lets the machine run newly enqueued or queried work.
    pub(crate) fn pump(&self, world: &mut Guard<'_>) {
        self.runner.pump(world);
    }

    /// `true` if ops are done. A machine without threads runs them here.
    #[inline]
    pub(crate) fn query(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        self.runner.query(world, targets)
    }

    /// Changes the state while no op runs.
    pub(crate) fn quiesce<R>(&self, world: &mut Guard<'_>, change: impl FnOnce(&mut World) -> R) -> R {
        self.runner.quiesce(world, change)
    }

    /// Gets an op done that other processes may wait for, on a machine without executors: at once if that
    /// needs no wait, otherwise by a thread that goes on with it while this process is busy elsewhere.
    pub(crate) fn run_for_others(&self, world: &mut Guard<'_>, op: OpId) {
        if self.mode == Mode::Threads || self.runner.flush(world, &[op]) || !world.awaited_by_others(op) {
            return;
        }
        let runner = Arc::downgrade(&self.runner);
        let name = format!("warploom-{}-shared", self.id);
        let started = std::thread::Builder::new().name(name).spawn(move || run_for_others(&runner));
        if let Err(error) = started {
            world.forget_awaited();
            let (code, kind) = (CUresult::CUDA_ERROR_OPERATING_SYSTEM, LogKind::Internal);
            let reason = format!("no thread runs work for other processes: {error}");
            self.log.add(LogEntry { function: Function::cuEventRecord, code, reason, kind });
        }
    }

    /// Waits until ops are done; reports a deadlock.
    pub(crate) fn wait(&self, function: Function, world: &mut Guard<'_>, targets: &[OpId]) -> Status {
        let in_host_function = thread::is_in_host_function(self.id);
        self.runner.wait(world, targets, in_host_function).map_err(|error| match error {
            WaitError::Stopped => CUresult::CUDA_ERROR_DEINITIALIZED,
            WaitError::Deadlock(stuck) => self.deadlock(function, &stuck, in_host_function),
        })
    }

    fn deadlock(&self, function: Function, stuck: &[String], in_host_function: bool) -> CUresult {
        let what = match stuck {
            [] if in_host_function => "the host function that is waiting".to_owned(),
            [] => "work that no one runs".to_owned(),
            some => some.join(", and "),
        };
        let reason = format!(
            "waits for {what}, which nothing has satisfied for {:?}; the real driver would hang here",
            self.runner.patience()
        );
        let code = CUresult::CUDA_ERROR_TIMEOUT;
        self.log.add(LogEntry { function, code, reason, kind: LogKind::Deadlock });
        code
    }
}

/// Delay between two attempts to go on with work that other processes wait for.
const PAUSE: Duration = Duration::from_millis(1);

/// Goes on with ops that other processes wait for until they are done, or the machine ends.
fn run_for_others(runner: &Weak<Runner<World>>) {
    loop {
        std::thread::sleep(PAUSE);
        let Some(runner) = runner.upgrade() else { return };
        let mut world = runner.lock();
        let ops = world.ops_for_others();
        if runner.is_stopping() || ops.is_empty() {
            world.forget_awaited();
            return;
        }
        runner.flush(&mut world, &ops);
    }
}

/// Runs work of a machine; a panic becomes a failure with a line in the log.
fn perform(machine: u64, log: &Log, work: &mut Work) -> Step<CUresult> {
    let is_host = work.runs_on_host();
    let mut attempt = || catch_unwind(AssertUnwindSafe(|| work.run()));
    let outcome = if is_host { thread::in_host_function(machine, attempt) } else { attempt() };
    outcome.unwrap_or_else(|_| {
        let code = CUresult::CUDA_ERROR_UNKNOWN;
        let reason = "the simulator panicked while it ran work: a bug in warploom".to_owned();
        log.add(LogEntry { function: Function::cuStreamSynchronize, code, reason, kind: LogKind::Internal });
        Step::Fail(code)
    })
}
