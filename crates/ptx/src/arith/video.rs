//! Video instructions: arithmetic on bytes, halves and words of 32 bits, with saturation and a second operation.

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

    /// Clamps a value to the part.
    fn saturated(self, value: i64, signed: bool) -> i64 {
        let bits = u32::from(self.bits);
        if signed { value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { value.clamp(0, (1 << bits) - 1) }
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
    fn apply(self, value: i64, c: u32, signed: bool) -> u32 {
        let other = if signed { i64::from(c.cast_signed()) } else { i64::from(c) };
        let value = if signed { i64::from(value as i32) } else { i64::from(value as u32) };
        (match self {
            Second::None => value,
            Second::Add => value + other,
            Second::Minimum => value.min(other),
            Second::Maximum => value.max(other),
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
        if matches!(self.first, First::ShiftLeft | First::ShiftRight) {
            b = if self.wrap { b & 31 } else { b.min(32) };
        }
        let value = self.first.apply(a, b);
        let value = if self.saturate { self.into.saturated(value, self.signed[0]) } else { value };
        match self.second {
            Second::None => self.into.merged(value, c),
            second => second.apply(value, c, self.signed[0]),
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
    /// One is added.
    pub(crate) plus_one: bool,
    pub(crate) saturate: bool,
    pub(crate) shift: u8,
}

impl Product {
    pub(crate) fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        let (a, b) = (self.from[0].of(a, self.signed[1]), self.from[1].of(b, self.signed[2]));
        let is_signed = self.signed[1] || self.signed[2];
        let c = if is_signed { i128::from(c.cast_signed()) } else { i128::from(c) };
        let value = (i128::from(a) * i128::from(b) + c + i128::from(self.plus_one)) >> self.shift;
        let value = match (self.saturate, is_signed) {
            (true, true) => value.clamp(i32::MIN.into(), i32::MAX.into()),
            (true, false) => value.clamp(0, u32::MAX.into()),
            (false, _) => value,
        };
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
            Video::Product(Product { signed, from, plus_one, saturate, shift }) => {
                let all = [signed[0], signed[1], signed[2], plus_one, saturate];
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
                shift: (kinds >> 8 & 31) as u8,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_packed_without_loss() {
        let part = |name| Part::named(name).expect("a part");
        let scalar = Scalar {
            first: First::GreaterEqual,
            signed: [true, false, true],
            saturate: true,
            wrap: false,
            second: Second::Maximum,
            from: [part("b3"), part("h1")],
            into: Part::WORD,
        };
        let lanes = Lanes {
            first: First::Average,
            signed: [false, true, false],
            saturate: false,
            sum: true,
            count: 4,
            from: [[3, 2, 1, 0], [7, 6, 5, 4]],
            mask: 0b1010,
        };
        let product =
            Product { signed: [true; 3], from: [part("h0"), Part::WORD], plus_one: true, saturate: false, shift: 15 };
        for video in [Video::Scalar(scalar), Video::Lanes(lanes), Video::Product(product)] {
            assert_eq!(Video::unpacked(video.packed()), video);
        }
    }

    #[test]
    fn parts_are_selected_saturated_and_merged() {
        let byte = Part::named("b1").expect("a part");
        let base = Scalar {
            first: First::Add,
            signed: [true; 3],
            saturate: true,
            wrap: false,
            second: Second::None,
            from: [byte, Part::WORD],
            into: Part::WORD,
        };
        assert_eq!(base.apply(0x0000_8000, 1, 0), (-127_i32).cast_unsigned());
        assert_eq!(Scalar { into: byte, ..base }.apply(0x7f00, 5, 0x1122_3344), 0x1122_7f44);
        assert_eq!(Scalar { second: Second::Add, ..base }.apply(0x0100, 1, 10), 12);
    }
}
