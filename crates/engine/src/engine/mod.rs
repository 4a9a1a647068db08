//! The engine: unfinished ops, the queues they stand in, and the choice of the next one to run.

mod need;
mod queues;

use smallvec::SmallVec;

use crate::id::{OpId, QueueId};
use crate::lane::Lane;
use crate::mode::{Mode, Order, Random};
use crate::op::{Op, State};
use crate::queue::Queue;
use crate::store::Store;
use crate::timelines::Timelines;
use crate::work::Work;

/// Unfinished ops and the queues they stand in.
pub struct Engine<W: Work> {
    mode: Mode,
    random: Random,
    ops: Store<W>,
    queues: Vec<Queue<W::Owner>>,
    free_queues: Vec<u32>,
    lanes: Vec<Lane>,
    instants: Vec<OpId>,
    /// Ready host functions that wait for the running one to return; lanes with a thread of their own need no
    /// such list.
    held_back: Vec<OpId>,
    running: usize,
    running_host: usize,
    progress: u64,
    /// Times that work yielded since something last ended.
    yields: u32,
    /// An op ended that a host thread waits for.
    signal: bool,
    walks: u32,
    turns: usize,
    /// Happens-before of queues and host threads.
    pub timelines: Timelines,
}

impl<W: Work> Engine<W> {
    /// An empty engine. In mode [`Mode::Threads`] there are two lanes for every unit, one of them for host
    /// functions; otherwise there is one lane.
    #[must_use]
    pub fn new(mode: Mode, units: usize, timelines: Timelines) -> Self {
        let lanes = if mode == Mode::Threads { units * 2 } else { 1 };
        Self {
            mode,
            random: Random::new(mode),
            ops: Store::default(),
            queues: Vec::new(),
            free_queues: Vec::new(),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            instants: Vec::new(),
            held_back: Vec::new(),
            running: 0,
            running_host: 0,
            progress: 0,
            yields: 0,
            signal: false,
            walks: 0,
            turns: 0,
            timelines,
        }
    }

    /// The mode, which decides when ops run.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Number of lanes: of executors, where there are any.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Counts everything that happened, so that a waiter can tell "slow" from "stuck".
    pub fn progress(&self) -> u64 {
        self.progress
    }

    /// Times that work yielded since something last ended.
    pub fn yields(&self) -> u32 {
        self.yields
    }

    /// Ops that are not done.
    pub fn unfinished(&self) -> usize {
        self.ops.len()
    }

    /// Ops that are doing something right now; a look at memory that has not changed does not count.
    pub fn running(&self) -> usize {
        self.running
    }

    /// `true` if an op is done.
    pub fn is_done(&self, id: OpId) -> bool {
        self.ops.get(id).is_none()
    }

    /// A host thread waits for these.
    pub fn watch(&mut self, targets: &[OpId]) {
        for target in targets {
            if let Some(op) = self.ops.get_mut(*target) {
                op.watched = true;
            }
        }
    }

    /// `true` if an op ended, since last asked, that a host thread waits for.
    pub fn take_signal(&mut self) -> bool {
        std::mem::take(&mut self.signal)
    }

    /// An op that is not done.
    pub fn op(&self, id: OpId) -> Option<&Op<W>> {
        self.ops.get(id)
    }

    /// Enqueues work behind `queue`'s last op and behind `extra`; it is not to start before virtual time
    /// `now`.
    pub fn add(&mut self, queue: QueueId, extra: &[OpId], work: W, note: W::Note, now: u64) -> OpId {
        let tail = self.queue(queue).tail;
        let id = self.insert((queue, false), tail.into_iter().chain(extra.iter().copied()), work, note, now);
        let queue = self.queue_mut(queue);
        queue.tail = Some(id);
        queue.head.get_or_insert(id);
        id
    }

    /// Enqueues work beside `queue`'s chain, behind `after` alone. What comes later in the queue waits for it
    /// only if it is told to, so the caller ends with an [`Engine::add`] behind all such ops.
    pub fn add_beside(&mut self, queue: QueueId, after: &[OpId], work: W, note: W::Note, now: u64) -> OpId {
        self.insert((queue, true), after.iter().copied(), work, note, now)
    }

    /// Lets `heir` take the place of an unfinished op: its successors wait for `heir` instead. An op that
    /// ends can so be followed by more work before its successors start.
    pub fn bequeath(&mut self, id: OpId, heir: OpId) {
        let Some(op) = self.ops.get_mut(id) else { return };
        let (successors, watched) = (std::mem::take(&mut op.successors), std::mem::take(&mut op.watched));
        for successor in &successors {
            if let Some(next) = self.ops.get_mut(*successor) {
                next.predecessors.iter_mut().filter(|before| **before == id).for_each(|before| *before = heir);
            }
        }
        if let Some(op) = self.ops.get_mut(heir) {
            op.successors.extend(successors);
            op.watched |= watched;
        }
    }

    fn insert(
        &mut self,
        (queue, beside): (QueueId, bool),
        after: impl Iterator<Item = OpId>,
        work: W,
        note: W::Note,
        now: u64,
    ) -> OpId {
        let mut predecessors: SmallVec<[OpId; 2]> = after.filter(|id| !self.is_done(*id)).collect();
        if predecessors.len() > 1 {
            predecessors.sort_unstable();
            predecessors.dedup();
        }
        let earliest = now.max(self.queue(queue).busy_until);
        let waiting = predecessors.len() as u32;
        let id = self.ops.insert(Op {
            queue,
            work,
            note,
            predecessors: SmallVec::new(),
            successors: SmallVec::new(),
            waiting,
            state: State::Waiting,
            has_parked: false,
            looks_again: false,
            watched: false,
            beside,
            walked: 0,
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
    pub fn pass(&mut self, queue: QueueId, time: u64) {
        self.delay(queue, time);
        self.queue_mut(queue).clock.advance();
        self.progress += 1;
    }

    /// `true` if ops that only do bookkeeping end the moment they are ready.
    pub fn finishes_instants_at_once(&self) -> bool {
        self.mode.finishes_instants_at_once()
    }

    fn make_ready(&mut self, id: OpId) {
        let at_once = self.mode.finishes_instants_at_once();
        let Some(op) = self.ops.get_mut(id) else { return };
        op.state = State::Ready;
        if at_once && op.work.is_instant() {
            self.instants.push(id);
        } else if self.mode != Mode::Deterministic(Order::Lazy) {
            let lane = self.lane_of(id);
            self.lanes[lane].ready.push_back(id);
        } else if op.beside {
            // Lazy order finds ready ops by walking back from what is wanted; a list of them all would only
            // grow. The ops beside a chain are many, and needed by the chain's next op.
            let queue = op.queue;
            self.queue_mut(queue).ready_beside.push(id);
        }
    }

    /// The lane that runs an op.
    #[inline]
    fn lane_of(&self, id: OpId) -> usize {
        let Some(op) = self.ops.get(id).filter(|_| self.lanes.len() > 1) else { return 0 };
        let unit = usize::from(self.queue(op.queue).unit);
        if op.work.runs_on_host() { self.lanes.len() / 2 + unit } else { unit }
    }

    /// The next op that takes no time and changes only bookkeeping.
    #[inline]
    pub fn next_instant(&mut self) -> Option<(OpId, W)> {
        let id = self.instants.pop()?;
        self.start(id)
    }

    /// The next ready op of a lane, in order of readiness.
    #[inline]
    pub fn next_in_lane(&mut self, lane: usize) -> Option<(OpId, W)> {
        while let Some(id) = self.lanes[lane].ready.pop_front() {
            if let Some(started) = self.start(id) {
                return Some(started);
            }
        }
        None
    }

    /// The ops of an op's lane that are running or ready, itself included; ready ones in order of readiness.
    pub fn in_lane_of(&self, id: OpId) -> impl Iterator<Item = (OpId, &Op<W>)> {
        let lane = &self.lanes[self.lane_of(id)];
        lane.running.iter().chain(&lane.ready).filter_map(|id| Some((*id, self.ops.get(*id)?)))
    }

    /// `true` if an op of a lane is ready.
    pub fn has_ready(&self, lane: usize) -> bool {
        !self.lanes[lane].ready.is_empty()
    }

    /// Number of ready ops of a lane.
    pub fn ready(&self, lane: usize) -> usize {
        self.lanes[lane].ready.len()
    }

    /// Any ready op, chosen by the seed.
    pub fn next_at_random(&mut self) -> Option<(OpId, W)> {
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

    /// Number of ready ops a seeded engine runs of its own accord during one driver call.
    pub fn appetite(&mut self) -> usize {
        self.random.below(3)
    }

    /// Starts a given op if it is ready. A host function has to wait for the one that is running: the driver
    /// runs one at a time, and on a machine without threads the running one may itself be the caller.
    pub fn start(&mut self, id: OpId) -> Option<(OpId, W)> {
        let host_is_busy = self.host_is_busy();
        let op = self.ops.get_mut(id)?;
        if op.state != State::Ready {
            return None;
        }
        if op.work.runs_on_host() {
            if host_is_busy {
                self.held_back.push(id);
                return None;
            }
            self.running_host += 1;
        }
        if std::mem::take(&mut op.looks_again) || op.work.polls() {
            op.state = State::Looking;
        } else {
            op.state = State::Running;
            self.running += 1;
        }
        let work = op.work.take();
        let lane = self.lane_of(id);
        self.lanes[lane].running.push(id);
        Some((id, work))
    }

    /// `true` if a host function has to wait for another.
    fn host_is_busy(&self) -> bool {
        self.lanes.len() == 1 && self.running_host > 0
    }

    fn stopped(&mut self, id: OpId, work: &W) {
        let lane = self.lane_of(id);
        let running = &mut self.lanes[lane].running;
        if let Some(at) = running.iter().position(|running| *running == id) {
            running.swap_remove(at);
        }
        if self.ops.get(id).is_some_and(|op| op.state == State::Running) {
            self.running -= 1;
        }
        if work.runs_on_host() {
            self.running_host -= 1;
            for id in std::mem::take(&mut self.held_back) {
                self.make_ready(id);
            }
        }
    }

    /// Puts a started op back: it has yielded, and is ready again.
    pub fn yielded(&mut self, id: OpId, work: W) {
        self.stopped(id, &work);
        self.progress += 1;
        self.yields = self.yields.saturating_add(1);
        if let Some(op) = self.ops.get_mut(id) {
            op.work = work;
        }
        self.make_ready(id);
    }

    /// Puts a started op aside until [`Engine::unpark`].
    pub fn park(&mut self, id: OpId, work: W) {
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

    /// `true` if an op of a lane waits for memory to change.
    pub fn has_parked(&self, lane: usize) -> bool {
        !self.lanes[lane].parked.is_empty()
    }

    /// Makes every parked op of a lane ready for another look.
    pub fn unpark(&mut self, lane: usize) {
        for id in std::mem::take(&mut self.lanes[lane].parked) {
            self.make_ready(id);
        }
    }

    /// Makes one parked op ready for another look.
    pub fn unpark_one(&mut self, id: OpId) {
        let lane = self.lane_of(id);
        let parked = &mut self.lanes[lane].parked;
        if let Some(at) = parked.iter().position(|parked| *parked == id) {
            parked.swap_remove(at);
            self.make_ready(id);
        }
    }

    /// Ends a started op at virtual time `end` and readies what waited for it alone.
    pub fn finish(&mut self, id: OpId, work: &W, end: u64) {
        self.stopped(id, work);
        let Some(op) = self.ops.remove(id) else { return };
        self.progress += 1;
        self.yields = 0;
        self.signal |= op.watched;
        self.delay(op.queue, end);
        let mut head = None;
        for successor in op.successors {
            let Some(next) = self.ops.get_mut(successor) else { continue };
            if next.queue == op.queue && !next.beside && head.is_none() {
                head = Some(successor);
            }
            next.earliest = next.earliest.max(end);
            next.waiting -= 1;
            if next.waiting == 0 {
                self.make_ready(successor);
            }
        }
        if op.beside {
            return;
        }
        let queue = self.queue_mut(op.queue);
        queue.head = head;
        if queue.tail == Some(id) {
            queue.tail = None;
            self.free_if_idle(op.queue);
        }
    }
}

impl<W: Work> std::fmt::Debug for Engine<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (unfinished, queues) = (self.unfinished(), self.queues.len());
        formatter
            .debug_struct("Engine")
            .field("unfinished", &unfinished)
            .field("queues", &queues)
            .finish_non_exhaustive()
    }
}
