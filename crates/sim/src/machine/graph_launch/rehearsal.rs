//! Rehearsals of launches, on a machine on which calls with findings fail.
//!
//! The copies, fills, values and frees of a plan are checked before any of its steps is enqueued, so that a
//! launch with a race runs none of them. The accesses of kernels and of bodies are not known before they run,
//! and so neither are all bytes that are written; memory that the graph itself allocates is not there yet.

use std::sync::Arc;

use warploom_engine::QueueId;

use super::order::Chains;
use crate::check::Drafts;
use crate::ffi::handle::ExecutableHandle;
use crate::ffi::status::Status;
use crate::machine::graph::{NodeWork, Plan};
use crate::machine::world::World;
use crate::memory::MemoryOp;
use crate::memory::shadow::enter_node;

impl World {
    /// Refuses a launch with a finding. The queue's clock includes everything before it.
    pub(super) fn rehearse(&mut self, queue: QueueId, handle: ExecutableHandle, plan: &Arc<Plan>) -> Status {
        let mut chains = self.chains_of(queue, handle, plan);
        let kept = chains.chains.clone();
        let mut drafts = Drafts::default();
        let checked = (0..plan.steps.len() as u32).try_for_each(|index| {
            enter_node(plan.steps[index as usize].site.clone());
            self.rehearse_step(queue, (plan, index), &mut chains, &mut drafts)
        });
        enter_node(None);
        // The launch takes the same steps.
        if let Some(executable) = self.graphs.executables.get_mut(handle) {
            executable.chains = kept;
        }
        checked
    }

    fn rehearse_step(
        &mut self,
        queue: QueueId,
        (plan, index): (&Plan, u32),
        chains: &mut Chains,
        drafts: &mut Drafts,
    ) -> Status {
        let step = &plan.steps[index as usize];
        let work = if step.is_enabled { &step.work } else { &NodeWork::Empty };
        let known = chains.before(plan, index);
        match work {
            NodeWork::Memory(node) => self.check_draft(queue, known, &node.op.clone().into(), drafts)?,
            NodeWork::Values(values) => {
                for op in &values.ops {
                    self.check_draft(queue, known, &op.clone().into(), drafts)?;
                    if matches!(op, MemoryOp::WaitValue { .. }) {
                        known.doubt();
                    }
                    known.advance();
                }
            }
            NodeWork::Free(address) => self.check_draft_free(queue, known, *address)?,
            NodeWork::WaitEvent(event) => {
                if let Some(event) = self.events.get(*event) {
                    known.join(&event.clock.known);
                }
            }
            _ => {}
        }
        let is_step = !matches!(work, NodeWork::Empty | NodeWork::Child(_) | NodeWork::Values(_));
        chains.passed(plan, index, is_step);
        Ok(())
    }
}
