//! Lanes of a warp that access memory by one instruction, with the accesses they are ordered after.

use super::access_record::{AccessRecord, Shares};
use super::hazard::Deed;
use super::order::threads::Threads;
use super::order::vector_clock::VectorClock;
use crate::lanes::lanes as each;

/// Lanes with the same time of their last release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accessor<'t> {
    pub(crate) threads: &'t Threads,
    /// Of all of them.
    pub(crate) record: AccessRecord,
    pub(crate) deed: Deed,
    /// Up to here all of the block is known, and up to there all of the warp.
    pub(crate) known: [u32; 2],
    /// `true` if that is all that is known.
    pub(crate) is_all: bool,
    /// Of a bulk copy, the writes of its block that it can read.
    copy: Option<Published<'t>>,
}

/// The accesses that a proxy fence has published.
type Published<'t> = Option<&'t VectorClock>;

impl<'t> Accessor<'t> {
    /// Lanes of a warp; none if the time of their last release differs.
    pub(super) fn new(threads: &'t Threads, warp: usize, lanes: u32, pc: u32, deed: Deed) -> Option<Accessor<'t>> {
        let record =
            AccessRecord::new(threads.block(), warp as u32, lanes, threads.since(warp, lanes)?, pc, deed.writes());
        let (known, is_all) = (threads.known(warp), threads.is_all_known(warp));
        Some(Accessor { threads, record, deed, known, is_all, copy: None })
    }

    /// A bulk copy that a lane starts: it knows what the lane knows, and no earlier copy without a wait.
    pub(super) fn of_copy(
        threads: &'t Threads,
        record: AccessRecord,
        deed: Deed,
        published: Option<&'t VectorClock>,
    ) -> Accessor<'t> {
        Accessor { threads, record, deed, known: [0; 2], is_all: false, copy: Some(published) }
    }

    /// `true` if the shared clocks of block and warp show that a recorded access happened before.
    #[inline(always)]
    fn sees(&self, earlier: &AccessRecord) -> bool {
        let [block, warp] = self.known;
        earlier.block == self.record.block
            && (earlier.since < block || earlier.warp() == self.record.warp() && earlier.since < warp)
    }

    /// `true` if a recorded access to a whole row happened before, for lanes that divide the row in the same
    /// way; if not, its words need a look of their own.
    #[inline(always)]
    pub(crate) fn knows_row(&self, earlier: &AccessRecord, shares: Shares) -> bool {
        self.sees(earlier) || earlier.is_by_warp_of(&self.record) && earlier.lanes == shares.pack()
    }

    /// `true` if a recorded access happened before that of some of the lanes.
    #[inline(always)]
    pub(crate) fn knows(&self, earlier: &AccessRecord, lanes: u32) -> bool {
        self.sees(earlier)
            || earlier.is_by_warp_of(&self.record)
                && earlier.lanes == lanes
                && lanes.is_power_of_two()
                && self.copy.is_none()
            || !self.is_all && self.knows_each(earlier, lanes)
    }

    #[cold]
    fn knows_each(&self, earlier: &AccessRecord, lanes: u32) -> bool {
        each(lanes).all(|lane| self.unknown_to(earlier, lane).is_none())
    }

    /// The first lane of a recorded access that did not happen before that of a lane.
    fn unknown_to(&self, earlier: &AccessRecord, lane: usize) -> Option<AccessRecord> {
        let mut single = each(earlier.lanes).map(|earlier_lane| earlier.by(1 << earlier_lane));
        single.find(|single| {
            !self.threads.knows(self.record.warp() as usize, lane, single)
                || self.copy.is_some() && !self.reaches(single)
        })
    }

    /// `true` if a copy sees an access that happened before: one that it does not read, one of another copy
    /// or of another block, or one that has been published.
    fn reaches(&self, earlier: &AccessRecord) -> bool {
        let is_own = earlier.block == self.threads.block();
        let is_published = || self.copy.flatten().is_some_and(|published| published.covers(earlier));
        self.deed != Deed::Read || !earlier.writes() || !is_own || is_published()
    }

    /// Calls `found` for each lane that a recorded access did not happen before, with one lane of that
    /// access.
    #[cold]
    pub(crate) fn unknown(&self, earlier: &AccessRecord, lanes: u32, mut found: impl FnMut(usize, AccessRecord)) {
        for lane in each(lanes) {
            if let Some(single) = self.unknown_to(earlier, lane) {
                found(lane, single);
            }
        }
    }
}
