//! Steps of a plan as ops.

use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::{Known, OpId, QueueId};
use warploom_sys::types::CUresult;

use super::branch::Branch;
use super::memory::Unmapped;
use super::order::StepOrder;
use super::shared::{BodyMemory, Launch};
use crate::ffi::handle::EventHandle;
use crate::ffi::status::{INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::event::Record;
use crate::machine::graph::{HostNode, NodeWork, Plan};
use crate::machine::world::{Work, World};
use crate::memory::MemoryOp;
use crate::memory::shadow::enter_node;

/// The ops that the end of a plan waits for.
pub(super) type Ends = SmallVec<[OpId; 4]>;

/// A step of a plan that is enqueued.
#[derive(Clone, Copy)]
struct Position<'a> {
    plan: &'a Arc<Plan>,
    index: u32,
    /// The memory that kernels find, if the plan is a body.
    memory: Option<&'a Arc<BodyMemory>>,
}

impl World {
    /// Refuses a plan with an event that has been destroyed, before any of its steps is enqueued.
    pub(super) fn check_events(&self, call: &Call<'_>, plan: &Plan) -> Status {
        for step in &plan.steps {
            if let NodeWork::RecordEvent(event) | NodeWork::WaitEvent(event) = &step.work
                && self.events.get(*event).is_none()
            {
                return Err(call.refuse(INVALID_HANDLE, call.found_misuse(&self.events, *event)));
            }
        }
        Ok(())
    }

    /// Enqueues the steps of a plan, or of a body with its memory, behind some ops. Returns the ops that the end waits for; those enqueued
    /// so far, if one of them fails.
    pub(super) fn enqueue_plan(
        &mut self,
        launch: &Arc<Launch>,
        (plan, memory): (&Arc<Plan>, Option<&Arc<BodyMemory>>),
        (start, now): (&[OpId], u64),
        order: &mut StepOrder<'_>,
    ) -> Result<Ends, (Ends, CUresult)> {
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
            let step = Position { plan, index: index as u32, memory };
            let added = self.enqueue_step(launch, step, &mut before, order, now);
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
        Position { plan, index, memory }: Position<'_>,
        before: &mut SmallVec<[OpId; 4]>,
        order: &mut StepOrder<'_>,
        now: u64,
    ) -> Status<OpId> {
        let (mut queue, step) = (launch.queue, &plan.steps[index as usize]);
        let work = if step.is_enabled { &step.work } else { &NodeWork::Empty };
        if let Some(chains) = order.chains() {
            chains.before(plan, index);
        }
        let mut op: Work = match work {
            NodeWork::Empty | NodeWork::Child(_) => Work::Join,
            NodeWork::Kernel(kernel) => {
                queue = launch.queue_of(self, kernel.call.context);
                let memory = memory.map(|memory| &**memory);
                Work::Task(launch.kernels.task(self, kernel, &launch.conditions, memory)?)
            }
            NodeWork::Memory(node) => match self.fault_of_memory(launch, &node.op).filter(|_| memory.is_none()) {
                Some(code) => Work::Hook(Box::new(Unmapped { context: node.context, code })),
                None => node.op.clone().into(),
            },
            NodeWork::Host(HostNode { function, data }) => {
                Work::HostFunction { function: *function, data: *data, known: Known::default(), slept: 0 }
            }
            NodeWork::RecordEvent(event) => {
                let shared = self.begin_shared_record(*event)?;
                let serial = self.events.get_mut(*event).ok_or(INVALID_HANDLE)?.next_serial();
                Work::Record { event: *event, serial, shared }
            }
            NodeWork::WaitEvent(event) => {
                before.extend(self.newest_record(*event)?);
                before.extend(self.await_others(*event));
                self.learn_from_others(*event);
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
                let watched = match &*order {
                    StepOrder::Inside(inside) => Some(inside.outer.part(step.site.as_ref(), inside.place(plan, index))),
                    StepOrder::Unknown | StepOrder::Chains(_) => {
                        self.watch_branch(launch.queue, order.known(plan, index))
                    }
                };
                Work::Hook(Box::new(Branch::new(self, launch, (plan, index, conditional), memory, watched)))
            }
        };
        self.check_step(launch.queue, (plan, index), &mut op, order)?;
        let is_record = matches!(op, Work::Record { .. });
        if let (NodeWork::WaitEvent(event), StepOrder::Chains(chains)) = (work, &mut *order)
            && let Some(event) = self.events.get(*event)
        {
            chains.before(plan, index).join(&event.clock.known);
        }
        if let Some(chains) = order.chains() {
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
        ops: &[MemoryOp],
        before: &[OpId],
        order: &mut StepOrder<'_>,
        now: u64,
    ) -> Status<OpId> {
        let queue = launch.queue;
        let mut newest = None;
        for op in ops {
            let mut op: Work = op.clone().into();
            self.check_step(queue, (plan, index), &mut op, order)?;
            if let Some(chains) = order.chains() {
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
        event.record = Some(Record { op: Some(op), serial: event.serial, time: None, follows_fault: false });
        event.clock.copy_from(&engine.queue(queue).clock);
        if let Some(known) = known {
            event.clock.known.copy_from(known);
        }
    }
}

impl World {
    /// Checks the op of a step against the clock before it.
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
            StepOrder::Inside(inside) => {
                self.check_inner_node(inside.outer, step.site.as_ref(), || inside.place(plan, index), op);
                Ok(())
            }
        }
    }
}

impl StepOrder<'_> {
    /// The clock of a step's chain: before a step that has not been passed, behind one that has.
    fn known(&self, plan: &Plan, index: u32) -> Option<&Known> {
        match self {
            StepOrder::Chains(chains) => chains.chains.get(usize::from(plan.steps[index as usize].chain)),
            StepOrder::Unknown | StepOrder::Inside(_) => None,
        }
    }
}
