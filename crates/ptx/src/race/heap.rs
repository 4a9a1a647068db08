//! Use after free, out-of-bounds accesses and invalid frees on the kernels' heap.

use super::detector::Detector;
use super::hazard::{Deed, HeapMisuse};
use crate::device::{Access, Freed, HeapProblem};
use crate::lanes::lanes as each;
use crate::race::access_record::AccessRecord;

impl Detector {
    /// A thread has got memory of the heap, which may have been another's.
    pub(super) fn allocated(&mut self, address: u64, bytes: u64) {
        self.frees.remove(&address);
        self.renew(address, bytes);
    }

    /// A thread gives memory back to the heap.
    pub(super) fn freed(&mut self, access: &Access, address: u64, outcome: Freed) {
        let who = AccessRecord::new(self.number(access.block), access.warp, access.lanes, 0, access.instruction, true);
        let misuse = match outcome {
            Freed::Done => {
                self.frees.insert(address, who);
                return;
            }
            Freed::Twice => HeapMisuse::FreedTwice,
            Freed::Stray | Freed::Unreachable(_) => HeapMisuse::NotABlock,
        };
        if self.watches.global_races {
            let by = self.frees.get(&address).copied();
            self.found.heap(misuse, who, address..address, None, by);
        }
    }

    /// Lanes touch memory of the heap that is not theirs to touch: so many bytes each, so far apart.
    pub(super) fn misused(
        &mut self,
        access: &Access,
        [start, share, apart]: [u64; 3],
        deed: Deed,
        problem: &HeapProblem,
    ) {
        if !self.watches.global_races {
            return;
        }
        let lanes = if deed.writes() { access.lanes } else { access.readers };
        let index = (problem.address - start).checked_div(apart).unwrap_or(0);
        let lane = each(lanes).nth(index as usize).unwrap_or(0);
        let who =
            AccessRecord::new(self.number(access.block), access.warp, 1 << lane, 0, access.instruction, deed.writes());
        let misuse = if problem.freed { HeapMisuse::AfterFree(deed) } else { HeapMisuse::Outside(deed) };
        let by = self.frees.get(&problem.block.start).copied().filter(|_| problem.freed);
        let end = start + index * apart + share;
        self.found.heap(misuse, who, problem.address..end, Some(problem.block.clone()), by);
    }
}
