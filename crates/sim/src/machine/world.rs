//! State of a machine, behind its lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use smallvec::SmallVec;
use warploom_engine::{Known, Mode, OpId, OpState, Order, Period, QueueId, settle};
use warploom_sys::types::CUresult;

use crate::check::{Checker, Findings, Processes};
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::Status;
use crate::machine::capture::Captures;
use crate::machine::clock::{Clock, Timed};
use crate::machine::code::Code;
use crate::machine::context::Context;
use crate::machine::coredump::CoredumpSettings;
use crate::machine::device::Device;
use crate::machine::event::Event;
use crate::machine::graph::Graphs;
use crate::machine::objects::Objects;
use crate::machine::physical::Physical;
use crate::machine::planned_failures::PlannedFailures;
use crate::machine::pool::{Current, Pool, Windows};
use crate::machine::resource::Counts;
use crate::machine::stream::{Stream, Traits};
use crate::machine::work::{self, Note, Owner, Reached};
use crate::memory::{
    Home, HostLimit, HostMemory, ImportedMemory, ManagedMemory, MemoryOp, Registry, Spacing, VirtualMemory,
};
use crate::process::thread;
use crate::topology::Topology;
use crate::trace::{Activity, Recorder};

/// Work of ops of a machine.
pub(crate) type Work = work::Work<World>;
/// The engine of a machine.
pub(crate) type Engine = warploom_engine::Engine<Work>;
/// An op of a machine.
type Op = warploom_engine::Op<Work>;
/// A queue of a machine.
pub(crate) type Queue = warploom_engine::Queue<Owner>;

/// Ready and running ops among which those of earlier calls are looked for; they stand in front.
const LOOKED_AT: usize = 64;

/// The state of a machine.
pub(crate) struct World {
    pub(super) devices: Vec<Device>,
    pub(super) contexts: Objects<Context>,
    pub(super) streams: Objects<Stream>,
    pub(super) events: Objects<Event>,
    pub(super) pools: Objects<Pool>,
    /// Default and current pools, after their first use.
    pub(super) current_pools: BTreeMap<Home, Current>,
    pub(super) pool_windows: Windows,
    pub(super) memory: Registry,
    pub(super) physical: Objects<Physical>,
    pub(super) virtual_memory: VirtualMemory,
    pub(super) imported: ImportedMemory,
    pub(super) host_memory: HostMemory,
    pub(super) managed_memory: ManagedMemory,
    pub(super) code: Code,
    pub(super) graphs: Graphs,
    pub(super) captures: Captures,
    /// The settings of core dumps for new contexts.
    pub(super) coredump: CoredumpSettings,
    pub(super) engine: Engine,
    pub(super) planned_failures: PlannedFailures,
    /// Ops store the number of their call.
    numbers_calls: bool,
    pub(super) clock: Clock,
    pub(super) checker: Checker,
    pub(super) processes: Processes,
    pub(super) host_limit: HostLimit,
    pub(super) trace: Option<Arc<Recorder>>,
    /// Objects destroyed with their context.
    pub(super) abandoned: Counts,
    next_context_id: u64,
    next_stream_id: u64,
    next_op: u64,
    pub(super) has_faulted: Arc<AtomicBool>,
    /// Ops that other processes may wait for, while a thread goes on with them.
    pub(super) for_others: Vec<OpId>,
    /// Ops that have run and whose end is not known yet.
    unbooked: Vec<Unbooked>,
}

/// An op that has run, while others that it may share the device with still do.
struct Unbooked {
    id: OpId,
    number: u64,
    work: Work,
}

impl World {
    pub(crate) fn new(
        id: u64,
        topology: &Topology,
        mode: Mode,
        engine: Engine,
        findings: Arc<Findings>,
        trace: Option<Arc<Recorder>>,
        host_limit: Option<u64>,
    ) -> std::io::Result<Self> {
        let spacing = if findings.is_on() { Spacing::Apart } else { Spacing::Dense };
        let devices = topology.devices.iter().map(|spec| Device::new(spec, spacing)).collect::<Result<_, _>>()?;
        Ok(Self {
            devices,
            contexts: Objects::new(id),
            streams: Objects::new(id),
            events: Objects::new(id),
            pools: Objects::new(id),
            current_pools: BTreeMap::new(),
            pool_windows: Windows::default(),
            memory: Registry::new(),
            physical: Objects::new(id),
            virtual_memory: VirtualMemory::default(),
            imported: ImportedMemory::default(),
            host_memory: HostMemory::new(spacing),
            managed_memory: ManagedMemory::new(topology, spacing),
            code: Code::new(id),
            graphs: Graphs::new(id, topology.devices.len()),
            captures: Captures::default(),
            coredump: CoredumpSettings::default(),
            engine,
            planned_failures: PlannedFailures::default(),
            numbers_calls: trace.is_some(),
            clock: Clock::new(topology, mode),
            checker: Checker::new(findings),
            processes: Processes::default(),
            host_limit: HostLimit::new(host_limit),
            trace,
            abandoned: Counts::default(),
            next_context_id: 1,
            next_stream_id: 1,
            next_op: 1,
            has_faulted: Arc::default(),
            for_others: Vec::new(),
            unbooked: Vec::new(),
        })
    }

    pub(crate) fn next_context_id(&mut self) -> u64 {
        self.next_context_id += 1;
        self.next_context_id - 1
    }

    pub(crate) fn next_stream_id(&mut self) -> u64 {
        self.next_stream_id += 1;
        self.next_stream_id - 1
    }

    /// Enqueues work, ordered as CUDA orders the queue against its context's default stream.
    #[inline]
    pub(crate) fn enqueue(&mut self, queue: QueueId, work: Work) -> Status<OpId> {
        self.enqueue_after(queue, &[], work)
    }

    /// Enqueues work behind its queue and other ops.
    #[inline]
    pub(crate) fn enqueue_after(&mut self, queue: QueueId, others: &[OpId], work: Work) -> Status<OpId> {
        let id = self.add_after(queue, others, work)?;
        settle(self);
        Ok(id)
    }

    /// Enqueues work that cannot complete before [`World::settle`], so that its op can be stored first.
    #[inline]
    pub(crate) fn add_after(&mut self, queue: QueueId, others: &[OpId], mut work: Work) -> Status<OpId> {
        let context = self.engine.queue(queue).owner.context;
        self.healthy(context)?;
        let mut before = self.dependencies_of_next(context, queue);
        before.extend_from_slice(others);
        let now = self.clock.host_call();
        if let Err(code) = self.check_work(queue, &work) {
            // The dependencies already found must enter the queue, by another op if not by this one.
            if !before.is_empty() {
                self.add(queue, &before, Work::Join, now);
                settle(self);
            }
            return Err(code);
        }
        work.remember(&self.engine.queue(queue).clock.known);
        self.watch_kernel(queue, &mut work);
        Ok(self.add(queue, &before, work, now))
    }

    /// Enqueues checked work, not before virtual time `now`.
    #[inline]
    pub(crate) fn add(&mut self, queue: QueueId, before: &[OpId], work: Work, now: u64) -> OpId {
        let note = self.note();
        self.engine.add(queue, before, work, note, now)
    }

    /// Enqueues checked work beside a queue's chain, behind some ops alone.
    pub(crate) fn add_beside(&mut self, queue: QueueId, before: &[OpId], work: Work, call: u64, now: u64) -> OpId {
        let note = Note { call, number: self.next_op(), fails: self.planned_failures.take() };
        self.engine.add_beside(queue, before, work, note, now)
    }

    /// Notes for an op that the calling thread enqueues.
    fn note(&mut self) -> Note {
        Note { call: self.current_call(), number: self.next_op(), fails: self.planned_failures.take() }
    }

    fn next_op(&mut self) -> u64 {
        self.next_op += 1;
        self.next_op - 1
    }

    /// The number of the call that this thread is in, where calls have numbers.
    pub(crate) fn current_call(&self) -> u64 {
        if self.numbers_calls { thread::current_call() } else { 0 }
    }

    /// `true` if a call must enqueue an op even where its work needs none: for a planned failure, or for the
    /// checks.
    pub(crate) fn needs_op(&mut self) -> bool {
        self.planned_failures.is_planned() || self.checker.is_on()
    }

    /// Planned failures of work.
    pub(crate) fn planned_failures_mut(&mut self) -> &mut PlannedFailures {
        &mut self.planned_failures
    }

    /// `true` if the machine records its ops.
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Notes in the trace that the launch of a graph is over.
    pub(crate) fn trace_launch(&self, queue: QueueId, call: u64, period: Period, activity: Activity) {
        if let Some(trace) = &self.trace {
            let owner = &self.engine.queue(queue).owner;
            trace.launched((owner.device, owner.traits.id, call), period, activity);
        }
    }

    /// A new queue for a stream.
    pub(crate) fn new_queue(&mut self, context: ContextHandle, device: u16, traits: Traits) -> QueueId {
        self.engine.new_queue(device, Owner::new(context, device, traits))
    }

    /// Enqueues several pieces of work that are ordered with the rest of their queue, and not with each
    /// other. Returns the op that joins them, the queue's newest.
    pub(crate) fn enqueue_unordered(&mut self, queue: QueueId, works: impl Iterator<Item = Work>) -> Status<OpId> {
        let start = self.enqueue(queue, Work::Join)?;
        let now = self.clock.host_call();
        let works: SmallVec<[Work; 4]> = works.collect();
        self.check_batch(queue, &works)?;
        let all: SmallVec<[OpId; 4]> = works
            .into_iter()
            .map(|work| {
                let note = self.note();
                self.engine.add_beside(queue, &[start], work, note, now)
            })
            .collect();
        self.enqueue_after(queue, &all, Work::Join)
    }

    /// The ops of other queues that a queue's next op depends on: the order of the default stream, and events
    /// that the whole context waits for.
    #[inline]
    pub(crate) fn dependencies_of_next(&mut self, context: ContextHandle, queue: QueueId) -> SmallVec<[OpId; 4]> {
        let mut before = self.order_against_default_stream(context, queue);
        self.order_behind_gates(context, queue, &mut before);
        self.engine.tell_queue(queue);
        before
    }

    /// The ops that the next op of `queue` depends on because of the legacy default stream, which waits for
    /// all blocking streams of its context, as they do for it.
    #[inline]
    fn order_against_default_stream(&mut self, context: ContextHandle, queue: QueueId) -> SmallVec<[OpId; 4]> {
        let mut before = SmallVec::new();
        if let Some(legacy) = self.contexts.get(context).and_then(|context| context.legacy) {
            if queue == legacy {
                self.engine.follow_spokes(legacy, &mut before);
                if let Some(context) = self.contexts.get(context) {
                    self.engine.queue_mut(legacy).clock.known.join(&context.gone_blocking);
                }
            } else if !self.engine.queue(queue).owner.traits.is_non_blocking() {
                self.engine.follow_hub(queue, legacy, &mut before);
            }
        }
        before
    }

    /// Updates a queue's clock to that of its next op, without enqueuing one.
    #[inline]
    pub(crate) fn catch_up(&mut self, queue: QueueId) {
        let context = self.contexts.get(self.engine.queue(queue).owner.context);
        let is_blocking = !self.engine.queue(queue).owner.traits.is_non_blocking();
        if let Some(legacy) = context.and_then(|context| context.legacy).filter(|hub| is_blocking || *hub == queue) {
            self.engine.catch_up(queue, legacy);
        }
    }

    /// The error that prevents an op from running, its context's or its own, if any.
    pub(crate) fn poison_of(&self, id: OpId) -> Option<CUresult> {
        let op = self.engine.op(id)?;
        self.fault_of(self.engine.queue(op.queue).owner.context).or(op.note.fails)
    }

    /// The newest pending op of each queue of a context, with those of destroyed streams.
    pub(crate) fn pending(&self, context: ContextHandle) -> SmallVec<[OpId; 4]> {
        self.engine.tails_of(|owner| owner.context == context).collect()
    }

    /// The work known to be complete after a wait for a context.
    pub(crate) fn known_of(&self, context: ContextHandle) -> Known {
        let mut known = self.engine.known_of(|owner| owner.context == context);
        if let Some(context) = self.contexts.get(context) {
            known.join(&context.gone);
        }
        known
    }

    /// The work known to be complete after a wait for a queue.
    #[inline]
    pub(crate) fn known_when_idle(&self, queue: QueueId) -> Known {
        let mut known = self.engine.known_when_idle(queue);
        if let Some(context) = self.contexts.get(self.engine.queue(queue).owner.context)
            && context.legacy == Some(queue)
        {
            known.join(&context.gone_blocking);
        }
        known
    }

    /// The work that completes before a queue's next op.
    #[inline]
    pub(crate) fn known_before_next(&mut self, queue: QueueId) -> Known {
        self.engine.tell_queue(queue);
        let mut known = self.known_when_idle(queue);
        let is_blocking = !self.engine.queue(queue).owner.traits.is_non_blocking();
        if let Some(context) = self.contexts.get(self.engine.queue(queue).owner.context) {
            if let Some(legacy) = context.legacy.filter(|_| is_blocking) {
                known.join(&self.engine.queue(legacy).clock.known);
            }
            if let Some(gates) = &context.gate_clock {
                known.join(&gates.known);
            }
        }
        known
    }

    /// Notes that a host thread saw all work of a context complete.
    pub(crate) fn host_saw_context(&mut self, context: ContextHandle) {
        let Some(context) = self.contexts.get(context) else { return };
        let time = context.queues().map(|queue| self.engine.busy_until(queue)).max().unwrap_or(0);
        self.clock.host_saw(time);
    }
}

impl warploom_engine::State for World {
    type Work = Work;

    fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    fn starts(&mut self, id: OpId, work: &mut Work) -> bool {
        // The program's code may synchronise with other threads in ways that the simulator does not see.
        if let Some(known) = work.known() {
            self.engine.timelines.host_learns(known);
            self.tell_processes();
        }
        match (self.poison_of(id), work) {
            (None, Work::Task(task)) => {
                let earliest = self.engine.op(id).map_or(0, |op| op.earliest);
                task.starts_at(Clock::kernel_start(earliest));
                true
            }
            (None, _) => true,
            // Unlike a host function, a callback also runs after a failure, with its status.
            (Some(code), Work::Callback { status, .. }) => {
                *status = code;
                true
            }
            (Some(_), _) => false,
        }
    }

    fn ended(&mut self, id: OpId, work: Work, failure: Option<CUresult>) {
        match self.engine.op(id).map(|op| op.note.number) {
            Some(number) if failure.is_none() && self.is_behind_others(id, &work) => {
                self.unbooked.push(Unbooked { id, number, work });
            }
            _ => self.book(id, work, failure),
        }
    }

    fn stepped(&mut self) {
        while let Some(at) = self.next_to_book() {
            let Unbooked { id, work, .. } = self.unbooked.swap_remove(at);
            self.book(id, work, None);
        }
    }
}

impl World {
    /// The first op, in order of the calls, whose end can be booked now.
    fn next_to_book(&self) -> Option<usize> {
        let ready = self.unbooked.iter().enumerate().filter(|(_, op)| !self.is_behind_others(op.id, &op.work));
        ready.min_by_key(|(_, op)| op.number).map(|(at, _)| at)
    }

    /// `true` if ops share their device in the order of the calls; in the modes that choose an order, that
    /// one counts.
    fn books_in_order(&self) -> bool {
        !matches!(self.engine.mode(), Mode::Deterministic(Order::Lazy | Order::Seeded(_)))
    }

    /// `true` if an op of an earlier call, ready or running on the same device, has not got as far in virtual
    /// time as this one has: it may still delay it.
    #[inline]
    fn is_behind_others(&self, id: OpId, work: &Work) -> bool {
        if !self.books_in_order() || !work.takes_device() {
            return false;
        }
        let Some(op) = self.engine.op(id) else { return false };
        let device = self.engine.queue(op.queue).owner.device;
        let (number, end) = (op.note.number, self.clock.alone(work, device, op.earliest));
        let is_ahead = |other: &OpId, op: &Op| {
            *other != id
                && op.note.number < number
                && self.engine.queue(op.queue).owner.device == device
                && match op.state {
                    OpState::Ready => op.work.takes_device() && self.progress_of(op, device) <= end,
                    OpState::Running => self.may_delay(*other, op) && op.earliest <= end,
                    _ => false,
                }
        };
        self.engine.in_lane_of(id).take(LOOKED_AT).any(|(other, op)| is_ahead(&other, op))
    }

    /// `true` if a running op may take a part of its device. Its work is with the thread that runs it; with
    /// executors, the lane of a device runs nothing of the host.
    fn may_delay(&self, id: OpId, op: &Op) -> bool {
        self.engine.mode() == Mode::Threads
            || matches!(op.work, Work::Away)
            || self.unbooked.iter().any(|unbooked| unbooked.id == id)
    }

    /// The virtual time that a ready op has reached: a kernel may have run for a while.
    fn progress_of(&self, op: &Op, device: u16) -> u64 {
        match &op.work {
            Work::Task(_) => self.clock.alone(&op.work, device, op.earliest),
            _ => op.earliest,
        }
    }

    /// Books the end of an op in virtual time.
    #[inline]
    fn book(&mut self, id: OpId, mut work: Work, failure: Option<CUresult>) {
        let Some(op) = self.engine.op(id) else { return };
        let queue_id = op.queue;
        let queue = self.engine.queue(queue_id);
        let (context, device, earliest, has_parked) =
            (queue.owner.context, queue.owner.device, op.earliest, op.has_parked);
        let note = op.note;
        // Pending work of a context with a sticky error is skipped.
        let ran = self.fault_of(context).is_none();
        if let Some(code) = failure.or(note.fails) {
            self.fail(context, code);
        }
        if let Work::Task(task) = &mut work {
            task.ended(self);
        }
        if ran {
            self.move_managed_pages(&mut work, device);
        }
        let number = self.books_in_order().then_some(note.number);
        let timed = Timed { number, device, earliest, has_parked };
        let period = self.clock.run(&work, timed);
        let end = period.end;
        if let Work::Hook(hook) = &mut work {
            hook.reached(self, Reached { op: id, queue: queue_id, ran, time: end });
        }
        self.trace_op(id, &work, ran, period);
        match &mut work {
            Work::Record { event, serial, shared } => {
                // Tells other processes.
                drop(shared.take());
                if let Some(event) = self.events.get_mut(*event) {
                    event.recorded(*serial, end, !ran);
                }
            }
            Work::Release(freed) => {
                self.release(queue_id, freed);
                self.trace_memory();
            }
            Work::Memory(MemoryOp::WaitValue { .. }) => self.engine.saw_value(queue_id),
            _ => {}
        }
        self.engine.finish(id, &work, end);
    }
}
