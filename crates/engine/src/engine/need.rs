//! Search for the ops that a wait needs: back from its targets to the ops that could run now.
//!
//! A queue runs in order, so of each queue only the oldest unfinished op, its *head*, can matter. An op waits for its
//! queue's head; a head waits for ops of other queues, and so for their heads, and for ops beside its own chain. The
//! walk visits each queue once, however many ops are in it.

use smallvec::SmallVec;

use super::Engine;
use crate::id::OpId;
use crate::op::{Op, State};
use crate::work::Work;

impl<W: Work> Engine<W> {
    /// The first op that `targets` need and that could be started.
    pub fn ready_for(&mut self, targets: &[OpId]) -> Option<OpId> {
        let host_is_busy = self.host_is_busy();
        self.walk(targets, |_, op| op.state == State::Ready && !(host_is_busy && op.work.runs_on_host()))
    }

    /// The ops that `targets` need and that wait for memory to change.
    pub fn parked_for(&mut self, targets: &[OpId]) -> SmallVec<[OpId; 4]> {
        let mut parked = SmallVec::new();
        self.walk(targets, |id, op| {
            if op.state == State::Parked {
                parked.push(id);
            }
            false
        });
        parked
    }

    /// The ops that `targets` need and that have looked at memory in vain, for reports.
    pub fn stuck_for(&mut self, targets: &[OpId]) -> SmallVec<[OpId; 4]> {
        let mut stuck = SmallVec::new();
        self.walk(targets, |id, op| {
            if op.has_parked && op.state != State::Running {
                stuck.push(id);
            }
            false
        });
        stuck
    }

    /// The newest unfinished op of every queue. Each time another queue comes first, so that each has its turn.
    pub fn tails_in_turn(&mut self) -> Vec<OpId> {
        let mut tails: Vec<OpId> = self.queues.iter().filter_map(|queue| queue.tail).collect();
        self.turns += 1;
        let first = self.turns.checked_rem(tails.len()).unwrap_or(0);
        tails.rotate_left(first);
        tails
    }

    fn walk(&mut self, targets: &[OpId], mut wanted: impl FnMut(OpId, &Op<W>) -> bool) -> Option<OpId> {
        self.walks += 1;
        let mut stack: SmallVec<[OpId; 16]> = SmallVec::new();
        for target in targets {
            self.push_head_of(*target, &mut stack);
            while let Some(id) = stack.pop() {
                let Some(op) = self.ops.get(id) else { continue };
                if wanted(id, op) {
                    return Some(id);
                }
                if op.state == State::Waiting {
                    let predecessors = op.predecessors.clone();
                    let queue = op.queue;
                    for predecessor in predecessors.into_iter().rev() {
                        // A head's own queue holds it up only by ops beside the chain, which are heads of nothing.
                        if self.ops.get(predecessor).is_some_and(|op| op.queue == queue) {
                            stack.push(predecessor);
                        } else {
                            self.push_head_of(predecessor, &mut stack);
                        }
                    }
                }
            }
        }
        None
    }

    /// Puts the head of an op's queue on the stack, once in a walk.
    fn push_head_of(&mut self, id: OpId, stack: &mut SmallVec<[OpId; 16]>) {
        let Some(op) = self.ops.get(id) else { return };
        let walk = self.walks;
        let queue = &mut self.queues[op.queue.index()];
        if queue.walked != walk {
            queue.walked = walk;
            stack.extend(queue.head);
        }
    }
}
