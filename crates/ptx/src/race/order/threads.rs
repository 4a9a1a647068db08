//! Vector clocks of the threads of a block.
//!
//! | kept for | entries of the clock | set when |
//! |---|---|---|
//! | a block | a time for all its threads; the clock of other blocks | all have come to a barrier |
//! | a warp | the same within the warp | all its lanes have met |
//! | a lane | the rest of its clock; the clocks that a fence releases or acquires | any other synchronisation |
//!
//! Most kernels need the first two rows only; lanes are made when one of them synchronises alone.

use std::sync::Arc;

use super::sync_variable::Passed;
use super::vector_clock::{Unit, VectorClock, join};
use crate::lanes::lanes as each;
use crate::race::access_record::AccessRecord;

/// The threads of a block.
#[derive(Debug)]
pub(crate) struct Threads {
    block: u32,
    count: u32,
    /// Up to here all threads know all threads.
    since: u32,
    /// The clock of other blocks that all threads share.
    known: Option<Arc<VectorClock>>,
    warps: Vec<Warp>,
}

#[derive(Debug, Default)]
struct Warp {
    ended: u32,
    /// Up to here all lanes know all lanes.
    since: u32,
    /// The last release of any of its lanes alone.
    newest: u32,
    lanes: Option<Box<[Lane; 32]>>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// Its last release.
    since: u32,
    /// Its clock beyond that of its block and its warp.
    known: Option<Arc<VectorClock>>,
    /// Up to where it knows the lanes of its warp.
    mates: [u32; 32],
    /// Clocks read by relaxed accesses, which the next fence joins.
    pending: Option<Arc<VectorClock>>,
    /// Its clock at its last fence: for the device, for the block.
    fenced: Passed,
}

impl Warp {
    fn lanes(&mut self) -> &mut [Lane; 32] {
        self.lanes.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Lane::default())))
    }
}

impl Threads {
    pub(crate) fn new(block: u32, count: u32, now: u32) -> Self {
        let warps = (0..count.div_ceil(32)).map(|_| Warp::default()).collect();
        Self { block, count, since: now, known: None, warps }
    }

    /// All lanes that a warp started with.
    fn full(&self, warp: usize) -> u32 {
        u32::MAX >> (32 - (self.count - warp as u32 * 32).min(32))
    }

    pub(crate) fn warps(&self) -> usize {
        self.warps.len()
    }

    /// Threads that have ended.
    pub(crate) fn ended(&self) -> u32 {
        self.warps.iter().map(|warp| warp.ended.count_ones()).sum()
    }

    /// Ends threads; true if they were the last.
    pub(crate) fn end(&mut self, warp: usize, lanes: u32) -> bool {
        self.warps[warp].ended |= lanes;
        self.ended() == self.count
    }

    /// The block's number in the grid.
    pub(crate) fn block(&self) -> u32 {
        self.block
    }

    /// The time of the last release of lanes of a warp; none if it differs between them.
    pub(crate) fn since(&self, warp: usize, lanes: u32) -> Option<u32> {
        let here = &self.warps[warp];
        let since = self.since.max(here.since);
        let Some(all) = here.lanes.as_ref().filter(|_| here.newest > since) else { return Some(since) };
        let own = all[lanes.trailing_zeros() as usize & 31].since.max(since);
        each(lanes).all(|lane| all[lane].since.max(since) == own).then_some(own)
    }

    /// The numbers up to which all of the block and all of a warp are known to a warp.
    pub(crate) fn known(&self, warp: usize) -> [u32; 2] {
        [self.since, self.warps[warp].since]
    }

    /// `true` if the lanes of a warp know no more than [`known`](Self::known) says.
    pub(crate) fn is_all_known(&self, warp: usize) -> bool {
        self.warps[warp].lanes.is_none() && self.known.is_none()
    }

    /// `true` if a recorded access happened before the thread's next one.
    pub(crate) fn knows(&self, warp: usize, lane: usize, earlier: &AccessRecord) -> bool {
        let here = &self.warps[warp];
        if earlier.block == self.block {
            let mate = earlier.lanes.trailing_zeros() as usize;
            if earlier.since < self.since {
                return true;
            }
            if earlier.warp() as usize == warp
                && (mate == lane
                    || earlier.since < here.since
                    || here.lanes.as_ref().is_some_and(|lanes| lanes[lane].mates[mate] > earlier.since))
            {
                return true;
            }
        }
        let own = here.lanes.as_ref().and_then(|lanes| lanes[lane].known.as_ref());
        [own, self.known.as_ref()].into_iter().flatten().any(|clock| clock.covers(earlier))
    }

    /// `true` if any access of another block happened before the thread's next one.
    pub(crate) fn hears_of(&self, warp: usize, lane: usize, block: u32) -> bool {
        let own = self.warps[warp].lanes.as_ref().and_then(|lanes| lanes[lane].known.as_ref());
        own.into_iter().chain(&self.known).any(|clock| clock.hears_of(block))
    }

    /// `true` if a recorded access of another block happened before the next one of any thread.
    pub(crate) fn anyone_knows(&self, earlier: &AccessRecord) -> bool {
        let lanes = self.warps.iter().filter_map(|warp| warp.lanes.as_ref()).flat_map(|lanes| lanes.iter());
        self.known.iter().chain(lanes.filter_map(|lane| lane.known.as_ref())).any(|clock| clock.covers(earlier))
    }

    /// All that a thread knows, itself up to a number included, which it takes as its own.
    fn pass_on(&mut self, warp: usize, lane: usize, number: u32) -> Arc<VectorClock> {
        let (block, since) = (self.block, self.since);
        let together = self.warps[warp].since;
        self.warps[warp].newest = number;
        let own = &mut self.warps[warp].lanes()[lane];
        own.since = number;
        let mut known = self.known.clone();
        join(&mut known, &own.known);
        let mut clock = known.map(Arc::unwrap_or_clone).unwrap_or_default();
        if since > 0 {
            clock.raise(Unit::block(block), since);
        }
        if together > since {
            clock.raise(Unit::warp(block, warp as u32), together);
        }
        for (mate, known) in own.mates.iter().enumerate().filter(|(_, known)| **known > since.max(together)) {
            clock.raise(Unit::thread(block, (warp * 32 + mate) as u32), *known);
        }
        clock.raise(Unit::thread(block, (warp * 32 + lane) as u32), number);
        Arc::new(clock)
    }

    /// Joins the clocks that relaxed reads found.
    fn take_in(&mut self, warp: usize, lane: usize) {
        if let Some(lanes) = &mut self.warps[warp].lanes {
            let own = &mut lanes[lane];
            let pending = own.pending.take();
            join(&mut own.known, &pending);
        }
    }

    /// A fence of some lanes.
    pub(crate) fn fence(&mut self, warp: usize, lanes: u32, wide: bool, number: u32) {
        for lane in each(lanes) {
            self.take_in(warp, lane);
            let clock = self.pass_on(warp, lane, number);
            let own = &mut self.warps[warp].lanes()[lane];
            if wide {
                own.fenced[0] = Some(Arc::clone(&clock));
            }
            own.fenced[1] = Some(clock);
        }
    }

    /// Joins the clock that a strong read found: at once if it acquires, else at the next fence.
    pub(crate) fn learn(&mut self, warp: usize, lane: usize, clock: &Option<Arc<VectorClock>>, acquires: bool) {
        if clock.is_none() {
            return;
        }
        let own = &mut self.warps[warp].lanes()[lane];
        join(if acquires { &mut own.known } else { &mut own.pending }, clock);
    }

    /// The clock that a relaxed write passes on: that of the thread's last fence.
    pub(crate) fn fenced(&self, warp: usize, lane: usize, wide: bool) -> Passed {
        let own = self.warps[warp].lanes.as_ref().map(|lanes| &lanes[lane].fenced);
        match own {
            Some([for_all, for_block]) => [for_all.clone().filter(|_| wide), for_block.clone()],
            None => [None, None],
        }
    }

    /// The clock that a releasing write passes on.
    pub(crate) fn release(&mut self, warp: usize, lane: usize, wide: bool, number: u32) -> Passed {
        let clock = Some(self.pass_on(warp, lane, number));
        [clock.clone().filter(|_| wide), clock]
    }

    /// Lanes of a warp have met.
    pub(crate) fn meet(&mut self, warp: usize, lanes: u32, number: u32) {
        let full = self.full(warp);
        let here = &mut self.warps[warp];
        if full & !here.ended & !lanes == 0 {
            here.since = number;
            if here.lanes.is_none() {
                return;
            }
        }
        here.newest = number;
        let all = here.lanes();
        let (mut known, mut mates) = (None, [0; 32]);
        for lane in each(lanes) {
            let pending = all[lane].pending.take();
            join(&mut known, &pending);
            join(&mut known, &all[lane].known);
            for (mate, known) in mates.iter_mut().zip(all[lane].mates) {
                *mate = (*mate).max(known);
            }
            mates[lane] = number;
        }
        for lane in each(lanes) {
            let own = &mut all[lane];
            (own.since, own.mates) = (number, mates);
            own.known.clone_from(&known);
        }
    }

    /// The clock of threads that arrive at a barrier and do not wait.
    pub(crate) fn arrive(&mut self, warp: usize, lanes: u32, number: u32) -> Option<Arc<VectorClock>> {
        let mut passed = None;
        for lane in each(lanes) {
            join(&mut passed, &Some(self.pass_on(warp, lane, number)));
        }
        passed
    }

    /// Threads that have waited at a barrier go on, ordered after all that came. `waiting` has a mask for
    /// each warp; a thread that has ended has come to every barrier that is for all.
    pub(crate) fn pass(&mut self, waiting: &[u32], is_for_all: bool, passed: &Option<Arc<VectorClock>>, number: u32) {
        let ended = |warp: usize| if is_for_all { self.warps[warp].ended } else { 0 };
        let missing = |warp: usize| self.full(warp) & !ended(warp) & !waiting[warp];
        if (0..self.warps.len()).all(|warp| missing(warp) == 0) {
            self.since = number;
            join(&mut self.known, passed);
            for lanes in self.warps.iter_mut().filter_map(|warp| warp.lanes.as_mut()) {
                for lane in lanes.iter_mut() {
                    join(&mut self.known, &lane.pending.take());
                    join(&mut self.known, &lane.known.take());
                }
            }
            return;
        }
        let mut clock = passed.clone();
        for (warp, lanes) in waiting.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
            self.meet(warp, *lanes, number);
            let lane = lanes.trailing_zeros() as usize;
            join(&mut clock, &Some(self.pass_on(warp, lane, number)));
        }
        for (warp, lanes) in waiting.iter().enumerate() {
            for lane in each(*lanes) {
                join(&mut self.warps[warp].lanes()[lane].known, &clock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(threads: &Threads, who: usize, record: AccessRecord) -> bool {
        threads.knows(who / 32, who % 32, &record)
    }

    fn record(threads: &Threads, who: usize) -> AccessRecord {
        {
            let since = threads.since(who / 32, 1 << (who % 32)).expect("one is like itself");
            AccessRecord::new(threads.block(), who as u32 / 32, 1 << (who % 32), since, 0, true)
        }
    }

    #[test]
    fn a_barrier_of_all_orders_all() {
        let mut threads = Threads::new(3, 48, 0);
        let before = record(&threads, 1);
        assert!(knows(&threads, 1, before) && !knows(&threads, 2, before) && !knows(&threads, 40, before));
        threads.pass(&[u32::MAX, 0xffff], true, &None, 1);
        assert!(knows(&threads, 40, before) && !knows(&threads, 40, record(&threads, 1)));
    }

    #[test]
    fn a_thread_that_has_ended_is_not_missed_at_a_barrier_for_all() {
        let mut threads = Threads::new(0, 64, 0);
        let before = record(&threads, 40);
        assert!(!threads.end(1, u32::MAX));
        threads.pass(&[u32::MAX, 0], false, &None, 1);
        assert!(!knows(&threads, 0, before));
        threads.pass(&[u32::MAX, 0], true, &None, 2);
        assert!(knows(&threads, 0, before));
    }

    #[test]
    fn a_barrier_of_some_orders_those() {
        let mut threads = Threads::new(0, 96, 0);
        let (first, second, third) = (record(&threads, 0), record(&threads, 33), record(&threads, 70));
        threads.pass(&[u32::MAX, u32::MAX, 0], false, &None, 1);
        assert!(knows(&threads, 40, first) && knows(&threads, 1, second));
        assert!(!knows(&threads, 70, first) && !knows(&threads, 0, third));
        assert!(!knows(&threads, 40, record(&threads, 0)));
    }

    #[test]
    fn lanes_that_meet_know_each_other_and_no_one_else() {
        let mut threads = Threads::new(0, 64, 0);
        let (low, high) = (record(&threads, 0), record(&threads, 20));
        threads.meet(0, 0xffff, 1);
        assert!(knows(&threads, 5, low) && !knows(&threads, 5, high) && !knows(&threads, 20, low));
        threads.meet(0, u32::MAX, 2);
        assert!(knows(&threads, 5, high) && knows(&threads, 20, low) && !knows(&threads, 40, low));
    }

    #[test]
    fn an_arrival_orders_accesses_before_it_and_not_those_behind() {
        let mut threads = Threads::new(0, 64, 0);
        let before = record(&threads, 0);
        let passed = threads.arrive(0, u32::MAX, 1);
        let behind = record(&threads, 0);
        threads.pass(&[0, u32::MAX], false, &passed, 2);
        assert!(knows(&threads, 32, before) && !knows(&threads, 32, behind));
    }

    #[test]
    fn a_fence_orders_accesses_before_a_later_write() {
        let mut threads = Threads::new(0, 64, 0);
        let before = record(&threads, 0);
        assert_eq!(threads.fenced(0, 0, true), [None, None]);
        threads.fence(0, 1, false, 1);
        let behind = record(&threads, 0);
        let [wide, narrow] = threads.fenced(0, 0, true);
        assert_eq!(wide, None);
        threads.learn(1, 0, &narrow, false);
        assert!(!knows(&threads, 32, before));
        threads.fence(1, 1, false, 2);
        assert!(knows(&threads, 32, before) && !knows(&threads, 32, behind));
    }
}
