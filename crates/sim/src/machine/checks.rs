//! Adapters from the machine's state to its checks.

use std::sync::Arc;

use warploom_engine::{Epoch, Known, QueueId};

use crate::check::{BodyPlace, Checker, Drafts, HandleProblem, KernelFault, KernelHazard, ObjectKind, Parts, Watched};
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::objects::{HandleTo, Object, Objects};
use crate::machine::world::{Engine, Work, World};
use crate::memory::shadow::{Access, AccessKind, Journal, NodeSite, StreamInfo, Touched, Tracked};
use crate::memory::{Allocation, MemoryOp};

/// The description of a stream, for reports.
pub(super) fn stream_info(engine: &Engine, queue: QueueId) -> StreamInfo {
    let queue = engine.queue(queue);
    StreamInfo { id: queue.owner.traits.id, kind: queue.owner.traits.kind, device: queue.owner.device }
}

impl World {
    /// The checker, and the state that it reads.
    pub(crate) fn checked_parts(&mut self) -> (&mut Checker, Parts<'_>) {
        let World { checker, memory, virtual_memory, engine, processes, .. } = self;
        (checker, Parts { memory, virtual_memory, timelines: &mut engine.timelines, processes })
    }

    /// Checks an op before it is enqueued, against the happens-before order in the queue's clock.
    #[inline]
    pub(crate) fn check_work(&mut self, queue: QueueId, work: &Work) -> Status {
        if !self.checker.is_on() {
            return Ok(());
        }
        let stream = stream_info(&self.engine, queue);
        let known = std::mem::take(&mut self.engine.queue_mut(queue).clock.known);
        let (checker, mut parts) = self.checked_parts();
        let judged = checker.check_op(&mut parts, stream, &known, work);
        self.engine.queue_mut(queue).clock.known = known;
        match work {
            _ if judged.is_err() => {}
            Work::Memory(MemoryOp::WriteValue { .. }) => self.engine.release_value(queue),
            Work::Memory(MemoryOp::WaitValue { .. }) => self.engine.awaits_value(queue),
            Work::HostFunction { .. } | Work::Callback { .. } if self.managed_memory.is_used() => {
                Checker::forget_discards(&mut self.checked_parts().1);
            }
            _ => {}
        }
        judged
    }

    /// Checks ops that are enqueued one after the other, all or none of them. If findings do not stop calls,
    /// each op is checked when it is enqueued.
    pub(crate) fn check_ahead(&mut self, queue: QueueId, works: &[Work]) -> Status {
        if !self.checker.fails_calls() {
            return Ok(());
        }
        // Updates the queue's clock to that of its next op.
        self.enqueue(queue, Work::Join)?;
        let stream = stream_info(&self.engine, queue);
        let known = self.engine.queue(queue).clock.known.clone();
        let (checker, mut parts) = self.checked_parts();
        checker.check_ahead(&mut parts, stream, &known, works)
    }

    /// Checks ops that follow a queue's newest op and have no order between them.
    pub(crate) fn check_batch(&mut self, queue: QueueId, works: &[Work]) -> Status {
        if !self.checker.is_on() {
            return Ok(());
        }
        let stream = stream_info(&self.engine, queue);
        let mut known = std::mem::take(&mut self.engine.queue_mut(queue).clock.known);
        let (checker, mut parts) = self.checked_parts();
        let judged = checker.check_batch(&mut parts, stream, &mut known, works);
        self.engine.queue_mut(queue).clock.known = known;
        judged
    }

    /// Stores the happens-before position of a kernel that is about to be enqueued.
    #[inline]
    pub(crate) fn watch_kernel(&mut self, queue: QueueId, work: &mut Work) {
        let Work::Task(task) = work else { return };
        if self.checker.is_on() {
            let known = self.engine.queue(queue).clock.known.clone();
            task.watch(self.checker.watch_kernel(stream_info(&self.engine, queue), known));
        }
    }

    /// Checks the accesses of a completed kernel to memory that was freed meanwhile.
    pub(crate) fn check_frees(&mut self, watched: &Watched, touched: &mut Touched) {
        self.checker.check_frees(watched, touched);
    }

    /// Checks the accesses of a completed kernel.
    pub(crate) fn check_ended(
        &mut self,
        watched: Watched,
        touched: Touched,
        faults: Vec<KernelFault>,
        hazards: Vec<KernelHazard>,
    ) {
        let (checker, mut parts) = self.checked_parts();
        checker.check_ended(&mut parts, watched, touched, faults, hazards);
    }

    /// Records a new allocation: valid from now on or, for a stream-ordered one, for all later work of its
    /// queue.
    pub(crate) fn add_allocation(&mut self, allocation: Allocation, queue: Option<QueueId>) {
        let born = self.checker.is_on().then(|| match queue {
            // The queue's next op is the allocation's own.
            Some(queue) => (self.engine.queue(queue).clock.known.next(), Some(stream_info(&self.engine, queue))),
            None => (self.engine.timelines.host_makes(), None),
        });
        self.add_allocation_of(allocation, born);
    }

    /// Records an allocation that a node of a graph makes, valid for everything behind the node.
    pub(crate) fn add_graph_allocation(&mut self, allocation: Allocation, queue: QueueId, known: Option<&Known>) {
        let stream = stream_info(&self.engine, queue);
        self.add_allocation_of(allocation, known.map(|known| (known.next(), Some(stream))));
    }

    fn add_allocation_of(&mut self, mut allocation: Allocation, born: Option<(Epoch, Option<StreamInfo>)>) {
        if let Some((epoch, stream)) = born {
            allocation.tracked = Some(Tracked::new(Access::new(epoch, AccessKind::Allocate, stream)));
        }
        if allocation.is_managed() {
            self.managed_memory.renew(&self.memory, &allocation);
        }
        self.memory.insert(allocation);
    }

    /// Compares accesses to an allocation with those of other processes from now on, if the machine checks.
    /// The allocation starts at an offset of the memory of a shared object. Other processes learn the
    /// accesses so far that the host does not know to be over.
    pub(crate) fn track_shared(&mut self, base: u64, journal: Option<Journal>, offset: u64) {
        let World { memory, virtual_memory, engine, processes, .. } = self;
        let (Some(journal), Some(allocation)) = (journal, memory.at_mut(base)) else { return };
        let Some(tracked) = allocation.tracked.as_mut() else { return };
        if tracked.shared.replace((journal.clone(), offset)).is_some() {
            return;
        }
        let Some(shadow) = virtual_memory.shadow_of(allocation) else { return };
        shadow.each_access(|bytes, access| {
            let bytes = offset + bytes.start..offset + bytes.end;
            processes.publish(&engine.timelines, &journal, bytes, access);
        });
    }

    /// Checks that all accesses to an allocation happen before its free: in a queue, or by the host now.
    pub(crate) fn check_free(&mut self, base: u64, queue: Option<QueueId>) -> Status {
        if !self.checker.is_on() {
            return Ok(());
        }
        let known = match queue {
            Some(queue) => self.known_before_next(queue),
            None => self.engine.timelines.host().clone(),
        };
        let stream = queue.map(|queue| stream_info(&self.engine, queue));
        let (checker, mut parts) = self.checked_parts();
        checker.check_free(&mut parts, base, stream, &known)
    }

    /// Checks that all accesses to an allocation happen before the node of a graph that frees it.
    pub(crate) fn check_graph_free(&mut self, base: u64, queue: QueueId, known: &Known) -> Status {
        let stream = stream_info(&self.engine, queue);
        let (checker, mut parts) = self.checked_parts();
        checker.check_free(&mut parts, base, Some(stream), known)
    }

    /// Checks the op of a node of a launch that may yet be refused.
    pub(crate) fn check_draft(&mut self, queue: QueueId, known: &Known, work: &Work, drafts: &mut Drafts) -> Status {
        let stream = stream_info(&self.engine, queue);
        let (checker, mut parts) = self.checked_parts();
        checker.check_draft(&mut parts, stream, known, work, drafts)
    }

    /// Checks a free by a node of a launch that may yet be refused.
    pub(crate) fn check_draft_free(&mut self, queue: QueueId, known: &Known, base: u64) -> Status {
        let stream = stream_info(&self.engine, queue);
        let (checker, mut parts) = self.checked_parts();
        checker.check_draft_free(&mut parts, base, stream, known)
    }

    /// Checks the op of a graph's node, which comes behind all that `known` includes and is the next step of
    /// its timeline.
    pub(crate) fn check_node(&mut self, queue: QueueId, known: &mut Known, work: &mut Work) -> Status {
        let stream = stream_info(&self.engine, queue);
        match work {
            Work::Task(task) => task.watch(self.checker.watch_kernel(stream, known.clone())),
            Work::HostFunction { .. } => {
                work.remember(known);
                if self.managed_memory.is_used() {
                    Checker::forget_discards(&mut self.checked_parts().1);
                }
            }
            Work::Memory(_) => {
                let (checker, mut parts) = self.checked_parts();
                checker.check_op(&mut parts, stream, known, work)?;
                match work {
                    Work::Memory(MemoryOp::WriteValue { .. }) => self.engine.timelines.release(known),
                    Work::Memory(MemoryOp::WaitValue { .. }) => {
                        self.engine.awaits_value(queue);
                        known.doubt();
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the op of a node inside a conditional node, at a place of the body.
    pub(crate) fn check_inner_node(
        &mut self,
        outer: &Watched,
        node: Option<&Arc<NodeSite>>,
        place: impl FnOnce() -> BodyPlace,
        work: &mut Work,
    ) {
        match work {
            Work::Task(task) => task.watch(outer.part(node, place())),
            Work::HostFunction { .. } => work.remember(outer.known()),
            Work::Memory(_) => {
                let (checker, mut parts) = self.checked_parts();
                checker.check_part(&mut parts, &outer.part(node, place()), work);
            }
            _ => {}
        }
    }

    /// The place of a conditional node among all other ops. It is not known yet which bytes its bodies touch.
    pub(crate) fn watch_branch(&mut self, queue: QueueId, known: Option<&Known>) -> Option<Watched> {
        let known = known?.clone();
        Some(self.checker.watch_kernel(stream_info(&self.engine, queue), known))
    }

    /// Notes that a conditional node runs no more bodies.
    pub(crate) fn branch_ended(&mut self, watched: &Watched) {
        self.checker.forget_kernel(watched);
    }
}

impl Call<'_> {
    /// Reports a handle that is invalid for this call. Returns a description of the problem.
    pub(crate) fn found_misuse<T: Object>(&self, objects: &Objects<T>, handle: HandleTo<T>) -> String {
        self.report_misuse(objects, handle, objects.problem(handle));
        objects.explain(handle)
    }

    /// Reports a handle that a call cannot use, for a given reason.
    pub(crate) fn report_misuse<T: Object>(&self, objects: &Objects<T>, handle: HandleTo<T>, problem: HandleProblem) {
        let (wanted, destroyer) = (ObjectKind::from(T::KIND), objects.destroyer(handle));
        self.core().findings.add_handle_misuse(handle.bits(), wanted, problem, destroyer);
    }

    /// Reports a range that is not entirely inside an allocation.
    pub(crate) fn found_outside(&self, world: &World, address: u64, bytes: u64, writes: bool) {
        world.checker.found_outside(&world.memory, address, bytes, writes);
    }

    /// Reports an address that cannot be freed.
    pub(crate) fn found_bad_free(&self, world: &World, address: u64) {
        world.checker.found_bad_free(&world.memory, address);
    }
}
