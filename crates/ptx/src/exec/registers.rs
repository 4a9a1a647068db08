//! The registers of a function for all lanes of a warp, and loops over their rows.
//!
//! A register is a row of 32 values, one for each lane. An operation reads whole rows, computes all lanes,
//! and writes those that run: no lane's arithmetic can trap, so the others cost nothing but their time.
//!
//! Loops over lanes are written as such where they are hot: a closure for `map` or `from_fn` is compiled
//! for any processor, and would be called from code that is for a better one.

use crate::lanes::{ALL, LANES, Longs, Row, Words};
use crate::program::constants::Constants;
use crate::program::function::{Cleared, Counts};
use crate::program::slot::Slot;

/// The three files of registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers {
    pub(crate) words: Vec<Row<u32>>,
    pub(crate) longs: Vec<Row<u64>>,
    /// A bit for each lane.
    pub(crate) predicates: Vec<u32>,
    /// The lanes that were last written apart from others, and the same as a row: all ones where a lane is
    /// one of them. As data and not as a comparison, or compilers write such rows with instructions that some
    /// processors are slow at.
    chosen: (u32, Row<u32>),
}

impl Registers {
    /// Makes room for a function. Registers that may be read before they are written start as zeros, so that
    /// a run can be repeated; the others keep their old values.
    pub(crate) fn reset(&mut self, counts: Counts, cleared: &Cleared) {
        self.words.resize(counts.words as usize, Row::default());
        self.longs.resize(counts.longs as usize, Row::default());
        self.predicates.clear();
        self.predicates.resize(counts.predicates as usize, 0);
        for register in &cleared.words {
            self.words[*register as usize] = Row::default();
        }
        for register in &cleared.longs {
            self.longs[*register as usize] = Row::default();
        }
    }

    /// A mask as a row.
    #[inline(always)]
    fn chosen(&mut self, mask: u32) -> Words {
        let (known, row) = &mut self.chosen;
        if *known != mask {
            *known = mask;
            for (lane, chosen) in row.0.iter_mut().enumerate() {
                *chosen = (mask >> lane & 1).wrapping_neg();
            }
        }
        row.0
    }
}

/// The registers of the running function, and the constants beside them.
#[derive(Debug)]
pub(crate) struct File<'r> {
    pub(crate) registers: &'r mut Registers,
    pub(crate) constants: &'r Constants,
}

impl File<'_> {
    #[inline(always)]
    pub(crate) fn words(&self, slot: Slot) -> &Words {
        let rows = if slot.is_constant() { &self.constants.words } else { &self.registers.words };
        &rows[slot.index()].0
    }

    #[inline(always)]
    pub(crate) fn longs(&self, slot: Slot) -> &Longs {
        let rows = if slot.is_constant() { &self.constants.longs } else { &self.registers.longs };
        &rows[slot.index()].0
    }

    #[inline(always)]
    pub(crate) fn predicate(&self, slot: Slot) -> u32 {
        self.registers.predicates[slot.index()]
    }

    #[inline(always)]
    pub(crate) fn set_words(&mut self, slot: Slot, mask: u32, row: &Words) {
        if mask == ALL {
            self.registers.words[slot.index()].0 = *row;
            return;
        }
        let chosen = self.registers.chosen(mask);
        let target = &mut self.registers.words[slot.index()].0;
        let mut new = *target;
        for lane in 0..LANES {
            new[lane] = (new[lane] & !chosen[lane]) | (row[lane] & chosen[lane]);
        }
        *target = new;
    }

    #[inline(always)]
    pub(crate) fn set_longs(&mut self, slot: Slot, mask: u32, row: &Longs) {
        if mask == ALL {
            self.registers.longs[slot.index()].0 = *row;
            return;
        }
        let chosen = self.registers.chosen(mask);
        let target = &mut self.registers.longs[slot.index()].0;
        let mut new = *target;
        for lane in 0..LANES {
            let chosen = i64::from(chosen[lane].cast_signed()).cast_unsigned();
            new[lane] = (new[lane] & !chosen) | (row[lane] & chosen);
        }
        *target = new;
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, slot: Slot, mask: u32, value: u32) {
        let target = &mut self.registers.predicates[slot.index()];
        *target = (*target & !mask) | (value & mask);
    }

    /// Addresses of a register of either width.
    #[inline(always)]
    pub(crate) fn addresses(&self, slot: Slot, wide: bool, offset: u32) -> Longs {
        let mut addresses = [0; LANES];
        if wide {
            let offset = i64::from(offset.cast_signed()).cast_unsigned();
            let from = self.longs(slot);
            for lane in 0..LANES {
                addresses[lane] = from[lane].wrapping_add(offset);
            }
        } else {
            let from = self.words(slot);
            for lane in 0..LANES {
                addresses[lane] = from[lane].wrapping_add(offset).into();
            }
        }
        addresses
    }
}

/// A type that a register of one of the files can be read as.
pub(crate) trait Lane: Copy {
    type Bits: Copy + Default;

    fn row<'f>(file: &'f File<'_>, slot: Slot) -> &'f [Self::Bits; LANES];
    fn from_bits(bits: Self::Bits) -> Self;

    /// A lane's bit in the place where it belongs, as wide as the lane: rows of answers are then as wide as
    /// rows of values.
    fn answer(lane: usize, holds: bool) -> Self::Bits;
    /// All answers in one.
    fn gather(answers: &[Self::Bits; LANES]) -> u32;
}

/// A type that a register can be written as: bits. Floating-point types are none, because the compiler may
/// take one NaN for another wherever a result is a float. Their arithmetic ends in bits.
pub(crate) trait Written: Lane {
    fn set_row(file: &mut File<'_>, slot: Slot, mask: u32, row: &[Self::Bits; LANES]);
    fn into_bits(self) -> Self::Bits;
}

macro_rules! lane {
    ($($type:ty, $bits:ty, $row:ident, |$from:ident| $read:expr;)*) => {$(
        impl Lane for $type {
            type Bits = $bits;

            #[inline(always)]
            fn row<'f>(file: &'f File<'_>, slot: Slot) -> &'f [$bits; LANES] {
                file.$row(slot)
            }

            #[inline(always)]
            fn from_bits($from: $bits) -> $type {
                $read
            }

            #[inline(always)]
            fn answer(lane: usize, holds: bool) -> $bits {
                if holds { 1 << lane } else { 0 }
            }

            #[inline(always)]
            fn gather(answers: &[$bits; LANES]) -> u32 {
                answers.iter().fold(0, |all, answer| all | answer) as u32
            }
        }
    )*};
}

lane! {
    u16, u32, words, |bits| bits as u16;
    i16, u32, words, |bits| bits as i16;
    u32, u32, words, |bits| bits;
    i32, u32, words, |bits| bits.cast_signed();
    f32, u32, words, |bits| f32::from_bits(bits);
    u64, u64, longs, |bits| bits;
    i64, u64, longs, |bits| bits.cast_signed();
    f64, u64, longs, |bits| f64::from_bits(bits);
}

macro_rules! written {
    ($($type:ty, $bits:ty, $set:ident, |$into:ident| $write:expr;)*) => {$(
        impl Written for $type {
            #[inline(always)]
            fn set_row(file: &mut File<'_>, slot: Slot, mask: u32, row: &[$bits; LANES]) {
                file.$set(slot, mask, row);
            }

            #[inline(always)]
            fn into_bits(self) -> $bits {
                let $into = self;
                $write
            }
        }
    )*};
}

written! {
    u16, u32, set_words, |value| value.into();
    i16, u32, set_words, |value| value.cast_unsigned().into();
    u32, u32, set_words, |value| value;
    i32, u32, set_words, |value| value.cast_unsigned();
    u64, u64, set_longs, |value| value;
    i64, u64, set_longs, |value| value.cast_unsigned();
}

#[inline(always)]
pub(crate) fn map1<D: Written, A: Lane>(file: &mut File<'_>, mask: u32, [d, a]: [Slot; 2], function: impl Fn(A) -> D) {
    let mut row = [D::Bits::default(); LANES];
    let from = A::row(file, a);
    for lane in 0..LANES {
        row[lane] = function(A::from_bits(from[lane])).into_bits();
    }
    D::set_row(file, d, mask, &row);
}

#[inline(always)]
pub(crate) fn map2<D: Written, A: Lane, B: Lane>(
    file: &mut File<'_>,
    mask: u32,
    [d, a, b]: [Slot; 3],
    function: impl Fn(A, B) -> D,
) {
    let mut row = [D::Bits::default(); LANES];
    let (first, second) = (A::row(file, a), B::row(file, b));
    for lane in 0..LANES {
        row[lane] = function(A::from_bits(first[lane]), B::from_bits(second[lane])).into_bits();
    }
    D::set_row(file, d, mask, &row);
}

#[inline(always)]
pub(crate) fn map3<D: Written, A: Lane, B: Lane, C: Lane>(
    file: &mut File<'_>,
    mask: u32,
    [d, a, b, c]: [Slot; 4],
    function: impl Fn(A, B, C) -> D,
) {
    let mut row = [D::Bits::default(); LANES];
    let (first, second, third) = (A::row(file, a), B::row(file, b), C::row(file, c));
    for lane in 0..LANES {
        let (x, y, z) = (A::from_bits(first[lane]), B::from_bits(second[lane]), C::from_bits(third[lane]));
        row[lane] = function(x, y, z).into_bits();
    }
    D::set_row(file, d, mask, &row);
}

/// A bit for each lane.
#[inline(always)]
pub(crate) fn ask1<A: Lane>(file: &File<'_>, a: Slot, question: impl Fn(A) -> bool) -> u32 {
    let from = A::row(file, a);
    let mut answers = [A::Bits::default(); LANES];
    for lane in 0..LANES {
        answers[lane] = A::answer(lane, question(A::from_bits(from[lane])));
    }
    A::gather(&answers)
}

/// A bit for each lane.
#[inline(always)]
pub(crate) fn ask2<A: Lane>(file: &File<'_>, [a, b]: [Slot; 2], question: impl Fn(A, A) -> bool) -> u32 {
    let (first, second) = (A::row(file, a), A::row(file, b));
    let mut answers = [A::Bits::default(); LANES];
    for lane in 0..LANES {
        answers[lane] = A::answer(lane, question(A::from_bits(first[lane]), A::from_bits(second[lane])));
    }
    A::gather(&answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lanes_of_the_mask_are_written() {
        let mut registers = Registers::default();
        registers.reset(Counts { words: 3, longs: 2, predicates: 2 }, &Cleared::default());
        let constants = Constants { words: vec![Row::of(7)], longs: vec![Row::of(9)], ranges: Vec::new() };
        let mut file = File { registers: &mut registers, constants: &constants };
        map1(&mut file, 0b101, [Slot::register(1), Slot::constant(0)], |value: u32| value + 1);
        assert_eq!(file.words(Slot::register(1))[..4], [8, 0, 8, 0]);
        map1(&mut file, 0b10, [Slot::register(1), Slot::constant(0)], |value: u64| value as i32);
        assert_eq!(file.words(Slot::register(1))[..4], [8, 9, 8, 0]);
        file.set_predicate(Slot::CARRY, 0b11, 0b110);
        assert_eq!(file.predicate(Slot::CARRY), 0b10);
    }

    #[test]
    fn answers_become_bits_in_the_order_of_lanes() {
        let mut registers = Registers::default();
        registers.reset(Counts { words: 2, ..Counts::default() }, &Cleared::default());
        registers.words[1].0 = std::array::from_fn(|lane| (lane as u32) * 7 % 5);
        let expected = (0..32).filter(|lane| lane * 7 % 5 < 2).fold(0, |mask, lane| mask | 1 << lane);
        let file = File { registers: &mut registers, constants: &Constants::default() };
        assert_eq!(ask1(&file, Slot::register(1), |value: u32| value < 2), expected);
    }
}
