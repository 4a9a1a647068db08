//! A machine's shared part: its world, and the ways to run it and to wait for it to change.

use std::io::Write;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, available_parallelism};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use warploom_ptx::Crew;
use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::check::{Checks, Findings, Timelines};
use crate::engine::{Engine, Mode, OpId, Order, State, Step, Work};
use crate::fault::Faults;
use crate::ffi::status::Status;
use crate::machine::log::{Log, LogEntry, LogKind};
use crate::machine::thread;
use crate::machine::world::World;
use crate::process::fork::Home;
use crate::topology::Topology;
use crate::trace::{Recorder, Trace};

pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) slot: usize,
    pub(crate) topology: Topology,
    pub(crate) mode: Mode,
    pub(crate) log: Log,
    pub(crate) findings: Arc<Findings>,
    calls: AtomicU64,
    pub(crate) trace: Option<Arc<Recorder>>,
    pub(crate) home: Home,
    pub(crate) faults: Arc<Faults>,
    pub(crate) initialized: AtomicBool,
    patience: Duration,
    /// How long a kernel may run.
    pub(crate) watchdog: Option<Duration>,
    output: Option<Output>,
    /// Threads that run blocks of kernels: how many, and those that were needed.
    workers: usize,
    crew: OnceLock<Arc<Crew>>,
    world: Mutex<World>,
    /// Something ended; waiting host threads look again.
    progress: Condvar,
    /// One for each executor: there may be work in its lane.
    lanes: Vec<Condvar>,
    stopping: AtomicBool,
    executors: Mutex<Vec<JoinHandle<()>>>,
}

/// What a machine does besides being one.
pub(crate) struct Instruments {
    pub(crate) checks: Checks,
    pub(crate) trace: Option<Trace>,
    pub(crate) faults: Faults,
    pub(crate) watchdog: Option<Duration>,
    pub(crate) output: Option<Output>,
    pub(crate) workers: Option<NonZeroUsize>,
}

/// Where the output of kernels goes.
pub(crate) type Output = Arc<dyn Fn(&str) + Send + Sync>;

pub(crate) type Guard<'a> = MutexGuard<'a, World>;

/// How soon an executor looks again at memory that an op waits for; the host may write it without a call.
const POLL: Duration = Duration::from_micros(20);
/// How seldom it looks when nothing has changed for a while.
const SLOW_POLL: Duration = Duration::from_millis(1);
/// Yields after which lazy order takes a kernel for one that waits for other work, and lets that run.
const STARVED: u32 = 256;

impl Core {
    pub(crate) fn new(
        id: u64,
        slot: usize,
        topology: Topology,
        mode: Mode,
        patience: Duration,
        instruments: Instruments,
    ) -> std::io::Result<Self> {
        let mut engine = Engine::new(mode, topology.devices.len());
        let checks = instruments.checks;
        engine.timelines = Timelines::new(checks.is_on(), checks.host_order);
        let findings = Arc::new(Findings::new(checks));
        let lanes = engine.lanes();
        let trace = instruments.trace.map(|trace| Arc::new(Recorder::new(trace, topology.devices.len())));
        let world = World::new(id, &topology, mode, engine, Arc::clone(&findings), trace.clone())?;
        Ok(Self {
            id,
            slot,
            topology,
            mode,
            log: Log::default(),
            findings,
            calls: AtomicU64::new(0),
            trace,
            home: Home::new()?,
            faults: Arc::new(instruments.faults),
            initialized: AtomicBool::new(false),
            patience,
            watchdog: instruments.watchdog,
            output: instruments.output,
            workers: instruments.workers.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get),
            crew: OnceLock::new(),
            world: Mutex::new(world),
            progress: Condvar::new(),
            lanes: (0..lanes).map(|_| Condvar::new()).collect(),
            stopping: AtomicBool::new(false),
            executors: Mutex::new(Vec::new()),
        })
    }

    /// Passes on what a kernel prints.
    pub(crate) fn print(&self, text: &str) {
        match &self.output {
            Some(output) => output(text),
            // As the real driver does it; whoever closed the stream does not want to know.
            None => std::io::stdout().write_all(text.as_bytes()).unwrap_or_default(),
        }
    }

    /// Threads for the blocks of a kernel, if there are to be several.
    pub(crate) fn crew(&self) -> Option<Arc<Crew>> {
        (self.workers > 1).then(|| Arc::clone(self.crew.get_or_init(|| Arc::new(Crew::new(self.workers)))))
    }

    /// A number for a call: its place among the machine's calls, from 1.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many calls have a number.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn world(&self) -> Guard<'_> {
        self.home.live_in();
        self.world.lock()
    }

    /// Starts the executors of a machine that has them; called once, by `cuInit`.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<()> {
        if self.mode != Mode::Threads {
            return Ok(());
        }
        let mut executors = self.executors.lock();
        for lane in executors.len()..self.lanes.len() {
            let core = Arc::clone(self);
            let name = format!("warploom-{}-{lane}", self.id);
            executors.push(std::thread::Builder::new().name(name).spawn(move || core.execute(lane))?);
        }
        Ok(())
    }

    /// Ends the executors. What is still enqueued is forgotten; what is running ends first, unless it is a host function
    /// that does not come back: its thread is left behind, and keeps what it uses.
    pub(crate) fn stop(&self) {
        {
            let _world = self.world.lock();
            self.stopping.store(true, Ordering::Relaxed);
            for lane in &self.lanes {
                lane.notify_all();
            }
            self.progress.notify_all();
        }
        let deadline = Instant::now() + self.patience;
        for executor in std::mem::take(&mut *self.executors.lock()) {
            // A host function may let the last handle of its own machine go.
            let is_self = executor.thread().id() == std::thread::current().id();
            while !is_self && !executor.is_finished() && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
            if executor.is_finished() {
                // An executor catches what its work throws; there is nothing to learn from its end.
                executor.join().unwrap_or_default();
            }
        }
    }

    fn execute(&self, lane: usize) {
        let mut world = self.world.lock();
        let mut pause = POLL;
        while !self.stopping.load(Ordering::Relaxed) {
            if let Some((id, work)) = world.engine.next_in_lane(lane) {
                if !matches!(work, Work::WaitValue { .. }) {
                    pause = POLL;
                }
                self.run(&mut world, id, work);
            } else if world.engine.has_parked(lane) {
                if self.lanes[lane].wait_for(&mut world, pause).timed_out() {
                    pause = (pause * 2).min(SLOW_POLL);
                }
                world.engine.unpark(lane);
            } else {
                pause = POLL;
                self.lanes[lane].wait(&mut world);
            }
        }
    }

    /// Runs a started op with the lock released, and books its end.
    fn run(&self, world: &mut Guard<'_>, id: OpId, mut work: Work) {
        // The program's own code may tell other threads, by ways that nobody sees, that it runs.
        if let Some(known) = work.known() {
            world.engine.timelines.host_learns(known);
        }
        let step = match (world.poison_of(id), &mut work) {
            (None, _) => MutexGuard::unlocked(world, || self.perform(&mut work)),
            // A callback, unlike a host function, is called to be told.
            (Some(code), Work::Callback { status, .. }) => {
                *status = code;
                MutexGuard::unlocked(world, || self.perform(&mut work))
            }
            (Some(_), _) => Step::Done,
        };
        let parked = step == Step::Park;
        world.stepped(id, work, step);
        // A look in vain changed nothing that anyone could be waiting for.
        if !parked {
            self.wake(world);
        }
    }

    fn perform(&self, work: &mut Work) -> Step {
        let is_host = work.runs_on_host();
        let mut attempt = || catch_unwind(AssertUnwindSafe(|| work.run()));
        let outcome = if is_host { thread::in_host_function(self.id, attempt) } else { attempt() };
        outcome.unwrap_or_else(|_| {
            let code = CUresult::CUDA_ERROR_UNKNOWN;
            let reason = "the simulator panicked while it ran work: a bug in warploom".to_owned();
            self.log.add(LogEntry { function: Function::cuStreamSynchronize, code, reason, kind: LogKind::Internal });
            Step::Fail(code)
        })
    }

    /// Wakes executors that have something to do, and host threads whose wait is over. Without executors, a waiting thread
    /// may have to run what another has made ready.
    fn wake(&self, world: &mut Guard<'_>) {
        if self.mode == Mode::Threads {
            for (lane, condition) in self.lanes.iter().enumerate() {
                if world.engine.has_ready(lane) || world.engine.has_parked(lane) {
                    condition.notify_one();
                }
            }
        }
        if world.engine.take_signal() || self.mode != Mode::Threads {
            self.progress.notify_all();
        }
    }

    /// Gives the machine the chance to run work it was just given, or was asked about.
    pub(crate) fn pump(&self, world: &mut Guard<'_>) {
        match self.mode {
            Mode::Threads => self.wake(world),
            Mode::Sync | Mode::Deterministic(Order::Eager) => {
                world.engine.unpark(0);
                // Work that yields may be waiting for a later call, so it gets a few turns and not the rest of time.
                let mut fruitless = 0;
                while fruitless <= 16 * world.engine.ready(0)
                    && let Some((id, work)) = world.engine.next_in_lane(0)
                {
                    self.run(world, id, work);
                    fruitless = if world.engine.yields() == 0 { 0 } else { fruitless + 1 };
                }
            }
            Mode::Deterministic(Order::Seeded(_)) => {
                world.engine.unpark(0);
                for _ in 0..world.engine.appetite() {
                    if let Some((id, work)) = world.engine.next_at_random() {
                        self.run(world, id, work);
                    }
                }
            }
            Mode::Deterministic(Order::Lazy) => {}
        }
    }

    /// Whether ops are done. A machine without threads of its own uses the question to get on with them.
    pub(crate) fn query(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        match self.mode {
            Mode::Threads => {}
            Mode::Deterministic(Order::Lazy) => {
                self.advance_lazily(world, targets);
            }
            Mode::Deterministic(Order::Seeded(_) | Order::Eager) | Mode::Sync => self.pump(world),
        }
        targets.iter().all(|target| world.engine.is_done(*target))
    }

    /// Waits until ops are done; reports a wait that nothing can end.
    pub(crate) fn wait(&self, function: Function, world: &mut Guard<'_>, targets: &[OpId]) -> Status {
        // A host function that waits is running itself, which is no sign of progress.
        let own = usize::from(thread::is_in_host_function(self.id));
        let mut seen = world.engine.progress();
        let mut since = Instant::now();
        let mut pause = POLL;
        world.engine.watch(targets);
        while !targets.iter().all(|target| world.engine.is_done(*target)) {
            if self.stopping.load(Ordering::Relaxed) {
                return Err(CUresult::CUDA_ERROR_DEINITIALIZED);
            }
            if !self.advance(world, targets) {
                // What is ready or parked after a fruitless attempt looks at memory; nobody says when that changes.
                let polls = self.mode != Mode::Threads && (world.engine.has_ready(0) || world.engine.has_parked(0));
                self.progress.wait_for(world, if polls { pause } else { self.patience.max(POLL) });
                pause = (pause * 2).min(SLOW_POLL);
            }
            if world.engine.progress() != seen || world.engine.running() > own {
                seen = world.engine.progress();
                since = Instant::now();
                pause = POLL;
            } else if since.elapsed() >= self.patience {
                return Err(self.deadlock(function, world, targets));
            }
        }
        Ok(())
    }

    /// Runs something that brings `targets` closer, if that is the waiting thread's business.
    fn advance(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        let started = match self.mode {
            Mode::Threads => return self.lend_a_hand(world, targets),
            Mode::Deterministic(Order::Lazy) => return self.advance_lazily(world, targets),
            Mode::Deterministic(Order::Seeded(_)) => world.engine.next_at_random(),
            Mode::Sync | Mode::Deterministic(Order::Eager) => world.engine.next_in_lane(0),
        };
        match started {
            Some((id, work)) => {
                self.run(world, id, work);
                true
            }
            None => {
                world.engine.unpark(0);
                false
            }
        }
    }

    /// Runs a copy or a fill that `targets` need and that no executor has begun: for a thread that waits anyway, that is
    /// quicker than waking another and being woken by it.
    fn lend_a_hand(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        let ready = world.engine.ready_for(targets);
        let Some(id) = ready.filter(|id| world.engine.op(*id).is_some_and(|op| op.work.moves_bytes())) else {
            // The executors may not have been told yet.
            self.wake(world);
            return false;
        };
        match world.engine.start(id) {
            Some((id, work)) => {
                self.run(world, id, work);
                true
            }
            None => false,
        }
    }

    /// Runs one op that `targets` need. When all of those wait for memory to change, any other op may be the one that
    /// changes it, so then another runs.
    fn advance_lazily(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        let starved = world.engine.yields() % STARVED == STARVED - 1;
        if !starved && self.run_for(world, targets) {
            return true;
        }
        let everything = world.engine.tails_in_turn();
        self.run_for(world, &everything)
    }

    /// Runs the first op that `targets` need and that is ready, or ends one whose memory has changed.
    fn run_for(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        if let Some(id) = world.engine.ready_for(targets)
            && let Some((id, work)) = world.engine.start(id)
        {
            self.run(world, id, work);
            return true;
        }
        for id in world.engine.parked_for(targets) {
            world.engine.unpark_one(id);
            if let Some((id, work)) = world.engine.start(id) {
                self.run(world, id, work);
                if world.engine.op(id).is_none_or(|op| op.state != State::Parked) {
                    return true;
                }
            }
        }
        false
    }

    fn deadlock(&self, function: Function, world: &mut Guard<'_>, targets: &[OpId]) -> CUresult {
        let stuck: Vec<String> = world
            .engine
            .stuck_for(targets)
            .into_iter()
            .filter_map(|id| world.engine.op(id))
            .map(|op| op.work.describe())
            .collect();
        let what = match stuck.as_slice() {
            [] if thread::is_in_host_function(self.id) => "the host function that is waiting".to_owned(),
            [] => "work that no one runs".to_owned(),
            some => some.join(", and "),
        };
        let reason = format!(
            "waits for {what}, which nothing has satisfied for {:?}; the real driver would hang here",
            self.patience
        );
        let code = CUresult::CUDA_ERROR_TIMEOUT;
        self.log.add(LogEntry { function, code, reason, kind: LogKind::Deadlock });
        code
    }
}
