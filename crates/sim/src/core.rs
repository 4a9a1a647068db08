//! A machine's shared part: its world, and the ways to wait for it to change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use warploom_sys::types::CUresult;

use crate::call::Call;
use crate::engine::{Engine, Mode, OpId, Order, State, Step, Work};
use crate::log::{Log, LogEntry, LogKind};
use crate::status::Status;
use crate::thread;
use crate::topology::Topology;
use crate::world::World;

pub(crate) struct Core {
    pub(crate) id: u64,
    pub(crate) slot: usize,
    pub(crate) topology: Topology,
    pub(crate) mode: Mode,
    pub(crate) log: Log,
    pub(crate) initialized: AtomicBool,
    patience: Duration,
    world: Mutex<World>,
    /// Something ended; waiting host threads look again.
    progress: Condvar,
    /// One for each executor: there may be work in its lane.
    lanes: Vec<Condvar>,
    stopping: AtomicBool,
    executors: Mutex<Vec<JoinHandle<()>>>,
}

pub(crate) type Guard<'a> = MutexGuard<'a, World>;

/// How often an executor looks at memory that an op waits for; the host may write it without a call.
const POLL: Duration = Duration::from_micros(50);

impl Core {
    pub(crate) fn new(
        id: u64,
        slot: usize,
        topology: Topology,
        mode: Mode,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let lanes = match mode {
            Mode::Threads => topology.devices.len() + 1,
            Mode::Deterministic(_) | Mode::Sync => 1,
        };
        let world = World::new(id, &topology, Engine::new(mode, lanes))?;
        Ok(Self {
            id,
            slot,
            topology,
            mode,
            log: Log::default(),
            initialized: AtomicBool::new(false),
            patience,
            world: Mutex::new(world),
            progress: Condvar::new(),
            lanes: (0..lanes).map(|_| Condvar::new()).collect(),
            stopping: AtomicBool::new(false),
            executors: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn world(&self) -> Guard<'_> {
        self.world.lock()
    }

    /// Starts the executors of a machine that has them; called once, by `cuInit`.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<()> {
        if self.mode != Mode::Threads {
            return Ok(());
        }
        let mut executors = self.executors.lock();
        for lane in 0..self.lanes.len() {
            let core = Arc::clone(self);
            let name = format!("warploom-{}-{lane}", self.id);
            executors.push(std::thread::Builder::new().name(name).spawn(move || core.execute(lane))?);
        }
        Ok(())
    }

    /// Ends the executors. What is still enqueued is forgotten; what is running ends first.
    pub(crate) fn stop(&self) {
        {
            let _world = self.world.lock();
            self.stopping.store(true, Ordering::Relaxed);
            for lane in &self.lanes {
                lane.notify_all();
            }
            self.progress.notify_all();
        }
        for executor in std::mem::take(&mut *self.executors.lock()) {
            // A host function may let the last handle of its own machine go.
            if executor.thread().id() != std::thread::current().id() {
                // An executor catches what a host function throws; there is nothing to learn from its end.
                executor.join().unwrap_or_default();
            }
        }
    }

    fn execute(&self, lane: usize) {
        let mut world = self.world.lock();
        while !self.stopping.load(Ordering::Relaxed) {
            if let Some((id, work)) = world.engine.next_in_lane(lane) {
                self.run(&mut world, id, work);
            } else if world.engine.has_parked() {
                self.lanes[lane].wait_for(&mut world, POLL);
                world.engine.unpark();
            } else {
                self.lanes[lane].wait(&mut world);
            }
        }
    }

    /// Runs a started op with the lock released, and books its end.
    fn run(&self, world: &mut Guard<'_>, id: OpId, mut work: Work) {
        let step = if world.is_poisoned(id) { Step::Done } else { MutexGuard::unlocked(world, || work.run()) };
        world.stepped(id, work, step);
        self.wake(world);
    }

    /// Wakes executors that have something to do, and host threads that wait.
    fn wake(&self, world: &mut Guard<'_>) {
        if self.mode == Mode::Threads {
            for (lane, condition) in self.lanes.iter().enumerate() {
                if world.engine.has_ready(lane) || world.engine.has_parked() {
                    condition.notify_one();
                }
            }
        }
        self.progress.notify_all();
    }

    /// Gives the machine the chance to run work it was just given, or was asked about.
    pub(crate) fn pump(&self, world: &mut Guard<'_>) {
        match self.mode {
            Mode::Threads => self.wake(world),
            Mode::Sync | Mode::Deterministic(Order::Eager) => {
                world.engine.unpark();
                while let Some((id, work)) = world.engine.next_in_lane(0) {
                    self.run(world, id, work);
                }
            }
            Mode::Deterministic(Order::Seeded(_)) => {
                world.engine.unpark();
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
            Mode::Deterministic(Order::Lazy) => {
                self.run_one_of(world, targets);
            }
            Mode::Deterministic(Order::Seeded(_)) | Mode::Deterministic(Order::Eager) | Mode::Sync => self.pump(world),
            Mode::Threads => {}
        }
        targets.iter().all(|target| world.engine.is_done(*target))
    }

    /// Waits until ops are done; reports a wait that nothing can end.
    pub(crate) fn wait(&self, call: &Call<'_>, world: &mut Guard<'_>, targets: &[OpId]) -> Status {
        // A host function that waits is itself a running op, and gets nowhere meanwhile.
        let own = usize::from(thread::is_in_host_function());
        let mut seen = world.engine.progress();
        let mut since = Instant::now();
        loop {
            if targets.iter().all(|target| world.engine.is_done(*target)) {
                return Ok(());
            }
            if self.stopping.load(Ordering::Relaxed) {
                return Err(CUresult::CUDA_ERROR_DEINITIALIZED);
            }
            // Asked before: what is parked may have been made ready for another look by then.
            let parked = world.engine.has_parked();
            if !self.advance(world, targets) {
                let pause = if parked || world.engine.has_parked() { POLL } else { self.patience.max(POLL) };
                self.progress.wait_for(world, pause);
            }
            if world.engine.progress() != seen || world.engine.running() > own {
                seen = world.engine.progress();
                since = Instant::now();
            } else if since.elapsed() >= self.patience {
                return Err(self.deadlock(call, world, targets));
            }
        }
    }

    /// Runs something that brings `targets` closer, if this machine leaves that to the waiting thread.
    fn advance(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        let started = match self.mode {
            Mode::Threads => return false,
            Mode::Deterministic(Order::Lazy) => return self.run_all_of(world, targets),
            Mode::Deterministic(Order::Seeded(_)) => world.engine.next_at_random(),
            Mode::Sync | Mode::Deterministic(Order::Eager) => world.engine.next_in_lane(0),
        };
        match started {
            Some((id, work)) => {
                self.run(world, id, work);
                true
            }
            None => {
                world.engine.unpark();
                false
            }
        }
    }

    /// Runs what `targets` need, in order, as far as it goes.
    fn run_all_of(&self, world: &mut Guard<'_>, targets: &[OpId]) -> bool {
        let before = world.engine.progress();
        for id in world.engine.ancestors(targets) {
            self.run_if_ready(world, id);
        }
        world.engine.progress() != before
    }

    /// Runs the first op that `targets` need and that can run.
    fn run_one_of(&self, world: &mut Guard<'_>, targets: &[OpId]) {
        for id in world.engine.ancestors(targets) {
            if self.run_if_ready(world, id) {
                return;
            }
        }
    }

    fn run_if_ready(&self, world: &mut Guard<'_>, id: OpId) -> bool {
        if world.engine.op(id).is_some_and(|op| op.state == State::Parked) {
            world.engine.unpark_one(id);
        }
        match world.engine.start(id) {
            Some((id, work)) => {
                self.run(world, id, work);
                true
            }
            None => false,
        }
    }

    fn deadlock(&self, call: &Call<'_>, world: &Guard<'_>, targets: &[OpId]) -> CUresult {
        let stuck: Vec<String> = world
            .engine
            .ancestors(targets)
            .into_iter()
            .filter_map(|id| world.engine.op(id))
            .filter(|op| op.state == State::Parked)
            .map(|op| op.work.describe())
            .collect();
        let reason = format!(
            "waits for {}, which nothing has satisfied for {:?}; the real driver would hang here",
            if stuck.is_empty() { "work that no one runs".to_owned() } else { stuck.join(", and ") },
            self.patience
        );
        let code = CUresult::CUDA_ERROR_TIMEOUT;
        self.log.add(LogEntry { function: call.function(), code, reason, kind: LogKind::Deadlock });
        code
    }
}
