//! Lanes of a warp that touch memory by one instruction, and what they know.

use super::hazard::Deed;
use super::stamp::{Shares, Stamp};
use super::threads::Threads;

/// Lanes that have passed on what they did at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor<'t> {
    pub(super) threads: &'t Threads,
    /// Of all of them.
    pub(super) stamp: Stamp,
    pub(super) deed: Deed,
    /// Up to here all of the block is known, and up to there all of the warp.
    pub(super) known: [u32; 2],
    /// Whether that is all that is known.
    pub(super) is_all: bool,
}

impl Visitor<'_> {
    /// Whether it can be seen at a glance that something is over for all of them, whichever lanes did it.
    #[inline(always)]
    fn sees(&self, earlier: &Stamp) -> bool {
        let [block, warp] = self.known;
        earlier.block == self.stamp.block
            && (earlier.since < block || earlier.warp() == self.stamp.warp() && earlier.since < warp)
    }

    /// Whether what was done to a row as a whole is over for those who share it so; or else it has to be looked at closely.
    #[inline(always)]
    pub(super) fn knows_row(&self, earlier: &Stamp, shares: Shares) -> bool {
        self.sees(earlier) || earlier.is_by_warp_of(&self.stamp) && earlier.lanes == shares.pack()
    }

    /// Whether something is over for some of the lanes.
    #[inline(always)]
    pub(super) fn knows(&self, earlier: &Stamp, lanes: u32) -> bool {
        self.sees(earlier)
            || earlier.is_by_warp_of(&self.stamp) && earlier.lanes == lanes && lanes.is_power_of_two()
            || !self.is_all && self.knows_each(earlier, lanes)
    }

    #[cold]
    fn knows_each(&self, earlier: &Stamp, lanes: u32) -> bool {
        each(lanes).all(|lane| self.unknown_to(earlier, lane).is_none())
    }

    /// The first of those who did something whom a lane does not know to be done.
    fn unknown_to(&self, earlier: &Stamp, lane: u32) -> Option<Stamp> {
        let mut single = each(earlier.lanes).map(|earlier_lane| earlier.by(1 << earlier_lane));
        single.find(|single| !self.threads.knows(self.stamp.warp() as usize, lane as usize, single))
    }

    /// Calls `found` for each lane that does not know something to be over, with one who did it.
    #[cold]
    pub(super) fn unknown(&self, earlier: &Stamp, lanes: u32, mut found: impl FnMut(u32, Stamp)) {
        for lane in each(lanes) {
            if let Some(single) = self.unknown_to(earlier, lane) {
                found(lane, single);
            }
        }
    }
}

/// The lanes of a mask, lowest first.
pub(super) fn each(lanes: u32) -> impl Iterator<Item = u32> {
    let mut rest = lanes;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros())?;
        rest &= rest - 1;
        Some(lane)
    })
}
