//! What orders threads, and barriers that not all come to.

use super::clock::join;
use super::detector::Detector;
use super::hazard::Divergence;
use crate::exec::{Access, Event};

/// The number of the cluster's barrier.
const CLUSTER: u32 = 16;

impl Detector {
    /// Lanes of a warp order themselves among others.
    pub(super) fn event(&mut self, access: &Access, event: Event) {
        let at = self.enter(access.block);
        let wide = self.manner(access.instruction).wide;
        let block = &mut self.blocks[at];
        let (warp, lanes, pc) = (access.warp as usize, access.lanes, access.instruction);
        self.now = self.now.saturating_add(1);
        match event {
            Event::Fence => block.threads.fence(warp, lanes, wide, self.now),
            Event::Lanes => block.threads.meet(warp, lanes, self.now),
            Event::Arrived { barrier, threads, waits } => {
                let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
                gathering.come((access.warp, lanes, pc), threads, waits);
                if !waits || barrier == CLUSTER {
                    let passed = block.threads.arrive(warp, lanes, self.now);
                    if barrier == CLUSTER {
                        join(&mut self.clusters, &passed);
                    }
                    gathering.pass_on(&passed);
                }
            }
            Event::Passed { barrier } => self.passed(at, barrier),
            Event::CopiesCommitted => block.copies.commit(warp, lanes),
            Event::CopiesAwaited { but } => self.copies_are_over(at, warp, lanes, but),
            Event::Ended => {
                block.ended = Some((warp as u32 * 32 + lanes.trailing_zeros(), pc));
                if block.threads.end(warp, lanes) {
                    self.blocks.swap_remove(at);
                }
            }
        }
    }

    fn passed(&mut self, at: usize, barrier: u32) {
        let block = &mut self.blocks[at];
        let number = block.number;
        let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
        let mut gathering = std::mem::take(gathering);
        if barrier == CLUSTER {
            gathering.pass_on(&self.clusters);
        }
        let waiting = gathering.masks(block.threads.warps());
        block.threads.pass(&waiting, gathering.is_for_all(), &gathering.passed, self.now);
        let Some(first) = gathering.first().filter(|_| self.watches.barriers && barrier != CLUSTER) else { return };
        let of = (number, barrier, gathering.threads());
        let threads = block.threads.ended();
        if let Some(last) = block.ended.filter(|_| gathering.is_for_all()) {
            self.found.diverged(of, first, last, |one| Divergence::Ended { one, threads });
        }
        if let Some([first, other]) = gathering.apart() {
            self.found.diverged(of, first, other, |one| Divergence::Warp { one });
        }
        if let Some((threads, [first, other])) = gathering.differing() {
            self.found.diverged(of, first, other, |one| Divergence::Count { one, threads });
        }
    }

    /// Nobody of a block can go on: says who waits where.
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
