//! The barriers of a block, and the threads that have arrived at each.

use crate::device::host::CLUSTER_BARRIER;
use crate::lanes::lanes as each;

/// The hardware's.
const COUNT: usize = 16;

/// All barriers of a block.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    all: [Arrivals; COUNT],
    /// The lanes of each warp that have arrived at the barrier of the cluster.
    pub(crate) cluster: [u32; 32],
    /// The barriers, by number, with arrivals since they were last complete; all others are as new.
    pub(crate) awaited: u32,
    /// `true` if a thread has arrived or ended since the last check.
    pub(crate) changed: bool,
}

/// The threads that have arrived at a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) threads: u32,
    /// Threads that it waits for; 0 is all that have not ended.
    pub(crate) expected: u32,
    /// Threads whose predicate holds, and threads that were asked.
    pub(crate) yes: u32,
    pub(crate) asked: u32,
}

impl Arrivals {
    /// The result of `bar.red`: the number of threads whose predicate holds, and true if it holds for all.
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

    /// Counts threads that arrive at a barrier; `false` if there is no barrier of that number.
    pub(crate) fn arrive(&mut self, number: u32, arrivals: Arrivals) -> bool {
        let Some(barrier) = self.all.get_mut(number as usize) else { return false };
        barrier.threads += arrivals.threads;
        barrier.expected = arrivals.expected;
        barrier.yes += arrivals.yes;
        barrier.asked += arrivals.asked;
        self.awaited |= 1 << number;
        self.changed = true;
        true
    }

    /// Barriers that are complete, with their arrivals; they start anew.
    pub(crate) fn completed(&mut self, live: u32) -> Vec<(u32, Arrivals)> {
        let mut completed = Vec::new();
        for number in each(self.awaited & !(1 << CLUSTER_BARRIER)) {
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
