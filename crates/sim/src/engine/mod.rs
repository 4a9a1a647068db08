//! Ordered work: ops with explicit predecessors, and the ways to run them.
//!
//! Everything a program enqueues is an [`Op`]. It waits for its predecessors (the op before it in its queue, the events
//! it was told to wait for, what the legacy default stream orders) and then it is *ready*. Which ready op runs next, and
//! when, is the [`Mode`]'s choice; any choice is a legal execution, because the predecessors are all there is to the
//! order.
//!
//! ```text
//!   submit ──▶ waiting ──(last predecessor done)──▶ ready ──▶ running ──▶ done
//!                                                     ▲          │
//!                                                     └─ parked ◀┘   nothing to do until memory changes
//! ```
//!
//! An op's bytes are moved outside the machine's lock; everything else happens under it.

mod doom;
mod lane;
mod mode;
mod need;
mod op;
mod order;
mod queue;
mod step;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod work;

pub use mode::{Mode, Order};
pub(crate) use op::{Op, OpId, State};
pub(crate) use order::Clock as OrderClock;
pub(crate) use queue::{Queue, QueueId};
pub(crate) use step::{Step, Task};
#[cfg(test)]
pub(crate) use work::StagedBlock;
pub(crate) use work::{BlockCopy, Compare, RowFill, Work};

use doom::Dooms;
use lane::Lane;
use smallvec::SmallVec;
use step::Away;
use store::Store;

use crate::check::Timelines;
use crate::machine::thread;

/// Ops of a machine and the queues they stand in.
pub(crate) struct Engine {
    mode: Mode,
    random: mode::Random,
    ops: Store,
    queues: Vec<Queue>,
    free_queues: Vec<u32>,
    lanes: Vec<Lane>,
    instants: Vec<OpId>,
    /// Ready host functions that wait for the running one to return; lanes with a thread of their own need no such list.
    held: Vec<OpId>,
    running: usize,
    running_host: usize,
    progress: u64,
    /// Times that work yielded since something last ended.
    yields: u32,
    /// Something ended that a host thread waits for.
    signal: bool,
    walks: u64,
    turns: usize,
    /// What the host knows, for the checks.
    pub(crate) timelines: Timelines,
    /// Ops note which call they are of.
    pub(crate) numbers_calls: bool,
    dooms: Dooms,
}

impl Engine {
    /// An empty engine. With a thread for each, there is a lane for every device and one for its host functions;
    /// otherwise there is one lane.
    pub(crate) fn new(mode: Mode, devices: usize) -> Self {
        let lanes = if mode == Mode::Threads { devices * 2 } else { 1 };
        Self {
            mode,
            random: mode::Random::new(mode),
            ops: Store::default(),
            queues: Vec::new(),
            free_queues: Vec::new(),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            instants: Vec::new(),
            held: Vec::new(),
            running: 0,
            running_host: 0,
            progress: 0,
            yields: 0,
            signal: false,
            walks: 0,
            turns: 0,
            timelines: Timelines::off(),
            numbers_calls: false,
            dooms: Dooms::default(),
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Counts everything that happened, so that a waiter can tell "slow" from "stuck".
    pub(crate) fn progress(&self) -> u64 {
        self.progress
    }

    /// Times that work yielded since something last ended.
    pub(crate) fn yields(&self) -> u32 {
        self.yields
    }

    /// Ops that are not done.
    pub(crate) fn unfinished(&self) -> usize {
        self.ops.len()
    }

    /// Ops that are doing something right now; a look at memory that has not changed does not count.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    pub(crate) fn is_done(&self, id: OpId) -> bool {
        self.ops.get(id).is_none()
    }

    /// A host thread waits for these.
    pub(crate) fn watch(&mut self, targets: &[OpId]) {
        for target in targets {
            if let Some(op) = self.ops.get_mut(*target) {
                op.watched = true;
            }
        }
    }

    /// Whether something ended, since last asked, that a host thread waits for.
    pub(crate) fn take_signal(&mut self) -> bool {
        std::mem::take(&mut self.signal)
    }

    pub(crate) fn op(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id)
    }

    /// Puts work behind `queue`'s last op and behind `extra`; it is not to start before virtual time `now`.
    pub(crate) fn add(&mut self, queue: QueueId, extra: &[OpId], work: Work, now: u64) -> OpId {
        let tail = self.queue(queue).tail;
        let id = self.insert(queue, tail.into_iter().chain(extra.iter().copied()), work, now);
        let queue = self.queue_mut(queue);
        queue.tail = Some(id);
        queue.head.get_or_insert(id);
        id
    }

    /// Puts work beside `queue`'s chain, behind `after` alone. What comes later in the queue waits for it only if it is
    /// told to, so the caller ends with an [`Engine::add`] behind all such ops.
    pub(crate) fn add_beside(&mut self, queue: QueueId, after: OpId, work: Work, now: u64) -> OpId {
        self.insert(queue, std::iter::once(after), work, now)
    }

    fn insert(&mut self, queue: QueueId, after: impl Iterator<Item = OpId>, work: Work, now: u64) -> OpId {
        let mut predecessors: SmallVec<[OpId; 2]> = after.filter(|id| !self.is_done(*id)).collect();
        if predecessors.len() > 1 {
            predecessors.sort_unstable();
            predecessors.dedup();
        }
        let earliest = now.max(self.queue(queue).busy_until);
        let waiting = predecessors.len() as u32;
        let fails = self.dooms.take();
        let id = self.ops.insert(Op {
            queue,
            work,
            predecessors: SmallVec::new(),
            successors: SmallVec::new(),
            waiting,
            state: State::Waiting,
            has_parked: false,
            looks_again: false,
            watched: false,
            call: if self.numbers_calls { thread::current_call() } else { 0 },
            fails,
            earliest,
        });
        for predecessor in &predecessors {
            if let Some(op) = self.ops.get_mut(*predecessor) {
                op.successors.push(id);
            }
        }
        if let Some(op) = self.ops.get_mut(id) {
            op.predecessors = predecessors;
        }
        self.queue_mut(queue).clock.advance();
        self.progress += 1;
        if waiting == 0 {
            self.make_ready(id);
        }
        id
    }

    /// Counts something that was done in an idle queue, up to virtual time `time`, without becoming an op.
    pub(crate) fn pass(&mut self, queue: QueueId, time: u64) {
        self.delay(queue, time);
        self.queue_mut(queue).clock.advance();
        self.progress += 1;
    }

    /// Whether ops that only do bookkeeping end the moment they are ready.
    pub(crate) fn finishes_instants_at_once(&self) -> bool {
        self.mode.finishes_instants_at_once()
    }

    fn make_ready(&mut self, id: OpId) {
        let at_once = self.mode.finishes_instants_at_once();
        let Some(op) = self.ops.get_mut(id) else { return };
        op.state = State::Ready;
        if at_once && op.work.is_instant() {
            self.instants.push(id);
        } else if self.mode != Mode::Deterministic(Order::Lazy) {
            // Lazy order finds ready ops by walking back from what is wanted; a list of them would only grow.
            let lane = self.lane_of(id);
            self.lanes[lane].ready.push_back(id);
        }
    }

    /// The lane that runs an op.
    fn lane_of(&self, id: OpId) -> usize {
        let Some(op) = self.ops.get(id).filter(|_| self.lanes.len() > 1) else { return 0 };
        let device = usize::from(self.queue(op.queue).device);
        if op.work.runs_on_host() { self.lanes.len() / 2 + device } else { device }
    }

    /// The next op that takes no time and changes only bookkeeping.
    pub(crate) fn next_instant(&mut self) -> Option<(OpId, Work)> {
        let id = self.instants.pop()?;
        self.start(id)
    }

    /// The next ready op of a lane, in order of readiness.
    pub(crate) fn next_in_lane(&mut self, lane: usize) -> Option<(OpId, Work)> {
        while let Some(id) = self.lanes[lane].ready.pop_front() {
            if let Some(started) = self.start(id) {
                return Some(started);
            }
        }
        None
    }

    pub(crate) fn has_ready(&self, lane: usize) -> bool {
        !self.lanes[lane].ready.is_empty()
    }

    /// How many ops of a lane are ready.
    pub(crate) fn ready(&self, lane: usize) -> usize {
        self.lanes[lane].ready.len()
    }

    /// Any ready op, chosen by the seed.
    pub(crate) fn next_at_random(&mut self) -> Option<(OpId, Work)> {
        loop {
            let count = self.lanes[0].ready.len();
            if count == 0 {
                return None;
            }
            let chosen = self.random.below(count);
            if let Some(id) = self.lanes[0].ready.swap_remove_back(chosen)
                && let Some(started) = self.start(id)
            {
                return Some(started);
            }
        }
    }

    /// How many ready ops a seeded engine runs of its own accord during one driver call.
    pub(crate) fn appetite(&mut self) -> usize {
        self.random.below(3)
    }

    /// Starts a given op if it is ready. A host function has to wait for the one that is running: the driver runs one at
    /// a time, and on a machine without threads the running one may itself be the caller.
    pub(crate) fn start(&mut self, id: OpId) -> Option<(OpId, Work)> {
        let host_is_busy = self.host_is_busy();
        let op = self.ops.get_mut(id)?;
        if op.state != State::Ready {
            return None;
        }
        if op.work.runs_on_host() {
            if host_is_busy {
                self.held.push(id);
                return None;
            }
            self.running_host += 1;
        }
        if let Work::WaitValue { at, value, wide, compare } = op.work {
            op.state = State::Looking;
            return Some((id, Work::WaitValue { at, value, wide, compare }));
        }
        if std::mem::take(&mut op.looks_again) {
            op.state = State::Looking;
        } else {
            op.state = State::Running;
            self.running += 1;
        }
        let instead = if let Work::Task(_) = op.work { Work::Task(Box::new(Away)) } else { Work::Join };
        Some((id, std::mem::replace(&mut op.work, instead)))
    }

    /// Whether a host function has to wait for another.
    fn host_is_busy(&self) -> bool {
        self.lanes.len() == 1 && self.running_host > 0
    }

    fn stopped(&mut self, id: OpId, work: &Work) {
        if self.ops.get(id).is_some_and(|op| op.state == State::Running) {
            self.running -= 1;
        }
        if work.runs_on_host() {
            self.running_host -= 1;
            for held in std::mem::take(&mut self.held) {
                self.make_ready(held);
            }
        }
    }

    /// Puts a started op back: it has yielded, and is ready again.
    pub(crate) fn yielded(&mut self, id: OpId, work: Work) {
        self.stopped(id, &work);
        self.progress += 1;
        self.yields = self.yields.saturating_add(1);
        if let Some(op) = self.ops.get_mut(id) {
            op.work = work;
        }
        self.make_ready(id);
    }

    /// Puts a started op aside until [`Engine::unpark`].
    pub(crate) fn park(&mut self, id: OpId, work: Work) {
        self.stopped(id, &work);
        if let Some(op) = self.ops.get_mut(id) {
            op.work = work;
            op.state = State::Parked;
            op.has_parked = true;
            op.looks_again = true;
            let lane = self.lane_of(id);
            self.lanes[lane].parked.push(id);
        }
    }

    /// Whether an op of a lane waits for memory to change.
    pub(crate) fn has_parked(&self, lane: usize) -> bool {
        !self.lanes[lane].parked.is_empty()
    }

    /// Makes every parked op of a lane ready for another look.
    pub(crate) fn unpark(&mut self, lane: usize) {
        for id in std::mem::take(&mut self.lanes[lane].parked) {
            self.make_ready(id);
        }
    }

    /// Makes one parked op ready for another look.
    pub(crate) fn unpark_one(&mut self, id: OpId) {
        let lane = self.lane_of(id);
        let parked = &mut self.lanes[lane].parked;
        if let Some(at) = parked.iter().position(|parked| *parked == id) {
            parked.swap_remove(at);
            self.make_ready(id);
        }
    }

    /// Ends a started op at virtual time `end` and readies what waited for it alone.
    pub(crate) fn finish(&mut self, id: OpId, work: &Work, end: u64) {
        self.stopped(id, work);
        let Some(op) = self.ops.remove(id) else { return };
        self.progress += 1;
        self.yields = 0;
        self.signal |= op.watched;
        self.delay(op.queue, end);
        let mut head = None;
        for successor in op.successors {
            let Some(next) = self.ops.get_mut(successor) else { continue };
            if next.queue == op.queue && head.is_none() {
                head = Some(successor);
            }
            next.earliest = next.earliest.max(end);
            next.waiting -= 1;
            if next.waiting == 0 {
                self.make_ready(successor);
            }
        }
        let queue = self.queue_mut(op.queue);
        queue.head = head;
        if queue.tail == Some(id) {
            queue.tail = None;
            self.free_if_idle(op.queue);
        }
    }
}
