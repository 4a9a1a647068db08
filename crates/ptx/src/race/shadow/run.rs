//! The bytes that lanes of a warp access together, and the accesses that conflict with theirs.

use super::layer::ROW;
use crate::race::access_record::{AccessRecord, Shares};
use crate::race::hazard::Deed;

/// An earlier access that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The lane that comes later.
    pub(crate) lane: usize,
    /// One that came first.
    pub(crate) first: AccessRecord,
    pub(crate) deed: Deed,
    /// The byte at which both meet, and the one behind.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Bytes that lanes touch: each its share, side by side, or all the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) lanes: u32,
    /// Of a share, a power of two, if each lane has its own.
    shift: Option<u32>,
}

impl Run {
    /// The same bytes for all lanes.
    pub(crate) fn same(start: u64, bytes: u64, lanes: u32) -> Self {
        Self { start, end: start + bytes, lanes, shift: None }
    }

    /// So many bytes for each lane, side by side; there is none where lanes or bytes do not lie so.
    pub(crate) fn apart(start: u64, share: u64, lanes: u32) -> Option<Self> {
        let from_first = lanes >> (lanes.trailing_zeros() & 31);
        let follow = from_first & from_first.wrapping_add(1);
        let is_even = share.is_power_of_two() && share <= ROW.into() && start.is_multiple_of(share);
        let end = start + share * u64::from(lanes.count_ones());
        (follow == 0 && is_even).then_some(Self { start, end, lanes, shift: Some(share.trailing_zeros()) })
    }

    /// The lanes that touch some bytes, of which there are no more than a word has.
    #[inline(always)]
    pub(crate) fn lanes_at(&self, at: u64, bytes: u64) -> u32 {
        match self.shift {
            Some(shift) => {
                let shares = Shares { first: self.lanes.trailing_zeros(), shift };
                shares.of((at - self.start) as u32, (at + bytes - self.start) as u32)
            }
            None => self.lanes,
        }
    }

    /// The division of a row that starts at an address; each share begins and ends in it.
    #[inline(always)]
    pub(crate) fn shares(&self, at: u64) -> Option<Shares> {
        let shift = self.shift?;
        Some(Shares { first: self.lanes.trailing_zeros() + ((at - self.start) >> shift) as u32, shift })
    }
}
