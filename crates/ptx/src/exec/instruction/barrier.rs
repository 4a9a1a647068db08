//! Instructions on the barriers of a block and of its cluster: `bar`, `barrier.cluster`.

use crate::device::host::{CLUSTER_BARRIER, Event, Host};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::barriers::Arrivals;
use crate::exec::warp::executor::{Current, Executor, Next, Stop, stop};
use crate::exec::warp::group::{Group, State};
use crate::program::operation::Barrier;
use crate::program::slot::Slot;

/// Lets lanes stand where they are until a barrier is complete, and the others go on.
fn wait(warp: &mut Warp, at: Current, lanes: u32, number: u32) -> Next {
    let group = &mut warp.groups[at.index];
    let before = *group;
    (group.lanes, group.state, group.pc) = (lanes, State::Barrier(number), at.pc);
    if at.lanes != lanes {
        warp.groups.push(Group { lanes: at.lanes & !lanes, pc: at.pc + 1, ..before });
    }
    Next::Regroup
}

impl<M: Memory + Host> Executor<'_, M> {
    pub(crate) fn barrier(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        kind: Barrier,
        &[_, number, count, predicate, ..]: &[Slot; 6],
    ) -> Result<Next, Stop> {
        match kind {
            Barrier::ClusterArrive => {
                self.barriers.cluster[warp.index as usize] |= lanes;
                self.barriers.awaited |= 1 << CLUSTER_BARRIER;
                self.barriers.changed = true;
                self.tell(warp, at, lanes, Event::Arrived { barrier: CLUSTER_BARRIER, threads: 0, waits: true });
                return Ok(Next::Following);
            }
            // Threads that have not arrived, or whose phase is over, do not wait.
            Barrier::ClusterWait if self.barriers.cluster[warp.index as usize] & lanes == 0 => {
                return Ok(Next::Following);
            }
            Barrier::ClusterWait => return Ok(wait(warp, at, lanes, CLUSTER_BARRIER)),
            _ => {}
        }
        let file = self.file(warp, at);
        let lane = lanes.trailing_zeros() as usize;
        let number = file.words(number)[lane];
        let threads = file.words(count)[lane];
        let yes = if matches!(kind, Barrier::Sync | Barrier::Arrive) { 0 } else { file.predicate(predicate) & lanes };
        let size = self.context.threads();
        // A warp that is not full counts as one: the count is of whole warps.
        let absent = (32 * (warp.index + 1)).saturating_sub(size);
        let bonus = if threads != 0 && lanes == warp.live { absent } else { 0 };
        let arrivals = Arrivals {
            threads: lanes.count_ones() + bonus,
            expected: threads,
            yes: yes.count_ones(),
            asked: lanes.count_ones(),
        };
        let is_count = threads.is_multiple_of(32) && threads <= size.next_multiple_of(32);
        if !is_count || !self.barriers.arrive(number, arrivals) {
            return Err(stop(warp, at, lanes, TrapKind::Barrier { barrier: number, threads }));
        }
        let arrival = Event::Arrived { barrier: number, threads, waits: kind != Barrier::Arrive };
        self.tell(warp, at, lanes, arrival);
        if kind == Barrier::Arrive {
            return Ok(Next::Following);
        }
        Ok(wait(warp, at, lanes, number))
    }

    /// Lets the groups of a warp that wait at a barrier go on, with its answer.
    pub(crate) fn pass(&self, warp: &mut Warp, number: u32, arrivals: Arrivals) {
        use crate::program::operation::Operation;
        let (count, all) = arrivals.answer();
        for index in 0..warp.groups.len() {
            let group = warp.groups[index];
            if group.state != State::Barrier(number) {
                continue;
            }
            let instruction = self.context.program.code.instructions[group.pc as usize];
            let at = Current { index, lanes: group.lanes, pc: group.pc, frame: group.frame };
            let mut file = self.file(warp, at);
            let holds = |holds: bool| if holds { u32::MAX } else { 0 };
            let d = instruction.slots[0];
            match instruction.operation {
                Operation::Barrier(Barrier::Count) => file.set_words(d, group.lanes, &[count; 32]),
                Operation::Barrier(Barrier::All) => file.set_predicate(d, group.lanes, holds(all)),
                Operation::Barrier(Barrier::Any) => file.set_predicate(d, group.lanes, holds(count > 0)),
                _ => {}
            }
            (warp.groups[index].state, warp.groups[index].pc) = (State::Ready, group.pc + 1);
        }
    }
}
