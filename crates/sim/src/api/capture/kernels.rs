//! Captured kernel launches: programmatic edges, and events that kernels record.
//!
//! | launch attribute | effect on the capture |
//! |---|---|
//! | `PROGRAMMATIC_STREAM_SERIALIZATION` | edges from kernels to the node are programmatic |
//! | `PROGRAMMATIC_EVENT`, `LAUNCH_COMPLETION_EVENT` | the event stands for a part of the node |
//!
//! A stream that waits for such an event depends on that part, with any kind of node. The launching stream's
//! own next node depends on the whole kernel.

use std::sync::Arc;

use warploom_engine::QueueId;

use crate::ffi::handle::NodeHandle;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::capture::CapturedRecord;
use crate::machine::core::Guard;
use crate::machine::graph::{Edge, KernelNode, NodeWork};
use crate::machine::launch::LaunchOrder;
use crate::machine::world::World;

impl Call<'_> {
    /// Adds a node for a kernel launched in a captured stream. The events of `order` have been checked.
    pub(crate) fn capture_kernel(
        &self,
        world: &mut Guard<'_>,
        queue: QueueId,
        kernel: KernelNode,
        order: &LaunchOrder,
    ) -> Status {
        self.capturing(world, queue)?;
        if order.overlaps_previous {
            world.overlap_kernels(queue);
        }
        let node = self.add_captured(world, queue, NodeWork::Kernel(Arc::new(kernel)))?;
        world.record_parts(queue, node, order);
        Ok(())
    }
}

impl World {
    /// Makes the dependencies of a captured stream's next node on kernels programmatic.
    fn overlap_kernels(&mut self, queue: QueueId) {
        let (captures, graphs) = self.captures_and_graphs();
        let Some(branch) = captures.branches.get_mut(&queue) else { return };
        for tip in &mut branch.tips {
            if graphs.nodes.get(tip.node).is_some_and(|node| matches!(node.work, NodeWork::Kernel(_))) {
                tip.data = Edge::FROM_TRIGGER;
            }
        }
    }

    /// Has the events of a captured launch stand for parts of its node.
    fn record_parts(&mut self, queue: QueueId, node: NodeHandle, order: &LaunchOrder) {
        let Some((sequence, _)) = self.captures().of(queue) else { return };
        for recorded in order.events() {
            if let Some(event) = self.events_mut().get_mut(recorded.event) {
                let nodes = vec![Edge { node, data: recorded.edge }];
                event.captured = Some(CapturedRecord { sequence, nodes });
            }
        }
    }
}
