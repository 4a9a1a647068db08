//! Launches of executables: from a plan to ops.
//!
//! ```text
//!   stream ──▶ begin ──┬─▶ step ──▶ step ──┬──▶ end ──▶ stream's next op
//!                      └─▶ step ───────────┘
//! ```
//!
//! Every step is an op beside the stream's chain, behind the steps that it depends on and nothing else. Launches of one
//! executable follow each other, whichever streams they are on. Steps of another context stand in a queue of that context.

use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::{Known, OpId, QueueId, settle};

use super::branch::Branch;
use super::order::{Chains, StepOrder};
use super::plan::{Plan, Step};
use super::{Conditions, HostNode, KernelNode, NodeWork, References};
use crate::ffi::handle::{ConditionHandle, ContextHandle, EventHandle, ExecutableHandle};
use crate::ffi::status::{INVALID_HANDLE, INVALID_VALUE, Status};
use crate::machine::event::Record;
use crate::machine::stream::Traits;
use crate::machine::work::{Hook, Reached, Task};
use crate::machine::world::{Work, World};
use crate::memory::shadow::enter_node;

/// Makes the task of a kernel node; it has been checked when the node was added.
pub(crate) trait StartsKernels: Send + Sync {
    fn task(&self, world: &mut World, kernel: &KernelNode) -> Status<Box<dyn Task<World>>>;
}

/// What all steps of a launch share.
pub(crate) struct Launch {
    pub(crate) queue: QueueId,
    /// Queues of other contexts that have nodes in the graph.
    others: SmallVec<[(ContextHandle, QueueId); 1]>,
    pub(crate) kernels: Arc<dyn StartsKernels>,
    pub(crate) conditions: Arc<Conditions>,
    /// The number of the call, where calls have numbers.
    pub(super) call: u64,
}

impl Launch {
    /// The queue for a step of a context.
    fn queue_of(&self, world: &World, context: ContextHandle) -> QueueId {
        let is_own = world.engine.queue(self.queue).owner.context == context;
        let other = self.others.iter().find(|(other, _)| !is_own && *other == context);
        other.map_or(self.queue, |(_, queue)| *queue)
    }
}

/// The beginning of a launch: sets conditions to their defaults.
struct Begin {
    conditions: Arc<Conditions>,
    defaults: Arc<[(ConditionHandle, u32)]>,
}

impl Hook<World> for Begin {
    fn reached(&mut self, _: &mut World, at: Reached) {
        for (condition, value) in self.defaults.iter().filter(|_| at.ran) {
            self.conditions.set(condition.bits(), *value);
        }
    }

    fn describe(&self) -> String {
        "the beginning of a graph's launch".to_owned()
    }
}

/// The end of a launch: releases what it kept alive.
struct End {
    references: Option<Arc<References>>,
}

impl Hook<World> for End {
    fn reached(&mut self, world: &mut World, at: Reached) {
        // The last holder releases; that is the executable, unless it has been destroyed or updated meanwhile.
        let Some(references) = self.references.take().and_then(Arc::into_inner) else { return };
        let ended = world.graphs.release_references(&references.0);
        if !ended.is_empty() {
            world.add(at.queue, &[], Work::Destructors(ended), at.time);
        }
    }

    fn describe(&self) -> String {
        "the end of a graph's launch".to_owned()
    }
}

impl World {
    /// Enqueues a launch of an executable on a stream.
    pub(crate) fn launch_graph(
        &mut self,
        queue: QueueId,
        handle: ExecutableHandle,
        kernels: Arc<dyn StartsKernels>,
        conditions: Arc<Conditions>,
    ) -> Status {
        let executable = self.graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
        let (plan, last) = (Arc::clone(executable.plan()), executable.last);
        let (references, defaults) = (Arc::clone(&executable.references), Arc::clone(&executable.defaults));
        self.healthy(self.engine.queue(queue).owner.context)?;
        let others = self.queues_for(queue, handle, &plan)?;
        self.free_leftovers(queue, handle)?;
        let begin: Work = match defaults.is_empty() {
            true => Work::Join,
            false => Work::Hook(Box::new(Begin { conditions: Arc::clone(&conditions), defaults })),
        };
        let start = self.add_after(queue, last.as_slice(), begin)?;
        let launch = Arc::new(Launch { queue, others, kernels, conditions, call: self.current_call() });
        let now = self.clock.now();
        let mut order = self.order_of(queue, handle, &plan);
        let enqueued = self.enqueue_plan(&launch, &plan, (&[start], now), &mut order);
        let (ends, outcome) = match enqueued {
            Ok(ends) => (ends, Ok(())),
            Err((ends, code)) => (ends, Err(code)),
        };
        if let StepOrder::Chains(Chains { chains, .. }) = order {
            let used = chains.iter().take(plan.chains as usize);
            used.for_each(|chain| self.engine.queue_mut(queue).clock.known.join(chain));
            if let Some(executable) = self.graphs.executables.get_mut(handle) {
                executable.chains = chains;
            }
        }
        let end: Work = match references.0.is_empty() {
            true => Work::Join,
            false => Work::Hook(Box::new(End { references: Some(references) })),
        };
        let end = self.add(queue, &ends, end, now);
        // Whoever waits for another context waits for its nodes, too.
        for (_, other) in &launch.others {
            self.add(*other, &[end], Work::Join, now);
        }
        if let Some(executable) = self.graphs.executables.get_mut(handle) {
            executable.last = Some(end);
        }
        settle(self);
        outcome
    }

    /// Queues for the nodes of other contexts than the launching stream's.
    fn queues_for(
        &mut self,
        queue: QueueId,
        handle: ExecutableHandle,
        plan: &Plan,
    ) -> Status<SmallVec<[(ContextHandle, QueueId); 1]>> {
        let own = self.engine.queue(queue).owner.context;
        let mut contexts: SmallVec<[(ContextHandle, u16); 1]> = SmallVec::new();
        plan.each(&mut |step| {
            if let NodeWork::Kernel(kernel) = &step.work
                && kernel.call.context != own
                && !contexts.iter().any(|(context, _)| *context == kernel.call.context)
            {
                contexts.push((kernel.call.context, kernel.call.device));
            }
        });
        for (context, device) in contexts {
            self.healthy(context)?;
            let executable = self.graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
            if !executable.queues.iter().any(|(other, _)| *other == context) {
                let id = self.next_stream_id();
                let traits = Traits::new(id, crate::machine::stream::NON_BLOCKING, 0);
                let queue = self.new_queue(context, device, traits);
                if let Some(executable) = self.graphs.executables.get_mut(handle) {
                    executable.queues.push((context, queue));
                }
            }
        }
        Ok(self.graphs.executables.get(handle).map(|executable| executable.queues.clone()).unwrap_or_default())
    }

    /// The timelines of a launch, behind its first op.
    fn order_of(&mut self, queue: QueueId, handle: ExecutableHandle, plan: &Plan) -> StepOrder<'static> {
        if !self.checker.is_on() {
            return StepOrder::Unknown;
        }
        let executable = self.graphs.executables.get_mut(handle);
        let mut chains = executable.map(|executable| std::mem::take(&mut executable.chains)).unwrap_or_default();
        while chains.len() < plan.chains as usize {
            chains.push(self.engine.timelines.start());
        }
        StepOrder::Chains(Chains::new(chains, &self.engine.queue(queue).clock.known))
    }

    /// Enqueues the steps of a plan behind some ops. Returns the ops that the end waits for; those enqueued so far, if
    /// one of them fails.
    pub(super) fn enqueue_plan(
        &mut self,
        launch: &Arc<Launch>,
        plan: &Arc<Plan>,
        (start, now): (&[OpId], u64),
        order: &mut StepOrder<'_>,
    ) -> Result<SmallVec<[OpId; 4]>, (SmallVec<[OpId; 4]>, warploom_sys::types::CUresult)> {
        let mut ops: Vec<OpId> = Vec::with_capacity(plan.steps.len());
        let mut before: SmallVec<[OpId; 4]> = SmallVec::new();
        for (index, step) in plan.steps.iter().enumerate() {
            before.clear();
            before.extend(plan.before(index).iter().map(|step| ops[*step as usize]));
            if before.is_empty() {
                before.extend_from_slice(start);
            }
            if self.checker.is_on() {
                enter_node(step.site.clone());
            }
            let added = self.enqueue_step(launch, (plan, index as u32, step), &mut before, order, now);
            match added {
                Ok(op) => ops.push(op),
                Err(code) => {
                    enter_node(None);
                    return Err((ops.into_iter().chain(start.iter().copied()).collect(), code));
                }
            }
        }
        if self.checker.is_on() {
            enter_node(None);
        }
        let ends = plan.last.iter().map(|step| ops[*step as usize]);
        Ok(if plan.steps.is_empty() { start.iter().copied().collect() } else { ends.collect() })
    }

    fn enqueue_step(
        &mut self,
        launch: &Arc<Launch>,
        (plan, index, step): (&Arc<Plan>, u32, &Step),
        before: &mut SmallVec<[OpId; 4]>,
        order: &mut StepOrder<'_>,
        now: u64,
    ) -> Status<OpId> {
        let mut queue = launch.queue;
        let work = if step.is_enabled { &step.work } else { &NodeWork::Empty };
        if let StepOrder::Chains(chains) = order {
            chains.before(plan, index);
        }
        let mut op: Work = match work {
            NodeWork::Empty | NodeWork::Child(_) => Work::Join,
            NodeWork::Kernel(kernel) => {
                queue = launch.queue_of(self, kernel.call.context);
                Work::Task(launch.kernels.task(self, kernel)?)
            }
            NodeWork::Memory(memory) => memory.op.clone().into(),
            NodeWork::Host(HostNode { function, data }) => {
                Work::HostFunction { function: *function, data: *data, known: Known::default() }
            }
            NodeWork::RecordEvent(event) => {
                let serial = self.events.get_mut(*event).ok_or(INVALID_HANDLE)?.next_serial();
                Work::Record { event: *event, serial }
            }
            NodeWork::WaitEvent(event) => {
                before.extend(self.newest_record(*event)?);
                Work::Join
            }
            NodeWork::Values(values) => {
                return self.enqueue_values(launch, (plan, index), &values.ops, before, order, now);
            }
            NodeWork::Alloc(allocation) => {
                self.allocate_for_graph(queue, allocation, order.known(plan, index))?;
                Work::Join
            }
            NodeWork::Free(address) => self.free_for_graph(queue, *address, order.known(plan, index))?,
            NodeWork::Conditional(conditional) => {
                queue = launch.queue_of(self, conditional.context);
                let watched = self.watch_branch(queue, order.known(plan, index));
                Work::Hook(Box::new(Branch::new(launch, plan, index, conditional, watched)))
            }
        };
        self.check_step(queue, (plan, index), &mut op, order)?;
        let is_record = matches!(op, Work::Record { .. });
        if let (NodeWork::WaitEvent(event), StepOrder::Chains(chains)) = (work, &mut *order)
            && let Some(event) = self.events.get(*event)
        {
            chains.before(plan, index).join(&event.clock.known);
        }
        if let StepOrder::Chains(chains) = order {
            chains.passed(plan, index, !matches!(work, NodeWork::Empty | NodeWork::Child(_)));
        }
        let id = self.add_beside(queue, before, op, launch.call, now);
        if is_record && let NodeWork::RecordEvent(event) = work {
            self.recorded_by_graph(queue, *event, id, order.known(plan, index));
        }
        Ok(id)
    }

    /// Enqueues the operations of one node, one after the other.
    fn enqueue_values(
        &mut self,
        launch: &Launch,
        (plan, index): (&Arc<Plan>, u32),
        ops: &[crate::memory::MemoryOp],
        before: &[OpId],
        order: &mut StepOrder<'_>,
        now: u64,
    ) -> Status<OpId> {
        let queue = launch.queue;
        let mut newest = None;
        for op in ops {
            let mut op: Work = op.clone().into();
            self.check_step(queue, (plan, index), &mut op, order)?;
            if let StepOrder::Chains(chains) = order {
                chains.passed(plan, index, true);
            }
            newest = Some(match newest {
                Some(last) => self.add_beside(queue, &[last], op, launch.call, now),
                None => self.add_beside(queue, before, op, launch.call, now),
            });
        }
        Ok(newest.unwrap_or_else(|| self.add_beside(queue, before, Work::Join, launch.call, now)))
    }

    /// The op of an event's newest record, if it is not done.
    fn newest_record(&self, event: EventHandle) -> Status<Option<OpId>> {
        let event = self.events.get(event).ok_or(INVALID_HANDLE)?;
        Ok(event.record.filter(|record| record.time.is_none()).and_then(|record| record.op))
    }

    /// Notes that a node of a launch records an event: later waits are for that record.
    fn recorded_by_graph(&mut self, queue: QueueId, handle: EventHandle, op: OpId, known: Option<&Known>) {
        let World { events, engine, .. } = self;
        let Some(event) = events.get_mut(handle) else { return };
        event.captured = None;
        event.record = Some(Record { op: Some(op), serial: event.serial, time: None });
        event.clock.copy_from(&engine.queue(queue).clock);
        if let Some(known) = known {
            event.clock.known.copy_from(known);
        }
    }
}

impl World {
    /// Checks the op of a step, and lets it know what is over before it.
    fn check_step(
        &mut self,
        queue: QueueId,
        (plan, index): (&Plan, u32),
        op: &mut Work,
        order: &mut StepOrder<'_>,
    ) -> Status {
        let step = &plan.steps[index as usize];
        match order {
            StepOrder::Unknown => Ok(()),
            StepOrder::Chains(chains) => match chains.chains.get_mut(usize::from(step.chain)) {
                Some(known) => self.check_node(queue, known, op),
                None => Ok(()),
            },
            StepOrder::Inside(outer) => {
                self.check_inner_node(outer, step.site.as_ref(), op);
                Ok(())
            }
        }
    }
}

impl StepOrder<'_> {
    /// What is over before a step that has not been passed, or behind one that has.
    fn known(&self, plan: &Plan, index: u32) -> Option<&Known> {
        match self {
            StepOrder::Chains(chains) => chains.chains.get(usize::from(plan.steps[index as usize].chain)),
            StepOrder::Unknown | StepOrder::Inside(_) => None,
        }
    }
}
