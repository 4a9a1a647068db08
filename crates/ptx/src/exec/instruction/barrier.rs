//! Barriers of a block.

use crate::device::host::{Event, Host};
use crate::device::memory::Memory;
use crate::device::trap::{Stop, TrapKind};
use crate::exec::interpreter::{Current, Executor, Next, stop};
use crate::exec::warp::Warp;
use crate::exec::warp::group::{Group, State};
use crate::lanes::lanes as each;
use crate::program::operation::Barrier;
use crate::program::slot::Slot;

/// The hardware's.
const COUNT: usize = 16;

/// The number of the cluster's own, which no instruction can name.
pub(crate) const CLUSTER: u32 = 16;

/// All barriers of a block.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    all: [Arrivals; COUNT],
    /// Which lanes of each warp have arrived at the barrier of the cluster.
    pub(crate) cluster: [u32; 32],
    /// Which barriers, by their numbers, somebody has arrived at since they were last complete; all others are as new.
    pub(crate) awaited: u32,
    /// Whether anybody has arrived or ended since it was asked.
    pub(crate) changed: bool,
}

/// Who has arrived at a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    threads: u32,
    /// Threads that it waits for; 0 is all that have not ended.
    expected: u32,
    /// Threads whose predicate holds, and threads that were asked.
    yes: u32,
    asked: u32,
}

impl Arrivals {
    /// What the barrier tells those who asked: how many said yes, whether all did.
    pub(crate) fn answer(self) -> (u32, bool) {
        (self.yes, self.yes == self.asked)
    }
}

impl Barriers {
    pub(crate) fn clear(&mut self) {
        if self.awaited != 0 {
            *self = Barriers::default();
        }
        self.changed = false;
    }

    /// Barriers that are complete, with what was said there; they start anew.
    pub(crate) fn completed(&mut self, live: u32) -> Vec<(u32, Arrivals)> {
        let mut completed = Vec::new();
        for number in each(self.awaited & !(1 << CLUSTER)) {
            let barrier = &mut self.all[number];
            let expected = if barrier.expected == 0 { live } else { barrier.expected };
            if barrier.threads >= expected {
                completed.push((number as u32, std::mem::take(barrier)));
                self.awaited &= !(1 << number);
            }
        }
        completed
    }
}

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
                self.barriers.awaited |= 1 << CLUSTER;
                self.barriers.changed = true;
                self.tell(warp, at, lanes, Event::Arrived { barrier: CLUSTER, threads: 0, waits: true });
                return Ok(Next::Following);
            }
            // Those who have not arrived, or whose phase is over, wait for nobody.
            Barrier::ClusterWait if self.barriers.cluster[warp.index as usize] & lanes == 0 => {
                return Ok(Next::Following);
            }
            Barrier::ClusterWait => return Ok(wait(warp, at, lanes, CLUSTER)),
            _ => {}
        }
        let file = self.file(warp, at);
        let lane = lanes.trailing_zeros() as usize;
        let number = file.words(number)[lane];
        let threads = file.words(count)[lane];
        let yes = if matches!(kind, Barrier::Sync | Barrier::Arrive) { 0 } else { file.predicate(predicate) & lanes };
        let size = self.context.threads();
        let Some(barrier) = self
            .barriers
            .all
            .get_mut(number as usize)
            .filter(|_| threads.is_multiple_of(32) && threads <= size.next_multiple_of(32))
        else {
            return Err(stop(warp, at, lanes, TrapKind::Barrier { barrier: number, threads }));
        };
        let arrival = Event::Arrived { barrier: number, threads, waits: kind != Barrier::Arrive };
        // A warp that is not full counts as one: the count is of whole warps.
        let absent = (32 * (warp.index + 1)).saturating_sub(size);
        let bonus = if threads != 0 && lanes == warp.live { absent } else { 0 };
        barrier.threads += lanes.count_ones() + bonus;
        barrier.expected = threads;
        barrier.yes += yes.count_ones();
        barrier.asked += lanes.count_ones();
        self.barriers.awaited |= 1 << number;
        self.barriers.changed = true;
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
