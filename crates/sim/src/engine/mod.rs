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

mod mode;
mod op;
mod order;
mod queue;
mod step;
mod store;
mod work;

use std::collections::VecDeque;

pub use mode::{Mode, Order};
pub(crate) use op::{Op, OpId, State};
pub(crate) use order::Clock as OrderClock;
pub(crate) use queue::{Queue, QueueId};
pub(crate) use step::{Step, Task};
use store::Store;
pub(crate) use work::{BlockCopy, Compare, Place, RowFill, Side, StagedBlock, Work};

use smallvec::SmallVec;

/// Ops of a machine and the queues they stand in.
pub(crate) struct Engine {
    mode: Mode,
    random: mode::Random,
    ops: Store,
    queues: Vec<Queue>,
    free_queues: Vec<u32>,
    lanes: Vec<VecDeque<OpId>>,
    instants: Vec<OpId>,
    parked: Vec<OpId>,
    running: usize,
    progress: u64,
}

impl Engine {
    /// An empty engine; `lanes` is how many executors will ask for work.
    pub(crate) fn new(mode: Mode, lanes: usize) -> Self {
        Self {
            mode,
            random: mode::Random::new(mode),
            ops: Store::default(),
            queues: Vec::new(),
            free_queues: Vec::new(),
            lanes: vec![VecDeque::new(); lanes],
            instants: Vec::new(),
            parked: Vec::new(),
            running: 0,
            progress: 0,
        }
    }

    /// Counts everything that happened, so that a waiter can tell "slow" from "stuck".
    pub(crate) fn progress(&self) -> u64 {
        self.progress
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

    pub(crate) fn op(&self, id: OpId) -> Option<&Op> {
        self.ops.get(id)
    }

    /// Puts work behind `queue`'s last op and behind `extra`; it is not to start before virtual time `now`.
    pub(crate) fn add(&mut self, queue: QueueId, extra: &[OpId], work: Work, now: u64) -> OpId {
        let tail = self.queue(queue).tail;
        let id = self.insert(queue, tail.into_iter().chain(extra.iter().copied()), work, now);
        self.queue_mut(queue).tail = Some(id);
        id
    }

    /// Puts work beside `queue`'s chain, behind `after` alone. What comes later in the queue waits for it only if it is
    /// told to, so the caller ends with an [`Engine::add`] behind all such ops.
    pub(crate) fn add_beside(&mut self, queue: QueueId, after: OpId, work: Work, now: u64) -> OpId {
        self.insert(queue, std::iter::once(after), work, now)
    }

    fn insert(&mut self, queue: QueueId, after: impl Iterator<Item = OpId>, work: Work, now: u64) -> OpId {
        let mut predecessors: SmallVec<[OpId; 2]> = SmallVec::new();
        for id in after {
            if !self.is_done(id) && !predecessors.contains(&id) {
                predecessors.push(id);
            }
        }
        let earliest = now.max(self.queue(queue).busy_until);
        let waiting = u32::try_from(predecessors.len()).unwrap_or(u32::MAX);
        let id = self.ops.insert(Op {
            queue,
            work,
            predecessors: predecessors.clone(),
            successors: SmallVec::new(),
            waiting,
            state: State::Waiting,
            earliest,
        });
        for predecessor in predecessors {
            if let Some(op) = self.ops.get_mut(predecessor) {
                op.successors.push(id);
            }
        }
        self.queue_mut(queue).clock.advance();
        self.progress += 1;
        if waiting == 0 {
            self.make_ready(id);
        }
        id
    }

    fn make_ready(&mut self, id: OpId) {
        let at_once = self.mode.finishes_instants_at_once();
        let Some(op) = self.ops.get_mut(id) else { return };
        op.state = State::Ready;
        if at_once && op.work.is_instant() {
            self.instants.push(id);
            return;
        }
        let lane = if self.lanes.len() == 1 {
            0
        } else if op.work.runs_on_host() {
            self.lanes.len() - 1
        } else {
            usize::from(self.queues[op.queue.index()].device)
        };
        // Lazy order finds ready ops by walking back from what is wanted; a list of them would only grow.
        if self.mode != Mode::Deterministic(Order::Lazy) {
            self.lanes[lane].push_back(id);
        }
    }

    /// The next op that takes no time and changes only bookkeeping.
    pub(crate) fn next_instant(&mut self) -> Option<(OpId, Work)> {
        let id = self.instants.pop()?;
        self.start(id)
    }

    /// The next ready op of a lane, in order of readiness.
    pub(crate) fn next_in_lane(&mut self, lane: usize) -> Option<(OpId, Work)> {
        while let Some(id) = self.lanes[lane].pop_front() {
            if let Some(started) = self.start(id) {
                return Some(started);
            }
        }
        None
    }

    pub(crate) fn has_ready(&self, lane: usize) -> bool {
        !self.lanes[lane].is_empty()
    }

    /// Any ready op, chosen by the seed.
    pub(crate) fn next_at_random(&mut self) -> Option<(OpId, Work)> {
        loop {
            let count = self.lanes[0].len();
            if count == 0 {
                return None;
            }
            let chosen = self.random.below(count);
            if let Some(id) = self.lanes[0].swap_remove_back(chosen)
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

    /// Starts a given op if it is ready.
    pub(crate) fn start(&mut self, id: OpId) -> Option<(OpId, Work)> {
        let op = self.ops.get_mut(id)?;
        if op.state != State::Ready {
            return None;
        }
        if matches!(op.work, Work::WaitValue { .. }) {
            op.state = State::Looking;
        } else {
            op.state = State::Running;
            self.running += 1;
        }
        Some((id, std::mem::replace(&mut op.work, Work::Join)))
    }

    fn stopped(&mut self, id: OpId) {
        if self.ops.get(id).is_some_and(|op| op.state == State::Running) {
            self.running -= 1;
        }
    }

    /// Puts a started op back: it has yielded, and is ready again.
    pub(crate) fn yielded(&mut self, id: OpId, work: Work) {
        self.stopped(id);
        if let Some(op) = self.ops.get_mut(id) {
            op.work = work;
        }
        self.make_ready(id);
    }

    /// Puts a started op aside until [`Engine::unpark`].
    pub(crate) fn park(&mut self, id: OpId, work: Work) {
        self.stopped(id);
        if let Some(op) = self.ops.get_mut(id) {
            op.work = work;
            op.state = State::Parked;
            self.parked.push(id);
        }
    }

    pub(crate) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Makes every parked op ready for another look.
    pub(crate) fn unpark(&mut self) {
        for id in std::mem::take(&mut self.parked) {
            self.make_ready(id);
        }
    }

    /// Makes one parked op ready for another look.
    pub(crate) fn unpark_one(&mut self, id: OpId) {
        if let Some(at) = self.parked.iter().position(|parked| *parked == id) {
            self.parked.swap_remove(at);
            self.make_ready(id);
        }
    }

    /// Ends a started op at virtual time `end` and readies what waited for it alone.
    pub(crate) fn finish(&mut self, id: OpId, end: u64) {
        self.stopped(id);
        let Some(op) = self.ops.remove(id) else { return };
        self.progress += 1;
        let queue = self.queue_mut(op.queue);
        queue.busy_until = queue.busy_until.max(end);
        if queue.tail == Some(id) {
            queue.tail = None;
        }
        if queue.retired && queue.tail.is_none() {
            self.free_queue(op.queue);
        }
        for successor in op.successors {
            let Some(op) = self.ops.get_mut(successor) else { continue };
            op.earliest = op.earliest.max(end);
            op.waiting -= 1;
            if op.waiting == 0 {
                self.make_ready(successor);
            }
        }
    }

    /// The unfinished ops that `targets` need, themselves included, each after what it waits for.
    pub(crate) fn ancestors(&self, targets: &[OpId]) -> Vec<OpId> {
        let mut order = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut stack: Vec<(OpId, usize)> = Vec::new();
        for target in targets {
            if !self.is_done(*target) && seen.insert(*target) {
                stack.push((*target, 0));
            }
            while let Some((id, next)) = stack.last_mut() {
                let predecessor = self.ops.get(*id).and_then(|op| op.predecessors.get(*next));
                *next += 1;
                match predecessor {
                    Some(predecessor) => {
                        if !self.is_done(*predecessor) && seen.insert(*predecessor) {
                            stack.push((*predecessor, 0));
                        }
                    }
                    None => {
                        order.push(*id);
                        stack.pop();
                    }
                }
            }
        }
        order
    }
}
