//! Video instructions: arithmetic on bytes, halves and words of 32 bits, with saturation and a second
//! operation.
//!
//! Recent GPUs have no such unit; their assembler writes each instruction as several others, and the results
//! differ from the manual of PTX in many ways. An H200 was asked about all of them, and they are kept here.

/// The first operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    Add,
    Subtract,
    Distance,
    Minimum,
    Maximum,
    Average,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

const FIRST: [First; 14] = [
    First::Add,
    First::Subtract,
    First::Distance,
    First::Minimum,
    First::Maximum,
    First::Average,
    First::ShiftLeft,
    First::ShiftRight,
    First::Equal,
    First::NotEqual,
    First::Less,
    First::LessEqual,
    First::Greater,
    First::GreaterEqual,
];

/// The operation between the result and the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    None,
    Add,
    Minimum,
    Maximum,
}

const SECOND: [Second; 4] = [Second::None, Second::Add, Second::Minimum, Second::Maximum];

/// A part of a word, by its first bit and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: u8,
    pub(crate) bits: u8,
}

impl Part {
    pub(crate) const WORD: Part = Part { start: 0, bits: 32 };
    const UPPER: Part = Part { start: 16, bits: 16 };

    /// `b2`, `h1`
    pub(crate) fn named(name: &str) -> Option<Part> {
        let (kind, number) = name.split_at_checked(1)?;
        let bits = match (kind, number) {
            ("b", "0" | "1" | "2" | "3") => 8,
            ("h", "0" | "1") => 16,
            _ => return None,
        };
        Some(Part { start: number.parse::<u8>().ok()? * bits, bits })
    }

    fn of(self, word: u32, signed: bool) -> i64 {
        let unused = 32 - u32::from(self.bits);
        let high = word >> self.start << unused;
        if signed { (high.cast_signed() >> unused).into() } else { (high >> unused).into() }
    }

    fn merged(self, value: i64, into: u32) -> u32 {
        let mask = (u64::from(u32::MAX) >> (32 - u32::from(self.bits))) as u32;
        into & !(mask << self.start) | (value as u32 & mask) << self.start
    }

    /// The least and the greatest value of the part.
    fn range(self, signed: bool) -> (i64, i64) {
        let bits = u32::from(self.bits);
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }

    /// Clamps a value to the part.
    fn saturated(self, value: i64, signed: bool) -> i64 {
        let (least, greatest) = self.range(signed);
        value.clamp(least, greatest)
    }
}

impl First {
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            First::Add => a + b,
            First::Subtract => a - b,
            First::Distance => (a - b).abs(),
            First::Minimum => a.min(b),
            First::Maximum => a.max(b),
            // Halves are rounded away from zero.
            First::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            First::ShiftLeft => a << b,
            First::ShiftRight => a >> b,
            First::Equal => (a == b).into(),
            First::NotEqual => (a != b).into(),
            First::Less => (a < b).into(),
            First::LessEqual => (a <= b).into(),
            First::Greater => (a > b).into(),
            First::GreaterEqual => (a >= b).into(),
        }
    }
}

impl Second {
    /// Compares 64 bits; `c` has the sign that the result has.
    fn apply(self, value: i64, c: u32, signed: bool) -> u32 {
        let other = if signed { i64::from(c.cast_signed()) } else { i64::from(c) };
        let is_less = if signed { value < other } else { value.cast_unsigned() < other.cast_unsigned() };
        (match self {
            Second::None => value,
            Second::Add => value.wrapping_add(other),
            Second::Minimum if is_less => value,
            Second::Maximum if !is_less => value,
            Second::Minimum | Second::Maximum => other,
        }) as u32
    }
}

/// An instruction on one part of each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) first: First,
    /// The result, `a` and `b`.
    pub(crate) signed: [bool; 3],
    pub(crate) saturate: bool,
    /// Shift counts wrap at 32 instead of being clamped.
    pub(crate) wrap: bool,
    pub(crate) second: Second,
    /// The parts of `a` and `b`.
    pub(crate) from: [Part; 2],
    /// The part of `c` that the result takes the place of, where there is no second operation.
    pub(crate) into: Part,
}

impl Scalar {
    pub(crate) fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        let (a, mut b) = (self.from[0].of(a, self.signed[1]), self.from[1].of(b, self.signed[2]));
        if self.shifts() {
            b = if self.wrap { b & 31 } else { b.min(32) };
        }
        let value = self.first.apply(a, b);
        let value = if self.saturate { self.saturated(value) } else { value };
        match self.second {
            // The upper half of `d` takes the upper half of the result.
            Second::None if self.into == Part::UPPER => self.into.merged(value >> 16, c),
            Second::None => self.into.merged(value, c),
            second if self.is_cut() => second.apply((value as i32).into(), c, self.signed[0]),
            second => second.apply(value, c, self.signed[0]),
        }
    }

    /// `true` for results that are cut to 32 bits, with a sign, before they are compared: sums and saturated
    /// shifts.
    fn is_cut(self) -> bool {
        matches!(self.first, First::Add | First::Subtract) || self.shifts() && self.saturate
    }

    fn shifts(self) -> bool {
        matches!(self.first, First::ShiftLeft | First::ShiftRight)
    }

    /// Clamps a result. Shifts and signed words have both limits; an unsigned word has only the lower one,
    /// and a smaller part only the upper one, which a negative result exceeds.
    fn saturated(self, value: i64) -> i64 {
        let is_signed = self.signed[0];
        if self.shifts() {
            // 34 bits of it.
            Part::WORD.saturated(value << 30 >> 30, is_signed)
        } else if self.into != Part::WORD {
            let (_, greatest) = self.into.range(is_signed);
            if (0..=greatest).contains(&value) { value } else { greatest }
        } else if is_signed {
            Part::WORD.saturated(value, true)
        } else {
            value.max(0)
        }
    }
}

/// An instruction on two halves or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub(crate) first: First,
    pub(crate) signed: [bool; 3],
    pub(crate) saturate: bool,
    /// The results are added up, and to `c`.
    pub(crate) sum: bool,
    /// Two or four.
    pub(crate) count: u8,
    /// For each lane the one of `a` and `b`, counted through, that it reads.
    pub(crate) from: [[u8; 4]; 2],
    /// The lanes that are computed, a bit for each; the others are those of `c`.
    pub(crate) mask: u8,
}

impl Lanes {
    pub(crate) fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        let bits = 32 / self.count;
        let read = |lane: u8, signed: bool| {
            let part = Part { start: lane % self.count * bits, bits };
            part.of(if lane < self.count { a } else { b }, signed)
        };
        let mut result = c;
        for lane in (0..self.count).filter(|lane| self.mask >> lane & 1 == 1) {
            let [from_a, from_b] = self.from.map(|from| from[usize::from(lane)]);
            let value = self.first.apply(read(from_a, self.signed[1]), read(from_b, self.signed[2]));
            let part = Part { start: lane * bits, bits };
            let value = if self.saturate { part.saturated(value, self.signed[0]) } else { value };
            result = if self.sum { result.wrapping_add(value as u32) } else { part.merged(value, result) };
        }
        result
    }
}

/// `vmad`: products of parts, with a shift and saturation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) signed: [bool; 3],
    pub(crate) from: [Part; 2],
    /// The product, and the third operand; not both.
    pub(crate) negated: [bool; 2],
    /// One is added.
    pub(crate) plus_one: bool,
    pub(crate) saturate: bool,
    pub(crate) shift: u8,
}

impl Product {
    pub(crate) fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        // Whole words have a sign, of any type.
        let factor = |index: usize, word: u32| {
            let part = self.from[index];
            part.of(word, self.signed[index + 1] || part == Part::WORD)
        };
        let (product, third) = (factor(0, a) * factor(1, b), i64::from(c.cast_signed()));
        let [product, third] = [(product, self.negated[0]), (third, self.negated[1])]
            .map(|(value, negated)| if negated { -value } else { value });
        let value = product + third + i64::from(self.plus_one);
        let is_signed = self.signed[1] || self.signed[2] || self.negated[0] || self.negated[1];
        let value = if is_signed { value >> self.shift } else { (value.cast_unsigned() >> self.shift).cast_signed() };
        let value = if self.saturate { Part::WORD.saturated(value, is_signed) } else { value };
        value as u32
    }
}

/// A video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Video {
    Scalar(Scalar),
    Lanes(Lanes),
    Product(Product),
}

impl Video {
    pub(crate) fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        match self {
            Video::Scalar(scalar) => scalar.apply(a, b, c),
            Video::Lanes(lanes) => lanes.apply(a, b, c),
            Video::Product(product) => product.apply(a, b, c),
        }
    }

    /// The instruction in two words, of which an operation has room.
    pub(crate) fn packed(self) -> [u32; 2] {
        let flags = |flags: &[bool]| flags.iter().rev().fold(0, |bits, flag| bits << 1 | u32::from(*flag));
        let part = |part: Part| u32::from(part.start) | u32::from(part.bits) << 5;
        let pair = |parts: [Part; 2]| part(parts[0]) | part(parts[1]) << 11;
        match self {
            Video::Scalar(Scalar { first, signed, saturate, wrap, second, from, into }) => {
                let kinds = first as u32
                    | (second as u32) << 4
                    | flags(&[signed[0], signed[1], signed[2], saturate, wrap]) << 6;
                [kinds | part(into) << 11, pair(from)]
            }
            Video::Lanes(Lanes { first, signed, saturate, sum, count, from, mask }) => {
                let kinds = first as u32 | flags(&[signed[0], signed[1], signed[2], saturate, sum]) << 6;
                let lanes = from.as_flattened().iter().rev().fold(0, |bits, lane| bits << 3 | u32::from(*lane));
                [1 << 30 | kinds | u32::from(count) << 11 | u32::from(mask) << 15, lanes]
            }
            Video::Product(Product { signed, from, negated, plus_one, saturate, shift }) => {
                let all = [signed[0], signed[1], signed[2], plus_one, saturate, negated[0], negated[1]];
                [2 << 30 | flags(&all) | u32::from(shift) << 8, pair(from)]
            }
        }
    }

    /// The instruction that was packed.
    pub(crate) fn unpacked([kinds, rest]: [u32; 2]) -> Video {
        let flag = |bit: u32| kinds >> bit & 1 == 1;
        let part = |bits: u32| Part { start: (bits & 31) as u8, bits: (bits >> 5 & 63) as u8 };
        let pair = [part(rest), part(rest >> 11)];
        let first = FIRST[(kinds & 15) as usize % FIRST.len()];
        match kinds >> 30 {
            0 => Video::Scalar(Scalar {
                first,
                signed: [flag(6), flag(7), flag(8)],
                saturate: flag(9),
                wrap: flag(10),
                second: SECOND[(kinds >> 4 & 3) as usize],
                from: pair,
                into: part(kinds >> 11),
            }),
            1 => {
                let lane = |index: usize| (rest >> (3 * index) & 7) as u8;
                let lanes = |start: usize| [lane(start), lane(start + 1), lane(start + 2), lane(start + 3)];
                Video::Lanes(Lanes {
                    first,
                    signed: [flag(6), flag(7), flag(8)],
                    saturate: flag(9),
                    sum: flag(10),
                    count: (kinds >> 11 & 15) as u8,
                    from: [lanes(0), lanes(4)],
                    mask: (kinds >> 15 & 15) as u8,
                })
            }
            _ => Video::Product(Product {
                signed: [flag(0), flag(1), flag(2)],
                from: pair,
                plus_one: flag(3),
                saturate: flag(4),
                negated: [flag(5), flag(6)],
                shift: (kinds >> 8 & 31) as u8,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
