//! Search for the ops that a wait needs: back from its targets to the ops that could run now.
//!
//! A queue runs in order, so of each queue only the oldest unfinished op, its *head*, can matter. An op waits
//! for its queue's head; a head waits for ops of other queues, and so for their heads, and for ops beside a
//! chain, which may wait for each other. The walk visits each queue and each op beside a chain once, however
//! many ops are in the queues.

use smallvec::SmallVec;

use super::Engine;
use crate::id::{OpId, QueueId};
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

    /// The newest unfinished op of every queue. Each time another queue comes first, so that each has its
    /// turn.
    #[inline]
    pub fn tails_in_turn(&mut self) -> Vec<OpId> {
        let mut tails: Vec<OpId> = self.queues.iter().filter_map(|queue| queue.tail).collect();
        self.turns += 1;
        let first = self.turns.checked_rem(tails.len()).unwrap_or(0);
        tails.rotate_left(first);
        tails
    }

    fn walk(&mut self, targets: &[OpId], mut wanted: impl FnMut(OpId, &Op<W>) -> bool) -> Option<OpId> {
        // Not 0, which is the mark of an op that no walk has seen.
        self.walks = self.walks.checked_add(1).unwrap_or(1);
        let mut stack: SmallVec<[OpId; 16]> = SmallVec::new();
        for target in targets {
            self.push_head_of(*target, &mut stack);
            while let Some(id) = stack.pop() {
                let Some(op) = self.ops.get(id) else { continue };
                if wanted(id, op) {
                    return Some(id);
                }
                if op.state == State::Waiting {
                    let (queue, beside) = (op.queue, op.beside);
                    if let Some(id) = self.ready_beside(queue).filter(|_| !beside)
                        && self.ops.get(id).is_some_and(|op| wanted(id, op))
                    {
                        return Some(id);
                    }
                    let predecessors = self.ops.get(id).map(|op| op.predecessors.clone()).unwrap_or_default();
                    for predecessor in predecessors.into_iter().rev() {
                        if !self.push_beside(predecessor, &mut stack) {
                            self.push_head_of(predecessor, &mut stack);
                        }
                    }
                }
            }
        }
        None
    }

    /// A ready op beside a queue's chain, in lazy order.
    fn ready_beside(&mut self, queue: QueueId) -> Option<OpId> {
        while let Some(id) = self.queue(queue).ready_beside.last().copied() {
            if self.ops.get(id).is_some_and(|op| op.state == State::Ready) {
                return Some(id);
            }
            self.queue_mut(queue).ready_beside.pop();
        }
        None
    }

    /// Puts an op that stands beside a chain on the stack, once in a walk; `false` if it does not stand
    /// there.
    fn push_beside(&mut self, id: OpId, stack: &mut SmallVec<[OpId; 16]>) -> bool {
        let walk = self.walks;
        let Some(op) = self.ops.get_mut(id).filter(|op| op.beside) else { return false };
        if op.walked != walk {
            op.walked = walk;
            stack.push(id);
        }
        true
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
