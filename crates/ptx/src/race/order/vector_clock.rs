//! Vector clocks, with entries for the whole grid, for blocks, warps and single threads.

use std::sync::Arc;

use crate::race::access_record::AccessRecord;

/// Numbers by unit; of a thread, the highest of all units it is in counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorClock {
    /// Of all threads.
    all: u32,
    /// By unit, in order; units of one block lie side by side.
    units: Vec<(Unit, u32)>,
}

/// A thread, a warp or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unit(u64);

const WARP: u64 = 0x8000;
const BLOCK: u64 = 0xffff;

impl Unit {
    pub(crate) fn thread(block: u32, thread: u32) -> Self {
        Self(u64::from(block) << 16 | u64::from(thread))
    }

    pub(crate) fn warp(block: u32, warp: u32) -> Self {
        Self(u64::from(block) << 16 | WARP | u64::from(warp))
    }

    pub(crate) fn block(block: u32) -> Self {
        Self(u64::from(block) << 16 | BLOCK)
    }

    fn in_block(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

/// Units of one block that are told apart; beyond, the block is one.
const MOST_OF_BLOCK: usize = 64;
/// Units that are told apart.
const MOST: usize = 2048;

impl VectorClock {
    fn of(&self, unit: Unit) -> u32 {
        self.units.binary_search_by_key(&unit, |(unit, _)| *unit).map_or(0, |at| self.units[at].1)
    }

    /// `true` if a recorded access happened before.
    pub(crate) fn covers(&self, record: &AccessRecord) -> bool {
        let thread = record.thread();
        self.all > record.since
            || self.of(Unit::block(record.block)) > record.since
            || self.of(Unit::thread(record.block, thread)) > record.since
            || self.of(Unit::warp(record.block, thread / 32)) > record.since
    }

    /// `true` if the clock has an entry for a block.
    pub(crate) fn hears_of(&self, block: u32) -> bool {
        let at = self.units.partition_point(|(unit, _)| unit.in_block() < block);
        self.all > 0 || self.units.get(at).is_some_and(|(unit, _)| unit.in_block() == block)
    }

    /// Knows a unit up to a number, at least.
    pub(crate) fn raise(&mut self, unit: Unit, number: u32) {
        if number <= self.all {
            return;
        }
        match self.units.binary_search_by_key(&unit, |(unit, _)| *unit) {
            Ok(at) => self.units[at].1 = self.units[at].1.max(number),
            Err(at) => self.units.insert(at, (unit, number)),
        }
    }

    /// Joins another clock: the maximum of each entry.
    pub(crate) fn join(&mut self, other: &VectorClock) {
        self.all = self.all.max(other.all);
        let mut joined = Vec::with_capacity(self.units.len() + other.units.len());
        let (mut mine, mut theirs) = (self.units.iter().peekable(), other.units.iter().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => (a.0, a.1.max(b.1)),
                (Some(a), Some(b)) => **a.min(b),
                (Some(one), None) | (None, Some(one)) => **one,
                (None, None) => break,
            };
            mine.next_if(|(unit, _)| *unit == next.0);
            theirs.next_if(|(unit, _)| *unit == next.0);
            if next.1 > self.all {
                joined.push(next);
            }
        }
        self.units = joined;
        self.round();
    }

    /// Keeps it small, by knowing more than there is to know.
    fn round(&mut self) {
        if self.units.len() <= MOST_OF_BLOCK {
            return;
        }
        let mut rounded = Vec::with_capacity(self.units.len());
        for units in self.units.chunk_by(|(a, _), (b, _)| a.in_block() == b.in_block()) {
            if units.len() <= MOST_OF_BLOCK {
                rounded.extend_from_slice(units);
            } else {
                let highest = units.iter().map(|(_, number)| *number).max().unwrap_or(0);
                rounded.push((Unit::block(units[0].0.in_block()), highest));
            }
        }
        if rounded.len() > MOST {
            self.all = rounded.iter().map(|(_, number)| *number).max().unwrap_or(0).max(self.all);
            rounded.clear();
        }
        self.units = rounded;
    }
}

/// Joins another clock; nothing is copied where one of them is enough.
pub(crate) fn join(into: &mut Option<Arc<VectorClock>>, other: &Option<Arc<VectorClock>>) {
    match (into, other) {
        (_, None) => {}
        (Some(mine), Some(other)) if Arc::ptr_eq(mine, other) => {}
        (Some(mine), Some(other)) => Arc::make_mut(mine).join(other),
        (empty @ None, Some(other)) => *empty = Some(Arc::clone(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(block: u32, thread: u32, since: u32) -> AccessRecord {
        AccessRecord::new(block, thread / 32, 1 << (thread % 32), since, 0, false)
    }

    #[test]
    fn a_thread_is_known_by_any_unit_it_is_in() {
        let mut clock = VectorClock::default();
        clock.raise(Unit::warp(2, 1), 7);
        clock.raise(Unit::thread(2, 3), 9);
        assert!(clock.covers(&record(2, 40, 6)) && !clock.covers(&record(2, 40, 7)));
        assert!(clock.covers(&record(2, 3, 8)) && !clock.covers(&record(2, 4, 0)));
        clock.raise(Unit::block(2), 11);
        assert!(clock.covers(&record(2, 4, 10)) && !clock.covers(&record(1, 4, 0)));
    }

    #[test]
    fn a_joined_clock_covers_both() {
        let (mut one, mut other) = (VectorClock::default(), VectorClock::default());
        one.raise(Unit::block(1), 5);
        one.raise(Unit::block(3), 5);
        other.raise(Unit::block(3), 8);
        other.raise(Unit::block(4), 2);
        one.join(&other);
        assert!(one.covers(&record(1, 0, 4)) && one.covers(&record(3, 0, 7)) && one.covers(&record(4, 0, 1)));
    }

    #[test]
    fn a_clock_that_grows_is_rounded_up_and_never_down() {
        let mut clock = VectorClock::default();
        for thread in 0..100 {
            let mut other = VectorClock::default();
            other.raise(Unit::thread(5, thread), 10 + thread);
            clock.join(&other);
        }
        assert!(clock.units.len() <= MOST_OF_BLOCK);
        assert!((0..100).all(|thread| clock.covers(&record(5, thread, 9 + thread))));
        for block in 0..2 * MOST as u32 {
            let mut other = VectorClock::default();
            other.raise(Unit::block(block), 200 + block);
            clock.join(&other);
        }
        assert!(clock.units.len() <= MOST);
        assert!((0..2 * MOST as u32).all(|block| clock.covers(&record(block, 0, 199 + block))));
    }
}
