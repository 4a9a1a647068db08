//! Clusters: the owner of an address of shared memory, and the order that the cluster's barrier makes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::vector_clock::{VectorClock, join};
use crate::device::host::RANK_SHIFT;
use crate::device::launch::coordinates;
use crate::lanes::lanes as each;
use crate::race::access_record::AccessRecord;

/// The clusters of a grid.
#[derive(Debug)]
pub(crate) struct Clusters {
    /// Blocks of each.
    shape: [u32; 3],
    /// By the place of their first block.
    phases: HashMap<[u32; 3], Phase>,
}

/// One round of a cluster's barrier.
#[derive(Debug, Default)]
struct Phase {
    /// The joined clocks of the threads that have arrived.
    passed: Option<Arc<VectorClock>>,
    /// `true` if it is over: the next arrival begins another.
    is_over: bool,
}

impl Clusters {
    pub(crate) fn new(shape: [u32; 3]) -> Self {
        Self { shape, phases: HashMap::new() }
    }

    /// The first block of the cluster that a block is in.
    pub(crate) fn first(&self, block: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| block[axis] - block[axis] % self.shape[axis])
    }

    /// The block that has a rank in the cluster of another.
    pub(crate) fn of_rank(&self, block: [u32; 3], rank: u32) -> [u32; 3] {
        let (first, place) = (self.first(block), coordinates(self.shape, rank));
        std::array::from_fn(|axis| first[axis] + place[axis])
    }

    /// Whose shared memory an address leads a block to, and how far into it.
    #[inline(always)]
    pub(crate) fn owner(&self, block: [u32; 3], address: u32) -> ([u32; 3], u32) {
        match address >> RANK_SHIFT {
            0 => (block, address),
            rank => (self.of_rank(block, rank - 1), address & ((1 << RANK_SHIFT) - 1)),
        }
    }

    /// Threads of a block come to the barrier.
    pub(crate) fn come(&mut self, block: [u32; 3], passed: &Option<Arc<VectorClock>>) {
        let phase = self.phases.entry(self.first(block)).or_default();
        if phase.is_over {
            *phase = Phase::default();
        }
        join(&mut phase.passed, passed);
    }

    /// The joined clocks of all that arrived, for the threads of a block that go on.
    pub(crate) fn pass(&mut self, block: [u32; 3]) -> Option<Arc<VectorClock>> {
        let phase = self.phases.get_mut(&self.first(block))?;
        phase.is_over = true;
        phase.passed.clone()
    }

    /// A cluster has ended.
    pub(crate) fn forget(&mut self, first: [u32; 3]) {
        self.phases.remove(&first);
    }
}

/// Accesses of other blocks to a block's shared memory, which has to exist until they are done: the last one
/// for each instruction and lanes of a warp.
#[derive(Debug, Default)]
pub(crate) struct Visits(BTreeMap<[u32; 4], AccessRecord>);

/// Visits that are told apart.
const KEPT: usize = 4096;

impl Visits {
    pub(crate) fn add(&mut self, visit: AccessRecord) {
        let key = [visit.block, visit.warp(), visit.pc(), visit.lanes];
        if self.0.len() < KEPT || self.0.contains_key(&key) {
            self.0.insert(key, visit);
        }
    }

    /// One for each lane.
    pub(crate) fn each(&self) -> impl Iterator<Item = AccessRecord> {
        self.0.values().flat_map(|visit| each(visit.lanes).map(|lane| visit.by(1 << lane)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::order::vector_clock::Unit;

    #[test]
    fn an_address_says_whose_it_is() {
        let clusters = Clusters::new([2, 2, 1]);
        assert_eq!(clusters.owner([3, 2, 0], 16), ([3, 2, 0], 16));
        assert_eq!(clusters.owner([3, 2, 0], 0x0100_0010), ([2, 2, 0], 16));
        assert_eq!(clusters.owner([3, 2, 0], 0x0400_0010), ([3, 3, 0], 16));
    }

    #[test]
    fn a_phase_passes_nothing_on_to_the_next_nor_to_other_clusters() {
        let mut clusters = Clusters::new([2, 1, 1]);
        let clock = |block| {
            let mut clock = VectorClock::default();
            clock.raise(Unit::block(block), 5);
            Some(Arc::new(clock))
        };
        clusters.come([0; 3], &clock(0));
        clusters.come([1, 0, 0], &clock(1));
        assert_eq!(clusters.pass([2, 0, 0]), None);
        let passed = clusters.pass([1, 0, 0]).expect("two have come");
        assert!(passed.hears_of(0) && passed.hears_of(1) && !passed.hears_of(2));
        assert_eq!(clusters.pass([0; 3]).as_deref(), Some(&*passed));
        clusters.come([1, 0, 0], &clock(1));
        assert!(!clusters.pass([0; 3]).expect("one has come").hears_of(0));
    }
}
