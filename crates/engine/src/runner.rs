//! The runner: a locked state whose ops are run by executors and by waiting threads.

mod outside;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::engine::Engine;
use crate::id::OpId;
use crate::mode::{Mode, Order};
use crate::op::State as OpState;
use crate::work::{Step, Work};

/// The user's state around an engine.
pub trait State: Send + Sized + 'static {
    /// The work of its ops.
    type Work: Work;

    /// Its engine.
    fn engine(&mut self) -> &mut Engine<Self::Work>;

    /// Decides whether a started op runs; one that does not is ended as done.
    fn starts(&mut self, id: OpId, work: &mut Self::Work) -> bool;

    /// Books the end of an op, whether or not it ran, and [finishes](Engine::finish) it in the engine, now or
    /// in a later call of [`stepped`](Self::stepped).
    fn ended(&mut self, id: OpId, work: Self::Work, failure: Option<<Self::Work as Work>::Failure>);

    /// An op has run for a while; ends of others may have waited for that.
    fn stepped(&mut self) {}
}

/// Runs a piece of work with the state unlocked. It must not unwind.
pub type Perform<W> = Box<dyn Fn(&mut W) -> Step<<W as Work>::Failure> + Send + Sync>;

/// The lock on a runner's state.
pub type Guard<'a, S> = MutexGuard<'a, S>;

/// The reason for which a wait ended before its targets were done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The runner was stopped.
    Stopped,
    /// Nothing happened for as long as the runner is patient. Carries the descriptions of the ops that look
    /// at memory in vain.
    Deadlock(Vec<String>),
}

/// Delay before an executor looks again at memory that an op waits for; the host may write it without a call.
const POLL: Duration = Duration::from_micros(20);
/// The longest such delay, while nothing changes.
const SLOW_POLL: Duration = Duration::from_millis(1);
/// Yields after which lazy order assumes that an op waits for other work, and lets that run.
const STARVED: u32 = 256;

/// A state, the executors that run its ops, and the threads that wait for them.
pub struct Runner<S: State> {
    mode: Mode,
    patience: Duration,
    state: Mutex<S>,
    perform: Perform<S::Work>,
    /// An op ended; waiting host threads look again.
    progress: Condvar,
    /// One for each executor: there may be work in its lane.
    lanes: Vec<Condvar>,
    stopping: AtomicBool,
    /// Pieces of work that run now with the state unlocked, other than code of the program.
    performing: AtomicUsize,
    /// Calls of [`Runner::quiesce`] in progress; no work starts meanwhile.
    holds: AtomicUsize,
    /// Work ended while a call waited for it, or the last such call is over.
    quiet: Condvar,
    executors: Mutex<Vec<JoinHandle<()>>>,
}

impl<S: State> Runner<S> {
    /// A runner without executors. Waits give up after `patience` without progress.
    pub fn new(mode: Mode, patience: Duration, mut state: S, perform: Perform<S::Work>) -> Self {
        let lanes = (0..state.engine().lanes()).map(|_| Condvar::new()).collect();
        Self {
            mode,
            patience,
            state: Mutex::new(state),
            perform,
            progress: Condvar::new(),
            lanes,
            stopping: AtomicBool::new(false),
            performing: AtomicUsize::new(0),
            holds: AtomicUsize::new(0),
            quiet: Condvar::new(),
            executors: Mutex::new(Vec::new()),
        }
    }

    /// The mode, which decides when ops run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Time without progress after which a wait is given up.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Locks the state.
    #[inline]
    pub fn lock(&self) -> Guard<'_, S> {
        self.state.lock()
    }

    /// Starts an executor for each lane, in mode [`Mode::Threads`]; their threads are called `name` with the
    /// lane's number.
    pub fn start(self: &Arc<Self>, name: &str) -> io::Result<()> {
        if self.mode != Mode::Threads {
            return Ok(());
        }
        let mut executors = self.executors.lock();
        for lane in executors.len()..self.lanes.len() {
            let runner = Arc::clone(self);
            let thread = std::thread::Builder::new().name(format!("{name}-{lane}"));
            executors.push(thread.spawn(move || runner.execute(lane))?);
        }
        Ok(())
    }

    /// Ends the executors. Enqueued ops are dropped; running ones end first. A host function that does not
    /// return is left behind with its thread after the runner's patience.
    pub fn stop(&self) {
        {
            let _state = self.state.lock();
            self.stopping.store(true, Ordering::Relaxed);
            for lane in &self.lanes {
                lane.notify_all();
            }
            self.progress.notify_all();
        }
        let deadline = Instant::now() + self.patience;
        for executor in std::mem::take(&mut *self.executors.lock()) {
            // A host function may let go of the last handle to its own runner.
            let is_self = executor.thread().id() == std::thread::current().id();
            while !is_self && !executor.is_finished() && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
            if executor.is_finished() {
                // `perform` does not unwind, so there is nothing to learn from its end.
                executor.join().unwrap_or_default();
            }
        }
    }

    fn execute(&self, lane: usize) {
        let mut state = self.state.lock();
        let mut pause = POLL;
        while !self.stopping.load(Ordering::Relaxed) {
            if let Some((id, work)) = state.engine().next_in_lane(lane) {
                if !work.polls() {
                    pause = POLL;
                }
                self.run(&mut state, id, work);
            } else if state.engine().has_parked(lane) {
                if self.lanes[lane].wait_for(&mut state, pause).timed_out() {
                    pause = (pause * 2).min(SLOW_POLL);
                }
                state.engine().unpark(lane);
            } else {
                pause = POLL;
                self.lanes[lane].wait(&mut state);
            }
        }
    }

    /// Runs a started op with the lock released, and books the outcome.
    fn run(&self, state: &mut Guard<'_, S>, id: OpId, mut work: S::Work) {
        let step = if state.starts(id, &mut work) { self.perform_unlocked(state, &mut work) } else { Step::Done };
        // A look in vain changed nothing that anyone could be waiting for.
        let parked = matches!(step, Step::Park);
        match step {
            Step::Yield => state.engine().yielded(id, work),
            Step::Park => state.engine().park(id, work),
            Step::Done => state.ended(id, work, None),
            Step::Fail(failure) => state.ended(id, work, Some(failure)),
        }
        state.stepped();
        settle(&mut **state);
        if !parked {
            self.wake(state);
        }
    }

    /// Wakes executors that have something to do, and host threads whose wait is over. Without executors, a
    /// waiting thread may have to run what another has made ready.
    #[inline]
    fn wake(&self, state: &mut Guard<'_, S>) {
        let engine = state.engine();
        if self.mode == Mode::Threads {
            for (lane, condition) in self.lanes.iter().enumerate() {
                if engine.has_ready(lane) || engine.has_parked(lane) {
                    condition.notify_one();
                }
            }
        }
        if engine.take_signal() || self.mode != Mode::Threads {
            self.progress.notify_all();
        }
    }

    /// Gives enqueued ops the chance to run.
    pub fn pump(&self, state: &mut Guard<'_, S>) {
        match self.mode {
            Mode::Threads => self.wake(state),
            Mode::Sync | Mode::Deterministic(Order::Eager) => {
                state.engine().unpark(0);
                // Work that yields may be waiting for a later call, so it gets a few turns and not the rest
                // of time.
                let mut fruitless = 0;
                while fruitless <= 16 * state.engine().ready(0)
                    && let Some((id, work)) = state.engine().next_in_lane(0)
                {
                    self.run(state, id, work);
                    fruitless = if state.engine().yields() == 0 { 0 } else { fruitless + 1 };
                }
            }
            Mode::Deterministic(Order::Seeded(_)) => {
                state.engine().unpark(0);
                for _ in 0..state.engine().appetite() {
                    if let Some((id, work)) = state.engine().next_at_random() {
                        self.run(state, id, work);
                    }
                }
            }
            Mode::Deterministic(Order::Lazy) => {}
        }
    }

    /// `true` if ops are done. A runner without executors uses the question to get on with them.
    pub fn query(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        match self.mode {
            Mode::Threads => {}
            Mode::Deterministic(Order::Lazy) => {
                self.advance_lazily(state, targets);
            }
            Mode::Deterministic(Order::Seeded(_) | Order::Eager) | Mode::Sync => self.pump(state),
        }
        targets.iter().all(|target| state.engine().is_done(*target))
    }

    /// Waits until ops are done. `in_host_function` says that the caller is itself a running op, which is no
    /// sign of progress. The state may change meanwhile.
    pub fn wait(&self, state: &mut Guard<'_, S>, targets: &[OpId], in_host_function: bool) -> Result<(), WaitError> {
        if targets.iter().all(|target| state.engine().is_done(*target)) {
            return Ok(());
        }
        let own = usize::from(in_host_function);
        let mut seen = state.engine().progress();
        let mut since = Instant::now();
        let mut pause = POLL;
        state.engine().watch(targets);
        while !targets.iter().all(|target| state.engine().is_done(*target)) {
            if self.stopping.load(Ordering::Relaxed) {
                return Err(WaitError::Stopped);
            }
            if !self.advance(state, targets) {
                let engine = state.engine();
                // An op that is still ready or parked waits for memory to change, which only polling detects.
                let polls = self.mode != Mode::Threads && (engine.has_ready(0) || engine.has_parked(0));
                self.progress.wait_for(state, if polls { pause } else { self.patience.max(POLL) });
                pause = (pause * 2).min(SLOW_POLL);
            }
            let engine = state.engine();
            if engine.progress() != seen || engine.running() > own {
                seen = engine.progress();
                since = Instant::now();
                pause = POLL;
            } else if since.elapsed() >= self.patience {
                let stuck = engine.stuck_for(targets);
                if stuck.iter().any(|id| engine.op(*id).is_some_and(|op| op.work.waits_for_process())) {
                    since = Instant::now();
                    continue;
                }
                let described = stuck.into_iter().filter_map(|id| engine.op(id)).map(|op| op.work.describe());
                return Err(WaitError::Deadlock(described.collect()));
            }
        }
        Ok(())
    }

    /// Runs an op that brings `targets` closer, if that is the waiting thread's business.
    fn advance(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        let started = match self.mode {
            Mode::Threads => return self.lend_a_hand(state, targets),
            Mode::Deterministic(Order::Lazy) => return self.advance_lazily(state, targets),
            Mode::Deterministic(Order::Seeded(_)) => state.engine().next_at_random(),
            Mode::Sync | Mode::Deterministic(Order::Eager) => state.engine().next_in_lane(0),
        };
        match started {
            Some((id, work)) => {
                self.run(state, id, work);
                true
            }
            None => {
                state.engine().unpark(0);
                false
            }
        }
    }

    /// Runs a short op that `targets` need and that no executor has begun: for a thread that waits anyway,
    /// that is quicker than waking another and being woken by it.
    fn lend_a_hand(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        let engine = state.engine();
        let ready = engine.ready_for(targets);
        let Some(id) = ready.filter(|id| engine.op(*id).is_some_and(|op| op.work.is_short())) else {
            // The executors may not have been told yet.
            self.wake(state);
            return false;
        };
        match engine.start(id) {
            Some((id, work)) => {
                self.run(state, id, work);
                true
            }
            None => false,
        }
    }

    /// Runs one op that `targets` need. When all of those wait for memory to change, any other op may be the
    /// one that changes it, so then another runs.
    fn advance_lazily(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        let starved = state.engine().yields() % STARVED == STARVED - 1;
        if !starved && self.run_for(state, targets) {
            return true;
        }
        let everything = state.engine().tails_in_turn();
        self.run_for(state, &everything)
    }

    /// Runs the first op that `targets` need and that is ready, or ends one whose memory has changed.
    fn run_for(&self, state: &mut Guard<'_, S>, targets: &[OpId]) -> bool {
        let engine = state.engine();
        if let Some(id) = engine.ready_for(targets)
            && let Some((id, work)) = engine.start(id)
        {
            self.run(state, id, work);
            return true;
        }
        for id in state.engine().parked_for(targets) {
            state.engine().unpark_one(id);
            if let Some((id, work)) = state.engine().start(id) {
                self.run(state, id, work);
                if state.engine().op(id).is_none_or(|op| op.state != OpState::Parked) {
                    return true;
                }
            }
        }
        false
    }
}

/// Ends ready ops that only do bookkeeping, and what they make ready in turn.
#[inline]
pub fn settle<S: State>(state: &mut S) {
    while let Some((id, work)) = state.engine().next_instant() {
        state.ended(id, work, None);
    }
}

impl<S: State> std::fmt::Debug for Runner<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Runner").field("mode", &self.mode).finish_non_exhaustive()
    }
}
