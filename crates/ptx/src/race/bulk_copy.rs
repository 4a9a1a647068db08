//! Bulk copies, `st.async` and `red.async`: numbers of copies, groups of threads, published writes.
//!
//! A copy is ordered behind the accesses that its thread knows of when it starts it, and before nothing else
//! of that thread. So its accesses are recorded under a block number of their own, which no thread's clock
//! covers until the copy is waited for:
//!
//! | copies with | share a number, if they have | known to threads that |
//! |---|---|---|
//! | an `mbarrier` | the block that starts them and the barrier | see the phase end |
//! | groups | the block that starts them, and read or write | wait for the group, or come behind that |
//!
//! Numbers of copies are taken from the top, those of blocks from the bottom; a grid does not have so many
//! blocks that they meet.

use std::collections::HashMap;
use std::sync::Arc;

use super::order::sync_variable::SyncVariables;
use super::order::vector_clock::{VectorClock, join};
use crate::lanes::lanes as each;

/// The block numbers of copies.
#[derive(Debug, Default)]
pub(crate) struct CopyNumbers {
    by_flow: HashMap<Flow, u32>,
    /// The blocks that start the copies of each number, from the top.
    starters: Vec<u32>,
}

/// Copies that are waited for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Flow {
    Counted { starter: u32, owner: u32, barrier: u32 },
    Grouped { starter: u32, deed: Side },
}

/// A side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Source,
    Destination,
}

impl CopyNumbers {
    pub(crate) fn of(&mut self, flow: Flow) -> u32 {
        let starters = &mut self.starters;
        *self.by_flow.entry(flow).or_insert_with(|| {
            let (Flow::Counted { starter, .. } | Flow::Grouped { starter, .. }) = flow;
            starters.push(starter);
            u32::MAX - (starters.len() - 1) as u32
        })
    }

    /// The block that started a copy, if a number is a copy's.
    pub(crate) fn starter(&self, number: u32) -> Option<u32> {
        self.starters.get((u32::MAX - number) as usize).copied()
    }
}

/// The copy that a block's thread is starting, and the groups of its threads.
#[derive(Debug, Default)]
pub(crate) struct BulkCopies {
    /// The numbers for its source and its destination, and its time.
    pub(crate) current: Option<([u32; 2], u32)>,
    /// The clocks of copies that each `mbarrier` of the block has counted.
    pub(crate) counted: SyncVariables,
    /// The times at which each thread made its groups.
    pub(crate) groups: HashMap<u32, Vec<u32>>,
    /// Accesses that a proxy fence has published: in shared memory, in global memory.
    pub(crate) published: [Option<Arc<VectorClock>>; 2],
}

impl BulkCopies {
    /// A thread has fenced for some spaces: what it knows is published.
    pub(crate) fn publish(&mut self, clock: &Option<Arc<VectorClock>>, [shared, global]: [bool; 2]) {
        for (published, is_fenced) in self.published.iter_mut().zip([shared, global]) {
            if is_fenced {
                join(published, clock);
            }
        }
    }

    /// `cp.async.bulk.commit_group`
    pub(crate) fn commit(&mut self, warp: usize, lanes: u32, now: u32) {
        for lane in each(lanes) {
            self.groups.entry((warp * 32 + lane) as u32).or_default().push(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::order::vector_clock::Unit;

    #[test]
    fn copies_of_one_flow_have_one_number_that_tells_their_block() {
        let mut numbers = CopyNumbers::default();
        let counted = |barrier| Flow::Counted { starter: 3, owner: 4, barrier };
        let first = numbers.of(counted(8));
        assert_eq!(numbers.of(counted(8)), first);
        let second = numbers.of(counted(16));
        let third = numbers.of(Flow::Grouped { starter: 7, deed: Side::Source });
        assert!(first != second && second != third);
        assert_eq!([first, second, third].map(|number| numbers.starter(number)), [Some(3), Some(3), Some(7)]);
        assert_eq!(numbers.starter(0), None);
    }

    #[test]
    fn a_fence_publishes_for_its_spaces_alone() {
        let mut copies = BulkCopies::default();
        let mut clock = VectorClock::default();
        clock.raise(Unit::block(1), 5);
        copies.publish(&Some(Arc::new(clock)), [true, false]);
        assert!(copies.published[0].is_some() && copies.published[1].is_none());
    }
}
