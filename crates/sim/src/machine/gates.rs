//! Gates of contexts: ops that all later work of the context depends on.

use smallvec::SmallVec;
use warploom_engine::{OpId, QueueId};

use crate::ffi::handle::ContextHandle;
use crate::machine::world::World;

impl World {
    /// Orders the next op of a queue behind its context's gates.
    pub(crate) fn order_behind_gates(
        &mut self,
        context: ContextHandle,
        queue: QueueId,
        before: &mut SmallVec<[OpId; 4]>,
    ) {
        let Some(context) = self.contexts.get_mut(context) else { return };
        let Some(clock) = &context.gate_clock else { return };
        self.engine.queue_mut(queue).clock.join(clock);
        context.gates.retain(|gate| !self.engine.is_done(*gate));
        before.extend(context.gates.iter().copied());
    }
}
