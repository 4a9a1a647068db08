//! Lanes of a warp that access memory by one instruction, with the accesses they are ordered after.

use super::access_record::{AccessRecord, Shares};
use super::hazard::Deed;
use super::order::threads::Threads;
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
}

impl<'t> Accessor<'t> {
    /// Lanes of a warp; none if the time of their last release differs.
    pub(super) fn new(threads: &'t Threads, warp: usize, lanes: u32, pc: u32, deed: Deed) -> Option<Accessor<'t>> {
        let record =
            AccessRecord::new(threads.block(), warp as u32, lanes, threads.since(warp, lanes)?, pc, deed.writes());
        Some(Accessor { threads, record, deed, known: threads.known(warp), is_all: threads.is_all_known(warp) })
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
            || earlier.is_by_warp_of(&self.record) && earlier.lanes == lanes && lanes.is_power_of_two()
            || !self.is_all && self.knows_each(earlier, lanes)
    }

    #[cold]
    fn knows_each(&self, earlier: &AccessRecord, lanes: u32) -> bool {
        each(lanes).all(|lane| self.unknown_to(earlier, lane).is_none())
    }

    /// The first lane of a recorded access that did not happen before that of a lane.
    fn unknown_to(&self, earlier: &AccessRecord, lane: usize) -> Option<AccessRecord> {
        let mut single = each(earlier.lanes).map(|earlier_lane| earlier.by(1 << earlier_lane));
        single.find(|single| !self.threads.knows(self.record.warp() as usize, lane, single))
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
