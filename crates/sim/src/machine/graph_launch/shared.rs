//! Data of a launch that all its steps share.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::QueueId;

use crate::ffi::handle::ContextHandle;
use crate::ffi::status::Status;
use crate::machine::conditions::Conditions;
use crate::machine::graph::{KernelNode, Plan};
use crate::machine::work::Task;
use crate::machine::world::World;
use crate::memory::Claim;

/// Memory that kernels in bodies of a conditional node find, in a form that only their tasks know.
pub(crate) type BodyMemory = dyn Any + Send + Sync;

/// Makes the task of a kernel node, which was checked when the node was added, and looks for the host memory of
/// bodies.
pub(crate) trait StartsKernels: Send + Sync {
    fn task(
        &self,
        world: &mut World,
        kernel: &KernelNode,
        conditions: &Arc<Conditions>,
        memory: Option<&BodyMemory>,
    ) -> Status<Box<dyn Task<World>>>;

    /// The memory of pools and graphs that the kernels of bodies find, as it is when their conditional node is
    /// enqueued. It may be freed behind the node before a body is chosen.
    fn memory(&self, world: &World, bodies: &[Arc<Plan>]) -> Arc<BodyMemory>;

    /// Refuses a body for which there is no host memory. Returns the memory that it may commit.
    fn afford(&self, world: &mut World, body: &Plan) -> Status<Claim>;
}

/// A launch: its queues, and the data that all its steps share.
pub(crate) struct Launch {
    pub(crate) queue: QueueId,
    /// Queues of other contexts that have nodes in the graph.
    pub(super) others: SmallVec<[(ContextHandle, QueueId); 1]>,
    pub(crate) kernels: Arc<dyn StartsKernels>,
    pub(crate) conditions: Arc<Conditions>,
    /// The addresses that its nodes allocate, sorted. There is memory for the whole launch.
    pub(super) allocated: Box<[u64]>,
    /// The number of the call, where calls have numbers.
    pub(super) call: u64,
}

impl Launch {
    /// The queue for a step of a context.
    pub(super) fn queue_of(&self, world: &World, context: ContextHandle) -> QueueId {
        let is_own = world.engine.queue(self.queue).owner.context == context;
        let other = self.others.iter().find(|(other, _)| !is_own && *other == context);
        other.map_or(self.queue, |(_, queue)| *queue)
    }
}
