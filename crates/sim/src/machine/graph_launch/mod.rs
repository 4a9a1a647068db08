//! Launches of executables: from a plan to ops.
//!
//! ```text
//!   stream ──▶ begin ──┬─▶ step ──▶ step ──┬──▶ end ──▶ stream's next op
//!                      └─▶ step ───────────┘
//! ```
//!
//! Every step is an op beside the stream's chain, behind the steps that it depends on and nothing else.
//! Launches of one executable follow each other, whichever streams they are on. Steps of another context
//! stand in a queue of that context.

mod branch;
mod ends;
mod executables;
mod memory;
mod order;
mod rehearsal;
mod shared;
mod steps;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId, settle};

pub(crate) use shared::{BodyMemory, StartsKernels};

use self::ends::{LaunchBegin, LaunchEnd};
use self::order::{Chains, StepOrder};
use self::shared::Launch;
use crate::ffi::handle::{ContextHandle, ExecutableHandle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::graph::{NodeWork, Plan};
use crate::machine::stream::{NON_BLOCKING, Traits};
use crate::machine::world::{Work, World};
use crate::trace::Activity;

impl World {
    /// Enqueues a launch of an executable on a stream. Returns the op of its end.
    pub(crate) fn launch_graph(
        &mut self,
        call: &Call<'_>,
        queue: QueueId,
        handle: ExecutableHandle,
        kernels: Arc<dyn StartsKernels>,
    ) -> Status<OpId> {
        let executable = self.graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
        let (plan, last, id) = (Arc::clone(executable.plan()), executable.last, executable.id);
        let (references, defaults) = (Arc::clone(&executable.references), Arc::clone(&executable.defaults));
        let (conditions, allocated) = (Arc::clone(&executable.conditions), executable.allocated.as_slice().into());
        self.healthy(self.engine.queue(queue).owner.context)?;
        self.check_memory(call, executable)?;
        self.check_events(call, &plan)?;
        let others = self.queues_for(queue, handle, &plan)?;
        if self.checker.fails_calls() {
            self.add_after(queue, last.as_slice(), Work::Join)?;
            let rehearsed = self.rehearse(queue, handle, &plan);
            settle(self);
            rehearsed?;
        }
        self.reserve_graph_memory(call, handle)?;
        self.free_leftovers(queue, handle)?;
        let is_traced = self.is_traced();
        let began = Arc::new(AtomicU64::new(0));
        let begin: Work = match defaults.is_empty() && !is_traced {
            true => Work::Join,
            false => {
                let (conditions, began) = (Arc::clone(&conditions), Arc::clone(&began));
                Work::Hook(Box::new(LaunchBegin { conditions, defaults, began }))
            }
        };
        let start = self.add_after(queue, last.as_slice(), begin)?;
        let launch = Arc::new(Launch { queue, others, kernels, conditions, allocated, call: self.current_call() });
        let now = self.clock.now();
        let mut order = self.order_of(queue, handle, &plan);
        let enqueued = self.enqueue_plan(&launch, (&plan, None), (&[start], now), &mut order);
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
        let end: Work = match references.objects.is_empty() && !is_traced {
            true => Work::Join,
            false => {
                let activity = Activity::Graph { executable: id, nodes: plan.steps.len() as u32 };
                Work::Hook(Box::new(LaunchEnd { references: Some(references), began, call: launch.call, activity }))
            }
        };
        let end = self.add(queue, &ends, end, now);
        // A wait for another context waits for its nodes, too.
        for (_, other) in &launch.others {
            self.engine.join_queue_clock(*other, queue);
            self.add(*other, &[end], Work::Join, now);
        }
        if let Some(executable) = self.graphs.executables.get_mut(handle) {
            executable.last = Some(end);
        }
        settle(self);
        outcome.map(|()| end)
    }

    /// Orders a stream behind the launches of an executable so far.
    pub(crate) fn upload_graph(&mut self, queue: QueueId, handle: ExecutableHandle) -> Status {
        let executable = self.graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
        let Some(last) = executable.last else { return Ok(()) };
        let known = &mut self.engine.queue_mut(queue).clock.known;
        executable.chains.iter().for_each(|chain| known.join(chain));
        self.add_after(queue, &[last], Work::Join)?;
        settle(self);
        Ok(())
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
                let traits = Traits::new(id, NON_BLOCKING, 0);
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
        match self.checker.is_on() {
            true => StepOrder::Chains(self.chains_of(queue, handle, plan)),
            false => StepOrder::Unknown,
        }
    }

    /// Takes the timelines of an executable, behind everything in the queue's clock and behind all of the
    /// launch before, which may have been in another queue.
    fn chains_of(&mut self, queue: QueueId, handle: ExecutableHandle, plan: &Plan) -> Chains {
        let executable = self.graphs.executables.get_mut(handle);
        let mut chains = executable.map(|executable| std::mem::take(&mut executable.chains)).unwrap_or_default();
        let mut start = self.engine.queue(queue).clock.known.clone();
        chains.iter().for_each(|chain| start.join(chain));
        while chains.len() < plan.chains as usize {
            chains.push(self.engine.timelines.start());
        }
        Chains::new(chains, &start)
    }
}
