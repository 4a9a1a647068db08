//! Synchronisation events, and barriers that some threads miss.

use super::detector::Detector;
use super::hazard::{Actor, Divergence, Presence};
use crate::device::host::CLUSTER_BARRIER;
use crate::device::launch::coordinates;
use crate::device::{Access, Event, Trap};
use crate::lanes::lanes as each;

impl Detector {
    /// Lanes of a warp order themselves among others.
    pub(super) fn event(&mut self, access: &Access, event: Event) {
        if matches!(event, Event::Passed { .. }) && !self.is_here(access.block) {
            return;
        }
        let at = self.enter(access.block);
        let order = self.order(access.instruction);
        let block = &mut self.blocks[at];
        let (warp, lanes, pc) = (access.warp as usize, access.lanes, access.instruction);
        self.now = self.now.saturating_add(1);
        match event {
            Event::Fence => {
                block.threads.fence(warp, lanes, order.wide, self.now);
                if order.publishes != [false; 2] {
                    for lane in each(lanes) {
                        let [_, clock] = block.threads.fenced(warp, lane, false);
                        block.bulk.publish(&clock, order.publishes);
                    }
                }
            }
            Event::Lanes => block.threads.meet(warp, lanes, self.now),
            Event::Arrived { barrier, threads, waits } => {
                let Some(arrivals) = block.barriers.get_mut(barrier as usize) else { return };
                arrivals.come((access.warp, lanes, pc), threads, waits);
                if !waits || barrier == CLUSTER_BARRIER {
                    let passed = block.threads.arrive(warp, lanes, self.now);
                    if barrier == CLUSTER_BARRIER {
                        self.clusters.come(access.block, &passed);
                    }
                    arrivals.pass_on(&passed);
                }
            }
            Event::Passed { barrier } => self.passed(at, access.block, barrier),
            Event::CopiesCommitted => block.copies.commit(warp, lanes),
            Event::CopiesAwaited { but } => self.copies_are_over(at, warp, lanes, but),
            Event::CopyBegun { barrier } => self.copy_begins(at, access, barrier),
            Event::CopyCounted { barrier } => self.copy_is_counted(at, access, barrier),
            Event::BulkCommitted => block.bulk.commit(warp, lanes, self.now),
            Event::BulkAwaited { but, reads } => self.bulk_is_over(at, warp, lanes, but, reads),
            Event::Ended => {
                block.ended = Some((warp as u32 * 32 + lanes.trailing_zeros(), pc));
                if block.threads.end(warp, lanes) {
                    self.left(at, access.block);
                }
            }
        }
    }

    /// A block has ended: accesses of others to its shared memory must have happened before.
    fn left(&mut self, at: usize, place: [u32; 3]) {
        let block = self.blocks.swap_remove(at);
        if self.watches.shared_races {
            for visit in block.visits.each().filter(|visit| !block.threads.anyone_knows(visit)) {
                self.found.absent(visit, block.number, Presence::Ended);
            }
        }
        let first = self.clusters.first(place);
        if self.blocks.iter().all(|other| self.clusters.first(coordinates(self.found.grid, other.number)) != first) {
            self.clusters.forget(first);
        }
    }

    fn passed(&mut self, at: usize, place: [u32; 3], barrier: u32) {
        let block = &mut self.blocks[at];
        let number = block.number;
        let Some(arrivals) = block.barriers.get_mut(barrier as usize) else { return };
        let mut arrivals = std::mem::take(arrivals);
        if barrier == CLUSTER_BARRIER {
            arrivals.pass_on(&self.clusters.pass(place));
        }
        let waiting = arrivals.masks(block.threads.warps());
        block.threads.pass(&waiting, arrivals.is_for_all(), &arrivals.passed, self.now);
        let Some(first) = arrivals.first().filter(|_| self.watches.barriers && barrier != CLUSTER_BARRIER) else {
            return;
        };
        let of = (number, barrier, arrivals.threads());
        let threads = block.threads.ended();
        if let Some(last) = block.ended.filter(|_| arrivals.is_for_all()) {
            self.found.diverged(of, first, last, |one| Divergence::Ended { one, threads });
        }
        if let Some([first, other]) = arrivals.apart() {
            self.found.diverged(of, first, other, |one| Divergence::Warp { one });
        }
        if let Some((threads, [first, other])) = arrivals.differing() {
            self.found.diverged(of, first, other, |one| Divergence::Count { one, threads });
        }
    }

    fn is_here(&self, block: [u32; 3]) -> bool {
        let number = self.number(block);
        self.blocks.iter().any(|block| block.number == number)
    }

    /// A thread cannot access shared memory of its cluster, because the block that has a rank there has
    /// ended.
    pub(super) fn missed(&mut self, trap: &Trap, rank: u32) {
        if self.watches.shared_races {
            let Trap { block, thread, instruction, place, source, .. } = trap.clone();
            let owner = self.clusters.of_rank(block, rank);
            self.found.absent_at(Actor { block, thread, instruction, place, source }, owner);
        }
    }

    /// Reports the barriers at which the threads of a deadlocked block wait.
    pub(super) fn stuck(&mut self, block: [u32; 3]) {
        let number = self.number(block);
        let known = self.blocks.iter().find(|block| block.number == number);
        let Some(block) = known.filter(|_| self.watches.barriers) else { return };
        let mut waiting =
            (0..).zip(&block.barriers).filter_map(|(barrier, all)| Some((barrier, all, all.first()?))).fuse();
        let Some((barrier, all, first)) = waiting.next() else { return };
        let of = (number, barrier, all.threads());
        if let Some((barrier, others, other)) = waiting.next() {
            let threads = others.threads();
            self.found.diverged(of, first, other, |one| Divergence::Elsewhere { one, threads, barrier });
        } else if let Some(last) = block.ended {
            let threads = block.threads.ended();
            self.found.diverged(of, first, last, |one| Divergence::Ended { one, threads });
        }
    }
}
