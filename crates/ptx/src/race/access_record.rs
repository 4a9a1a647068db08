//! One recorded access: block, warp, lanes, instruction and time.

/// An access by lanes of one warp, with its instruction and the time of the last release before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessRecord {
    /// Its number in the grid.
    pub(crate) block: u32,
    /// The time of the last release of the lanes.
    pub(crate) since: u32,
    /// A bit for each lane; of a whole row of memory, how it is shared out among them (see [`Shares`]).
    pub(crate) lanes: u32,
    /// The instruction, the warp, and a bit for writes.
    what: u32,
}

// One to four for each row of memory that a kernel touches as a whole, or for each of its words.
const _: () = assert!(size_of::<AccessRecord>() == 16, "a record is small");

/// The shift of the warp; below it is the bit for writes, above it the instruction.
const WARP: u32 = 1;
const INSTRUCTION: u32 = 6;
/// Instructions that are told apart; those behind count as the last.
const LAST: u32 = (1 << (32 - INSTRUCTION)) - 2;

impl AccessRecord {
    /// No access.
    pub(crate) const NONE: AccessRecord = AccessRecord { block: 0, since: 0, lanes: 0, what: u32::MAX };
    /// In place of a row: its words have stamps of their own.
    pub(crate) const APART: AccessRecord = AccessRecord { what: u32::MAX - 1, ..AccessRecord::NONE };

    pub(crate) fn new(block: u32, warp: u32, lanes: u32, since: u32, pc: u32, writes: bool) -> Self {
        let what = pc.min(LAST) << INSTRUCTION | warp << WARP | u32::from(writes);
        Self { block, since, lanes, what }
    }

    #[inline(always)]
    pub(crate) fn is_some(&self) -> bool {
        self.what != u32::MAX
    }

    #[inline(always)]
    pub(crate) fn is_apart(&self) -> bool {
        self.what == u32::MAX - 1
    }

    pub(crate) fn pc(&self) -> u32 {
        self.what >> INSTRUCTION
    }

    #[inline(always)]
    pub(crate) fn warp(&self) -> u32 {
        self.what >> WARP & 31
    }

    pub(crate) fn writes(&self) -> bool {
        self.what & 1 == 1
    }

    /// The number in the block of the first of them.
    pub(crate) fn thread(&self) -> u32 {
        self.warp() * 32 + self.lanes.trailing_zeros()
    }

    /// `true` if it is by the same warp.
    #[inline(always)]
    pub(crate) fn is_by_warp_of(&self, other: &AccessRecord) -> bool {
        self.block == other.block && self.warp() == other.warp()
    }

    /// `true` if it is by the same instruction of the same warp, which has passed on nothing in between.
    pub(crate) fn is_like(&self, other: &AccessRecord) -> bool {
        self.block == other.block && self.since == other.since && self.what == other.what
    }

    pub(crate) fn by(self, lanes: u32) -> AccessRecord {
        AccessRecord { lanes, ..self }
    }
}

/// A thread of a block at an instruction: its number there, and the instruction's.
pub(crate) type At = (u32, u32);

/// The division of a row of bytes among consecutive lanes: each has the same number of bytes, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    pub(crate) first: u32,
    /// The power.
    pub(crate) shift: u32,
}

impl Shares {
    pub(crate) fn pack(self) -> u32 {
        self.shift << 8 | self.first
    }

    pub(crate) fn unpack(bits: u32) -> Self {
        Self { first: bits & 0xff, shift: bits >> 8 }
    }

    /// The lanes that have some of these bytes.
    #[inline(always)]
    pub(crate) fn of(self, from: u32, to: u32) -> u32 {
        let (first, last) = (self.first + (from >> self.shift), self.first + ((to - 1) >> self.shift));
        (u32::MAX >> (31 - last)) & (u32::MAX << first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_thread_instruction_and_kind() {
        let record = AccessRecord::new(7, 31, 1 << 5, 9, 1000, true);
        assert_eq!((record.pc(), record.warp(), record.writes(), record.thread()), (1000, 31, true, 31 * 32 + 5));
        assert!(record.is_some() && !record.is_apart());
        let far = AccessRecord::new(0, 31, 1, 0, u32::MAX, true);
        assert!(far.is_some() && !far.is_apart());
    }

    #[test]
    fn bytes_of_a_row_belong_to_lanes() {
        let shares = Shares { first: 8, shift: 2 };
        assert_eq!(Shares::unpack(shares.pack()), shares);
        assert_eq!((shares.of(0, 4), shares.of(28, 32), shares.of(4, 12)), (1 << 8, 1 << 15, 0b11 << 9));
        assert_eq!(Shares { first: 0, shift: 0 }.of(28, 32), 0xf000_0000);
    }
}
