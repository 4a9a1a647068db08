//! What the threads of a block know to be over.
//!
//! | kept for | what | set when |
//! |---|---|---|
//! | a block | a number up to which all of it is known to all of it; what is known of others | all have come to a barrier |
//! | a warp | the same within the warp | all its lanes have met |
//! | a lane | what is known beyond that, what a fence would pass on or take in | anything else happens |
//!
//! Most kernels need the first two rows only; lanes are made when one of them does something else.

use std::sync::Arc;

use super::clock::{Clock, Unit, join};
use super::hazard::Deed;
use super::meeting::Passed;
use super::stamp::Stamp;
use super::visitor::{Visitor, each};

/// The threads of a block.
#[derive(Debug)]
pub(super) struct Threads {
    block: u32,
    count: u32,
    /// Up to here all threads know all threads.
    since: u32,
    /// What all know of other blocks.
    known: Option<Arc<Clock>>,
    warps: Vec<Warp>,
}

#[derive(Debug, Default)]
struct Warp {
    ended: u32,
    /// Up to here all lanes know all lanes.
    since: u32,
    /// When any of its lanes last passed on what it did, alone.
    newest: u32,
    lanes: Option<Box<[Lane; 32]>>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// When it last passed on what it did, alone.
    since: u32,
    /// What it knows beyond what its block and its warp know.
    known: Option<Arc<Clock>>,
    /// Up to where it knows the lanes of its warp.
    mates: [u32; 32],
    /// What it has read and not taken in yet.
    pending: Option<Arc<Clock>>,
    /// What it knew at its last fence: for everyone, for the block.
    fenced: Passed,
}

impl Warp {
    fn lanes(&mut self) -> &mut [Lane; 32] {
        self.lanes.get_or_insert_with(|| Box::new(std::array::from_fn(|_| Lane::default())))
    }
}

impl Threads {
    pub(super) fn new(block: u32, count: u32, now: u32) -> Self {
        let warps = (0..count.div_ceil(32)).map(|_| Warp::default()).collect();
        Self { block, count, since: now, known: None, warps }
    }

    /// All lanes that a warp started with.
    fn full(&self, warp: usize) -> u32 {
        u32::MAX >> (32 - (self.count - warp as u32 * 32).min(32))
    }

    pub(super) fn warps(&self) -> usize {
        self.warps.len()
    }

    /// Threads that have ended.
    pub(super) fn ended(&self) -> u32 {
        self.warps.iter().map(|warp| warp.ended.count_ones()).sum()
    }

    /// Ends threads; whether they were the last.
    pub(super) fn end(&mut self, warp: usize, lanes: u32) -> bool {
        self.warps[warp].ended |= lanes;
        self.ended() == self.count
    }

    /// Lanes of a warp that do something now, if all of them last passed on what they did at the same time.
    pub(super) fn visitor(&self, warp: usize, lanes: u32, pc: u32, deed: Deed) -> Option<Visitor<'_>> {
        let here = &self.warps[warp];
        let mut since = self.since.max(here.since);
        if let Some(all) = here.lanes.as_ref().filter(|_| here.newest > since) {
            let own = all[lanes.trailing_zeros() as usize & 31].since.max(since);
            if each(lanes).any(|lane| all[lane as usize].since.max(since) != own) {
                return None;
            }
            since = own;
        }
        let stamp = Stamp::new(self.block, warp as u32, lanes, since, pc, deed.writes());
        let is_all = here.lanes.is_none() && self.known.is_none();
        Some(Visitor { threads: self, stamp, deed, known: [self.since, here.since], is_all })
    }

    /// Whether a thread knows to be over what another did.
    pub(super) fn knows(&self, warp: usize, lane: usize, earlier: &Stamp) -> bool {
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

    /// Whether a thread knows anything of another block.
    pub(super) fn hears_of(&self, warp: usize, lane: usize, block: u32) -> bool {
        let own = self.warps[warp].lanes.as_ref().and_then(|lanes| lanes[lane].known.as_ref());
        own.into_iter().chain(&self.known).any(|clock| clock.hears_of(block))
    }

    /// Whether any thread knows to be over what one of another block did.
    pub(super) fn anyone_knows(&self, earlier: &Stamp) -> bool {
        let lanes = self.warps.iter().filter_map(|warp| warp.lanes.as_ref()).flat_map(|lanes| lanes.iter());
        self.known.iter().chain(lanes.filter_map(|lane| lane.known.as_ref())).any(|clock| clock.covers(earlier))
    }

    /// All that a thread knows, itself up to a number included, which it takes as its own.
    fn pass_on(&mut self, warp: usize, lane: usize, number: u32) -> Arc<Clock> {
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

    /// Takes in what was read.
    fn take_in(&mut self, warp: usize, lane: usize) {
        if let Some(lanes) = &mut self.warps[warp].lanes {
            let own = &mut lanes[lane];
            let pending = own.pending.take();
            join(&mut own.known, &pending);
        }
    }

    /// A fence of some lanes.
    pub(super) fn fence(&mut self, warp: usize, lanes: u32, wide: bool, number: u32) {
        for lane in each(lanes).map(|lane| lane as usize) {
            self.take_in(warp, lane);
            let clock = self.pass_on(warp, lane, number);
            let own = &mut self.warps[warp].lanes()[lane];
            if wide {
                own.fenced[0] = Some(Arc::clone(&clock));
            }
            own.fenced[1] = Some(clock);
        }
    }

    /// What a thread learns from a strong read, at once or at its next fence.
    pub(super) fn learn(&mut self, warp: usize, lane: usize, clock: &Option<Arc<Clock>>, acquires: bool) {
        if clock.is_none() {
            return;
        }
        let own = &mut self.warps[warp].lanes()[lane];
        join(if acquires { &mut own.known } else { &mut own.pending }, clock);
    }

    /// What a thread passes on with a strong write that releases nothing itself: what it knew at its last fence.
    pub(super) fn fenced(&self, warp: usize, lane: usize, wide: bool) -> Passed {
        let own = self.warps[warp].lanes.as_ref().map(|lanes| &lanes[lane].fenced);
        match own {
            Some([for_all, for_block]) => [for_all.clone().filter(|_| wide), for_block.clone()],
            None => [None, None],
        }
    }

    /// What a thread passes on with a strong write that releases.
    pub(super) fn release(&mut self, warp: usize, lane: usize, wide: bool, number: u32) -> Passed {
        let clock = Some(self.pass_on(warp, lane, number));
        [clock.clone().filter(|_| wide), clock]
    }

    /// Lanes of a warp have met.
    pub(super) fn meet(&mut self, warp: usize, lanes: u32, number: u32) {
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
        for lane in each(lanes).map(|lane| lane as usize) {
            let pending = all[lane].pending.take();
            join(&mut known, &pending);
            join(&mut known, &all[lane].known);
            for (mate, known) in mates.iter_mut().zip(all[lane].mates) {
                *mate = (*mate).max(known);
            }
            mates[lane] = number;
        }
        for lane in each(lanes) {
            let own = &mut all[lane as usize];
            (own.since, own.mates) = (number, mates);
            own.known.clone_from(&known);
        }
    }

    /// A thread comes to a barrier and does not wait: what it passes on.
    pub(super) fn arrive(&mut self, warp: usize, lanes: u32, number: u32) -> Option<Arc<Clock>> {
        let mut passed = None;
        for lane in each(lanes) {
            join(&mut passed, &Some(self.pass_on(warp, lane as usize, number)));
        }
        passed
    }

    /// Threads that have waited at a barrier go on, and know what those did who came. `waiting` has a mask for each warp; who has
    /// ended has come to a barrier that is for all.
    pub(super) fn pass(&mut self, waiting: &[u32], is_for_all: bool, passed: &Option<Arc<Clock>>, number: u32) {
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
                join(&mut self.warps[warp].lanes()[lane as usize].known, &clock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knows(threads: &Threads, who: usize, stamp: Stamp) -> bool {
        threads.knows(who / 32, who % 32, &stamp)
    }

    fn stamp(threads: &Threads, who: usize) -> Stamp {
        threads.visitor(who / 32, 1 << (who % 32), 0, Deed::Write).expect("one is like itself").stamp
    }

    #[test]
    fn a_barrier_of_all_orders_all() {
        let mut threads = Threads::new(3, 48, 0);
        let before = stamp(&threads, 1);
        assert!(knows(&threads, 1, before) && !knows(&threads, 2, before) && !knows(&threads, 40, before));
        threads.pass(&[u32::MAX, 0xffff], true, &None, 1);
        assert!(knows(&threads, 40, before) && !knows(&threads, 40, stamp(&threads, 1)));
    }

    #[test]
    fn who_has_ended_is_not_missed_at_a_barrier_for_all() {
        let mut threads = Threads::new(0, 64, 0);
        let before = stamp(&threads, 40);
        assert!(!threads.end(1, u32::MAX));
        threads.pass(&[u32::MAX, 0], false, &None, 1);
        assert!(!knows(&threads, 0, before));
        threads.pass(&[u32::MAX, 0], true, &None, 2);
        assert!(knows(&threads, 0, before));
    }

    #[test]
    fn a_barrier_of_some_orders_those() {
        let mut threads = Threads::new(0, 96, 0);
        let (first, second, third) = (stamp(&threads, 0), stamp(&threads, 33), stamp(&threads, 70));
        threads.pass(&[u32::MAX, u32::MAX, 0], false, &None, 1);
        assert!(knows(&threads, 40, first) && knows(&threads, 1, second));
        assert!(!knows(&threads, 70, first) && !knows(&threads, 0, third));
        assert!(!knows(&threads, 40, stamp(&threads, 0)));
    }

    #[test]
    fn lanes_that_meet_know_each_other_and_no_one_else() {
        let mut threads = Threads::new(0, 64, 0);
        let (low, high) = (stamp(&threads, 0), stamp(&threads, 20));
        threads.meet(0, 0xffff, 1);
        assert!(knows(&threads, 5, low) && !knows(&threads, 5, high) && !knows(&threads, 20, low));
        threads.meet(0, u32::MAX, 2);
        assert!(knows(&threads, 5, high) && knows(&threads, 20, low) && !knows(&threads, 40, low));
    }

    #[test]
    fn an_arrival_passes_on_what_came_before_it_and_not_what_comes_behind() {
        let mut threads = Threads::new(0, 64, 0);
        let before = stamp(&threads, 0);
        let passed = threads.arrive(0, u32::MAX, 1);
        let behind = stamp(&threads, 0);
        threads.pass(&[0, u32::MAX], false, &passed, 2);
        assert!(knows(&threads, 32, before) && !knows(&threads, 32, behind));
    }

    #[test]
    fn a_fence_passes_on_what_a_later_write_carries() {
        let mut threads = Threads::new(0, 64, 0);
        let before = stamp(&threads, 0);
        assert_eq!(threads.fenced(0, 0, true), [None, None]);
        threads.fence(0, 1, false, 1);
        let behind = stamp(&threads, 0);
        let [wide, narrow] = threads.fenced(0, 0, true);
        assert_eq!(wide, None);
        threads.learn(1, 0, &narrow, false);
        assert!(!knows(&threads, 32, before));
        threads.fence(1, 1, false, 2);
        assert!(knows(&threads, 32, before) && !knows(&threads, 32, behind));
    }
}
