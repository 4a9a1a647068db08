//! Work of a call, enqueued on its stream or added to the graph that the stream is captured into.

use smallvec::SmallVec;
use warploom_sys::types::CUstream_st;

use super::queue_of;
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::Work;
use crate::memory::Claim;
use warploom_engine::{Mode, OpId, QueueId};

impl Call<'_> {
    /// The queue of a stream argument; null, legacy and per-thread handles mean a default stream of the
    /// current context.
    #[inline]
    pub(crate) fn queue(&self, world: &mut Guard<'_>, stream: Ptr<CUstream_st>) -> Status<QueueId> {
        let queue = queue_of(self, world, stream.address())?;
        self.set_feeds_graph(world.captures().hold(queue));
        Ok(queue)
    }

    /// The queue of calls without a stream argument: the default stream of the call's variant.
    pub(crate) fn default_queue(&self, world: &mut Guard<'_>) -> Status<QueueId> {
        self.queue(world, Ptr::null())
    }

    /// Enqueues work without waiting; work for a captured stream becomes a node.
    pub(crate) fn submit(&self, world: &mut Guard<'_>, queue: QueueId, work: Work) -> Status {
        self.submit_after(world, queue, &[], work)
    }

    /// Enqueues work that also depends on other ops.
    pub(crate) fn submit_after(&self, world: &mut Guard<'_>, queue: QueueId, others: &[OpId], work: Work) -> Status {
        if world.captures().hold(queue) {
            return self.capture(world, queue, work);
        }
        self.check_legacy(world, queue)?;
        let claim = world.afford_work(self, &work)?;
        let id = world.enqueue_after(queue, others, work)?;
        world.claim_host(id, claim);
        self.get_going(world, queue)
    }

    /// Enqueues several pieces of work without an order between them.
    pub(crate) fn submit_unordered(
        &self,
        world: &mut Guard<'_>,
        queue: QueueId,
        works: impl Iterator<Item = Work>,
    ) -> Status {
        self.check_legacy(world, queue)?;
        let works: SmallVec<[Work; 4]> = works.collect();
        let mut claim = Claim::default();
        for work in &works {
            claim.join(world.afford_work(self, work)?);
        }
        let id = world.enqueue_unordered(queue, works.into_iter())?;
        world.claim_host(id, claim);
        self.get_going(world, queue)
    }

    /// Enqueues work, waits for it, and returns the error of its context, if any.
    pub(crate) fn submit_and_wait(&self, world: &mut Guard<'_>, queue: QueueId, work: Work) -> Status {
        if world.captures().hold(queue) {
            return self.capture(world, queue, work);
        }
        self.check_legacy(world, queue)?;
        let context = world.queue(queue).owner.context;
        let claim = world.afford_work(self, &work)?;
        let id = world.enqueue(queue, work)?;
        world.claim_host(id, claim);
        // The wait wakes the executors, if it cannot run the work itself.
        if self.core().mode != Mode::Threads {
            self.get_going(world, queue)?;
        }
        let known = world.queue(queue).clock.known.clone();
        self.wait(world, &[id])?;
        world.host_learns(&known);
        world.host_saw_idle(queue);
        world.look(context)
    }
}
