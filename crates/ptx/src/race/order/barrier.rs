//! Arrivals at one barrier of a block.

use std::sync::Arc;

use super::vector_clock::{VectorClock, join};
use crate::race::access_record::At;

/// One barrier of a block, since it was last passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// Those that wait, in the order of their coming.
    waiting: Vec<Arrival>,
    /// The joined clocks of the threads that arrived and did not wait.
    pub(crate) passed: Option<Arc<VectorClock>>,
    /// The first count of threads, and the first other one, each with its arrival.
    counts: Vec<(u32, Arrival)>,
}

/// Warp, lanes, instruction.
type Arrival = (u32, u32, u32);

fn at((warp, lanes, pc): Arrival) -> At {
    (warp * 32 + lanes.trailing_zeros(), pc)
}

impl Arrivals {
    pub(crate) fn come(&mut self, who: Arrival, threads: u32, waits: bool) {
        if waits {
            self.waiting.push(who);
        }
        if self.counts.len() < 2 && self.counts.iter().all(|(known, _)| *known != threads) {
            self.counts.push((threads, who));
        }
    }

    pub(crate) fn pass_on(&mut self, clock: &Option<Arc<VectorClock>>) {
        join(&mut self.passed, clock);
    }

    /// A mask for each warp.
    pub(crate) fn masks(&self, warps: usize) -> Vec<u32> {
        let mut masks = vec![0; warps];
        for (warp, lanes, _) in &self.waiting {
            masks[*warp as usize] |= lanes;
        }
        masks
    }

    /// Threads that wait.
    pub(crate) fn threads(&self) -> u32 {
        self.waiting.iter().map(|(_, lanes, _)| lanes.count_ones()).sum()
    }

    /// One that waits.
    pub(crate) fn first(&self) -> Option<At> {
        self.waiting.first().copied().map(at)
    }

    /// `true` if it waits for all threads of the block.
    pub(crate) fn is_for_all(&self) -> bool {
        self.counts.iter().all(|(threads, _)| *threads == 0)
    }

    /// Two of one warp that have come by different instructions.
    pub(crate) fn apart(&self) -> Option<[At; 2]> {
        let mut waiting = self.waiting.iter();
        while let Some(first) = waiting.next() {
            if let Some(other) = waiting.clone().find(|other| other.0 == first.0 && other.2 != first.2) {
                return Some([at(*first), at(*other)]);
            }
        }
        None
    }

    /// Two that say different counts: the other's and the first's.
    pub(crate) fn differing(&self) -> Option<([u32; 2], [At; 2])> {
        match self.counts[..] {
            [(first, who), (other, by)] => Some(([other, first], [at(who), at(by)])),
            _ => None,
        }
    }
}
