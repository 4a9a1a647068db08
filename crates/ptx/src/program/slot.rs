//! Slots: operands as indexes of registers and constants.
//!
//! A function's registers lie in three files by width: words (8, 16 and 32 bits), longs (64 bits),
//! predicates. A number in the text is a row of a table that all warps share, so an operand is a place to
//! read either way.

/// A register, or a constant, of the file that the instruction implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(u32);

/// Set in the slot of a constant.
const CONSTANT: u32 = 1 << 31;

impl Slot {
    /// The first register of every file takes unused results, and is never read.
    pub(crate) const SINK: Slot = Slot(0);
    /// The predicate behind the sink holds the carry of `.cc`.
    pub(crate) const CARRY: Slot = Slot(1);

    pub(crate) const fn register(index: u32) -> Slot {
        Slot(index & !CONSTANT)
    }

    pub(crate) const fn constant(index: u32) -> Slot {
        Slot(index | CONSTANT)
    }

    /// The register behind this one.
    pub(crate) const fn next(self) -> Slot {
        Slot(self.0 + 1)
    }

    #[inline(always)]
    pub(crate) fn is_constant(self) -> bool {
        self.0 & CONSTANT != 0
    }

    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        (self.0 & !CONSTANT) as usize
    }

    /// A plain number that an instruction carries where a slot could be: an offset, an index, a count.
    pub(crate) const fn raw(value: u32) -> Slot {
        Slot(value)
    }

    #[inline(always)]
    pub(crate) fn value(self) -> u32 {
        self.0
    }
}

/// The guard of an instruction: the lanes that run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard(u32);

impl Guard {
    /// All that are running.
    pub(crate) const NONE: Guard = Guard(u32::MAX);

    pub(crate) fn new(predicate: Slot, negated: bool) -> Guard {
        Guard(predicate.0 << 1 | u32::from(negated))
    }

    /// The predicate that it asks.
    pub(crate) fn predicate(self) -> Option<Slot> {
        (self != Guard::NONE).then_some(Slot(self.0 >> 1))
    }

    /// The lanes of `mask` that the guard lets through.
    #[inline(always)]
    pub(crate) fn filter(self, mask: u32, predicates: &[u32]) -> u32 {
        if self == Guard::NONE {
            return mask;
        }
        let value = predicates[(self.0 >> 1) as usize];
        mask & if self.0 & 1 == 0 { value } else { !value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_pass_the_lanes_they_name() {
        let predicates = [0, 0, 0b1100];
        assert_eq!(Guard::NONE.filter(0b1010, &predicates), 0b1010);
        assert_eq!(Guard::new(Slot::register(2), false).filter(0b1010, &predicates), 0b1000);
        assert_eq!(Guard::new(Slot::register(2), true).filter(0b1010, &predicates), 0b0010);
    }

    #[test]
    fn constants_and_registers_of_one_number_differ() {
        assert!(Slot::constant(5).is_constant() && !Slot::register(5).is_constant());
        assert_eq!(Slot::constant(5).index(), Slot::register(5).index());
    }
}
