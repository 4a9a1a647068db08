//! Asynchronous copies in flight: from `cp.async` until the thread that started them has waited.
//!
//! The interpreter copies at once. Here a copy is in flight until its thread waits; the destination counts as
//! written by the thread at that moment, so that others need a barrier behind the wait. A copy that arrives
//! at an `mbarrier` is over with the arrival, and ordered before threads that see the phase end. A thread
//! that starts a copy which is in flight already, of the same bytes from the same source, starts nothing new:
//! libraries let spare threads do that.

use std::ops::Range;

use super::access_record::AccessRecord;
use super::byte_set::ByteSet;
use super::hazard::MemorySpace;
use crate::lanes::lanes as each;

/// Sources that are searched: the lanes of a warp report their sources one after the other, and then the
/// destinations.
const LATEST: usize = 64;

/// The copies that threads of a block have started and not waited for.
#[derive(Debug)]
pub(crate) struct AsyncCopies {
    /// By warp.
    warps: Vec<OfWarp>,
    /// The bytes of shared memory that are copied to.
    into: ByteSet,
    /// A range that contains all bytes that are copied from.
    from: Option<Range<u64>>,
    count: usize,
}

#[derive(Clone, Debug, Default)]
struct OfWarp {
    flights: Vec<AsyncCopy>,
    /// Groups that each lane has made.
    groups: [u32; 32],
}

/// One side of a copy that is under way.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    /// The destination is shared memory, the source is global.
    pub(crate) space: MemorySpace,
    pub(crate) bytes: Range<u64>,
    /// One lane.
    pub(crate) by: AccessRecord,
    /// Of a destination, where its bytes come from.
    from: Option<Range<u64>>,
    /// The group of its thread that it is of, unless that is not made yet.
    group: Option<u32>,
}

impl AsyncCopies {
    pub(crate) fn new(warps: usize, shared_bytes: u32) -> Self {
        let warps = vec![OfWarp::default(); warps];
        Self { warps, into: ByteSet::new(shared_bytes), from: None, count: 0 }
    }

    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0
    }

    /// A lane asks for a copy; each of its two sides is told by itself.
    pub(crate) fn start(&mut self, space: MemorySpace, bytes: Range<u64>, by: AccessRecord) {
        match space {
            MemorySpace::Shared | MemorySpace::Cluster { .. } => self.into.add(bytes.clone()),
            MemorySpace::Global => {
                let from = self.from.get_or_insert_with(|| bytes.clone());
                *from = from.start.min(bytes.start)..from.end.max(bytes.end);
            }
        }
        let from = if space == MemorySpace::Global { None } else { self.source(by) };
        self.count += 1;
        self.warps[by.warp() as usize].flights.push(AsyncCopy { space, bytes, by, from, group: None });
    }

    /// The source range of a lane's latest copy.
    fn source(&self, by: AccessRecord) -> Option<Range<u64>> {
        let flights = self.warps[by.warp() as usize].flights.iter().rev();
        let is_it = |copy: &&AsyncCopy| {
            copy.space == MemorySpace::Global && copy.by.lanes == by.lanes && copy.by.pc() == by.pc()
        };
        flights.take(LATEST).find(is_it).map(|copy| copy.bytes.clone())
    }

    /// `true` if the copy that a lane starts is in flight already: the same bytes, from the same source.
    pub(crate) fn is_under_way(&self, bytes: &Range<u64>, by: AccessRecord) -> bool {
        let Some(from) = self.source(by) else { return false };
        let is_same = |copy: &AsyncCopy| {
            copy.space == MemorySpace::Shared && copy.bytes == *bytes && copy.from.as_ref() == Some(&from)
        };
        self.warps.iter().any(|warp| warp.flights.iter().any(is_same))
    }

    /// `cp.async.commit_group`: the copies of each lane since its last group are its next group.
    pub(crate) fn commit(&mut self, warp: usize, lanes: u32) {
        let OfWarp { flights, groups } = &mut self.warps[warp];
        for copy in flights.iter_mut().filter(|copy| copy.by.lanes & lanes != 0 && copy.group.is_none()) {
            copy.group = Some(groups[copy.by.lanes.trailing_zeros() as usize & 31]);
        }
        each(lanes).for_each(|lane| groups[lane] += 1);
    }

    /// Some lanes wait for their copies, except for the last `but` groups. Returns the destinations.
    pub(crate) fn wait(&mut self, warp: usize, lanes: u32, but: Option<u32>) -> Vec<AsyncCopy> {
        let OfWarp { flights, groups } = &mut self.warps[warp];
        let is_over = |copy: &mut AsyncCopy| {
            let made = groups[copy.by.lanes.trailing_zeros() as usize & 31];
            let is_old = but.is_none_or(|but| copy.group.is_some_and(|group| group + but < made));
            copy.by.lanes & lanes != 0 && is_old
        };
        let over: Vec<_> = flights.extract_if(.., is_over).collect();
        self.land(&over);
        over.into_iter().filter(|copy| copy.space == MemorySpace::Shared).collect()
    }

    /// `true` if a copy to some bytes, or from them, may be in flight.
    pub(crate) fn is_near(&self, space: MemorySpace, bytes: Range<u64>) -> bool {
        match space {
            MemorySpace::Shared | MemorySpace::Cluster { .. } => self.into.has(bytes),
            MemorySpace::Global => {
                self.from.as_ref().is_some_and(|from| from.start < bytes.end && bytes.start < from.end)
            }
        }
    }

    /// A copy in flight with bytes in the range, and those bytes; it counts as over from then on.
    pub(crate) fn meet(&mut self, space: MemorySpace, bytes: Range<u64>) -> Option<(AsyncCopy, Range<u64>)> {
        if !self.is_near(space, bytes.clone()) {
            return None;
        }
        let both = |copy: &AsyncCopy| copy.bytes.start.max(bytes.start)..copy.bytes.end.min(bytes.end);
        let meets = |copy: &AsyncCopy| copy.space == space && !both(copy).is_empty();
        let found = self.warps.iter_mut().find_map(|warp| {
            let at = warp.flights.iter().position(meets)?;
            Some(warp.flights.swap_remove(at))
        })?;
        self.land(std::slice::from_ref(&found));
        let both = both(&found);
        Some((found, both))
    }

    fn land(&mut self, over: &[AsyncCopy]) {
        self.count -= over.len();
        for copy in over.iter().filter(|copy| copy.space == MemorySpace::Shared) {
            self.into.remove(copy.bytes.clone());
        }
        if self.count == 0 {
            self.from = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(lane: u32) -> AccessRecord {
        AccessRecord::new(0, 0, 1 << lane, 0, 7, true)
    }

    #[test]
    fn groups_are_waited_for_but_for_the_last() {
        let mut copies = AsyncCopies::new(1, 256);
        for group in 0..3 {
            copies.start(MemorySpace::Shared, group * 16..group * 16 + 16, lane(0));
            copies.commit(0, 1);
        }
        let starts = |flights: Vec<AsyncCopy>| flights.into_iter().map(|copy| copy.bytes.start).collect::<Vec<_>>();
        assert_eq!(starts(copies.wait(0, 1, Some(2))), [0]);
        assert!(copies.meet(MemorySpace::Shared, 0..16).is_none());
        assert_eq!(copies.meet(MemorySpace::Shared, 12..20).map(|(_, both)| both), Some(16..20));
        assert_eq!(starts(copies.wait(0, 1, Some(0))), [32]);
        assert_eq!(copies.count, 0);
    }

    #[test]
    fn a_group_that_is_not_made_is_waited_for_with_all() {
        let mut copies = AsyncCopies::new(1, 256);
        copies.start(MemorySpace::Shared, 0..16, lane(0));
        copies.start(MemorySpace::Shared, 16..32, lane(1));
        assert!(copies.wait(0, 3, Some(0)).is_empty());
        assert_eq!(copies.wait(0, 1, None).len(), 1);
        assert!(copies.meet(MemorySpace::Shared, 0..16).is_none());
        assert!(copies.meet(MemorySpace::Shared, 16..17).is_some());
    }

    #[test]
    fn sources_are_not_shared_memory() {
        let mut copies = AsyncCopies::new(1, 256);
        copies.start(MemorySpace::Global, 4096..4112, lane(0));
        assert!(copies.meet(MemorySpace::Global, 4112..4116).is_none());
        assert!(copies.meet(MemorySpace::Shared, 0..64).is_none());
        assert!(copies.meet(MemorySpace::Global, 4100..4104).is_some());
        assert!(copies.meet(MemorySpace::Global, 4100..4104).is_none());
    }
}
