//! Conversions between numbers: integers of every width, and every floating-point format.

use super::round::{Exact, Format, Rounding, Value};

/// A type on either side of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// An integer.
    Integer {
        /// Number of bits.
        bits: u32,
        /// `true` if the highest is a sign.
        signed: bool,
    },
    /// A floating-point number.
    Float(Format),
}

impl Number {
    /// Number of bits it has.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Number::Integer { bits, .. } => bits,
            Number::Float(format) => format.fraction + format.exponent + 1,
        }
    }
}

/// A conversion of `cvt`: types, rounding and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) to: Number,
    pub(crate) from: Number,
    /// The direction.
    pub(crate) rounding: Rounding,
    /// The result is an integer, though its format is a floating-point one: `cvt.rni.f32.f32`.
    pub(crate) integral: bool,
    /// `.sat`: clamped to the type's range, or to 0 … 1.
    pub(crate) saturate: bool,
    /// `.satfinite`: infinity becomes the greatest number.
    pub(crate) finite: bool,
    /// `.relu`: negative becomes zero.
    pub(crate) rectify: bool,
    /// `.ftz`: subnormal singles are zeros, on both sides.
    pub(crate) flush: bool,
}

impl Conversion {
    /// Converts the lower bits of `value`; the bits of the result above its type are zero, or its sign.
    pub(crate) fn apply(self, value: u64) -> u64 {
        match (self.from, self.to) {
            (Number::Integer { bits, signed }, Number::Integer { bits: to, signed: to_signed }) => {
                let value = integer(bits, signed, value);
                let value = if self.saturate { clamp(to, to_signed, value) } else { value };
                extended(to, to_signed, value)
            }
            (Number::Integer { bits, signed }, Number::Float(format)) => {
                let value = integer(bits, signed, value);
                let exact = Exact { negative: value < 0, exponent: 0, significand: value.unsigned_abs() };
                self.finish(format, format.close(exact, self.rounding))
            }
            (Number::Float(format), Number::Integer { bits, signed }) => self.truncate(format, value, bits, signed),
            (Number::Float(from), Number::Float(to)) => self.reformat(from, to, value),
        }
    }

    /// Converts both values of a pair, the lower one first.
    pub(crate) fn apply_each(self, pair: u32) -> u32 {
        let bits = self.from.bits();
        let (low, high) = (u64::from(pair) & mask(bits), u64::from(pair) >> bits & mask(bits));
        (self.apply(high) as u32) << self.width() | self.apply(low) as u32
    }

    /// Bits of the result.
    pub(crate) fn width(self) -> u32 {
        self.to.bits()
    }

    /// The operand, subnormals as zeros where they are; to a narrow format they are only where nothing
    /// depends on it.
    fn entered(self, format: Format, value: u64) -> u64 {
        let narrow = matches!(self.to, Number::Float(Format::HALF | Format::BRAIN));
        let subnormal = self.flush && !narrow && format == Format::SINGLE && value & format.infinity() == 0;
        if subnormal { value & format.sign() } else { value }
    }

    /// Floating point to integer: out of range is clamped. NaN becomes zero; of a double, or to
    /// 64 bits, it becomes the highest bit alone.
    fn truncate(self, format: Format, value: u64, bits: u32, signed: bool) -> u64 {
        let limit = |negative: bool| clamp(bits, signed, if negative { i128::MIN } else { i128::MAX });
        let result = match format.open(self.entered(format, value)) {
            Value::Nan if bits == 64 || format == Format::DOUBLE => 1 << (bits - 1),
            Value::Nan | Value::Zero { .. } => 0,
            Value::Infinite { negative } => limit(negative),
            Value::Finite(exact) => {
                let magnitude = exact.integer(self.rounding);
                let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
                clamp(bits, signed, if exact.negative { -value } else { value })
            }
        };
        extended(bits, signed, result)
    }

    fn reformat(self, from: Format, to: Format, value: u64) -> u64 {
        let changes = self.integral || self.saturate || self.flush;
        if from == to && matches!(to, Format::SINGLE | Format::DOUBLE) && !changes {
            return value;
        }
        let value = self.entered(from, value);
        let sign = if value & from.sign() == 0 { 0 } else { to.sign() };
        let bits = match from.open(value) {
            Value::Nan if from == Format::DOUBLE || to == Format::DOUBLE => {
                let kept = if self.flush && from == Format::SINGLE { from.nan } else { value };
                carried(from, to, kept)
            }
            // Here the bits of no number are where infinity would be: nothing is to be made of them.
            Value::Nan if to == Format::E4M3 => return to.nan,
            Value::Nan if from == Format::BRAIN && to == Format::SINGLE && !self.flush => value << 16,
            Value::Nan if to == Format::TENSOR && self.rounding == Rounding::NearestAway => value >> 13,
            Value::Nan => to.nan,
            Value::Infinite { .. } => sign | to.infinity(),
            Value::Zero { .. } => sign,
            Value::Finite(exact) if self.integral => {
                let magnitude = exact.integer(self.rounding);
                // Large numbers are integers already.
                let whole = Exact { exponent: 0, significand: magnitude, ..exact };
                to.close(if exact.exponent >= 0 { exact } else { whole }, Rounding::Nearest)
            }
            Value::Finite(exact) => to.close(exact, self.rounding),
        };
        self.finish(to, bits)
    }

    /// Applies `.sat`, `.satfinite`, `.relu` and `.ftz` to a result.
    fn finish(self, format: Format, bits: u64) -> u64 {
        let mut bits = bits;
        let magnitude = bits & (format.sign() - 1);
        let none = magnitude > format.infinity();
        if self.flush && format == Format::SINGLE && bits & format.infinity() == 0 {
            bits &= format.sign();
        }
        if self.finite && magnitude == format.infinity() {
            bits -= 1;
        }
        if self.rectify && bits & format.sign() != 0 && !none {
            bits = 0;
        }
        if self.saturate {
            let one = (format.infinity() >> 1) & !((1 << format.fraction) - 1);
            bits = if none || bits & format.sign() != 0 { 0 } else { bits.min(one) };
        }
        bits
    }
}

/// A NaN of one format in another: its sign and the upper bits of its fraction, made quiet.
pub(crate) fn carried(from: Format, to: Format, value: u64) -> u64 {
    let fraction = value & mask(from.fraction);
    let moved = if to.fraction > from.fraction {
        fraction << (to.fraction - from.fraction)
    } else {
        fraction >> (from.fraction - to.fraction)
    };
    let sign = if value & from.sign() == 0 { 0 } else { to.sign() };
    sign | to.infinity() | 1 << (to.fraction - 1) | moved
}

/// An integer in a register that may be wider than it.
fn extended(bits: u32, signed: bool, value: i128) -> u64 {
    integer(bits, signed, value as u64) as u64
}

fn mask(bits: u32) -> u64 {
    if bits > 63 { u64::MAX } else { (1 << bits) - 1 }
}

fn integer(bits: u32, signed: bool, value: u64) -> i128 {
    let unused = 64 - bits;
    if signed { (value.cast_signed() << unused >> unused).into() } else { (value & mask(bits)).into() }
}

fn clamp(bits: u32, signed: bool, value: i128) -> i128 {
    let (least, greatest) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    value.clamp(least, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S32: Number = Number::Integer { bits: 32, signed: true };
    const U32: Number = Number::Integer { bits: 32, signed: false };
    const S64: Number = Number::Integer { bits: 64, signed: true };
    const U8: Number = Number::Integer { bits: 8, signed: false };
    const S8: Number = Number::Integer { bits: 8, signed: true };
    const F32: Number = Number::Float(Format::SINGLE);
    const F64: Number = Number::Float(Format::DOUBLE);
    const F16: Number = Number::Float(Format::HALF);

    fn from(from: Number, to: Number, rounding: Rounding) -> Conversion {
        let (integral, saturate, finite, rectify, flush) = (false, false, false, false, false);
        Conversion { to, from, rounding, integral, saturate, finite, rectify, flush }
    }

    fn single(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn integers_are_cut_extended_and_clamped() {
        let plain = |a, b, value: i64| from(a, b, Rounding::Nearest).apply(value.cast_unsigned());
        assert_eq!(plain(S32, S64, -5), (-5i64).cast_unsigned());
        assert_eq!(plain(U32, S64, -5), 0xffff_fffb);
        assert_eq!(plain(S32, U8, 0x1ff), 0xff);
        let clamped = |a, b, value: i64| {
            Conversion { saturate: true, ..from(a, b, Rounding::Nearest) }.apply(value.cast_unsigned())
        };
        assert_eq!([clamped(S32, U8, 300), clamped(S32, U8, -1)], [255, 0]);
        // A register is wider than the type, and filled with its sign.
        assert_eq!(clamped(S32, S8, -300), (-128i64).cast_unsigned());
    }

    #[test]
    fn floats_become_integers_in_every_direction() {
        let at = |rounding, value: f32| from(F32, S32, rounding).apply(single(value)) as u32 as i32;
        assert_eq!([at(Rounding::Nearest, 2.5), at(Rounding::Nearest, 3.5), at(Rounding::Nearest, -2.5)], [2, 4, -2]);
        assert_eq!([at(Rounding::Zero, 2.9), at(Rounding::Zero, -2.9)], [2, -2]);
        assert_eq!([at(Rounding::Down, 2.9), at(Rounding::Down, -2.1)], [2, -3]);
        assert_eq!([at(Rounding::Up, 2.1), at(Rounding::Up, -2.9)], [3, -2]);
        assert_eq!([at(Rounding::Zero, 3e9), at(Rounding::Zero, f32::NEG_INFINITY)], [i32::MAX, i32::MIN]);
        assert_eq!(at(Rounding::Zero, f32::NAN), 0);
        assert_eq!(from(F32, U32, Rounding::Zero).apply(single(-1.0)), 0);
        assert_eq!(from(F32, S64, Rounding::Zero).apply(single(f32::NAN)), 1 << 63);
        assert_eq!(from(F64, U8, Rounding::Zero).apply(1e300f64.to_bits()), 255);
        assert_eq!(from(F64, U8, Rounding::Zero).apply(f64::NAN.to_bits()), 0x80);
    }

    #[test]
    fn integers_become_floats_rounded_once() {
        let value = 0x0100_0001u64;
        let at = |rounding| f32::from_bits(from(U32, F32, rounding).apply(value) as u32);
        assert_eq!([at(Rounding::Nearest), at(Rounding::Up)], [16_777_216.0, 16_777_218.0]);
        assert_eq!(from(S64, F64, Rounding::Down).apply(u64::MAX), (-1.0f64).to_bits());
        assert_eq!(from(U32, F16, Rounding::Nearest).apply(70_000), 0x7c00);
        for value in [0u64, 1, 12345, u32::MAX.into(), 0x8000_0080, 0x8000_0180] {
            let native = (value as u32) as f32;
            assert_eq!(from(U32, F32, Rounding::Nearest).apply(value), single(native));
        }
    }

    #[test]
    fn floats_become_whole_numbers_of_their_own_format() {
        let whole = |rounding, value: f32| {
            f32::from_bits(Conversion { integral: true, ..from(F32, F32, rounding) }.apply(single(value)) as u32)
        };
        assert_eq!(
            [whole(Rounding::Nearest, 2.5), whole(Rounding::Up, 2.1), whole(Rounding::Down, -2.1)],
            [2.0, 3.0, -3.0]
        );
        assert_eq!(whole(Rounding::Zero, -0.5).to_bits(), 0x8000_0000);
        assert_eq!(whole(Rounding::Nearest, 1e30), 1e30);
    }

    #[test]
    fn floats_change_format_with_every_edge() {
        let narrow = from(F64, F32, Rounding::Nearest);
        assert_eq!(narrow.apply(1e300f64.to_bits()), single(f32::INFINITY));
        assert_eq!(narrow.apply(0xfff0_0000_8000_0001), 0xffc0_0004);
        assert_eq!(from(F32, F64, Rounding::Nearest).apply(0x7f80_0001), 0x7ff8_0000_2000_0000);
        assert_eq!(from(F32, F16, Rounding::Nearest).apply(0xff80_0001), 0x7fff);
        assert_eq!(Conversion { flush: true, ..narrow }.apply(1e-40f64.to_bits()), 0);
        assert_eq!(Conversion { rounding: Rounding::Zero, ..narrow }.apply(1e300f64.to_bits()), single(f32::MAX));
        let clamp = Conversion { saturate: true, ..from(F32, F32, Rounding::Nearest) };
        assert_eq!([clamp.apply(single(2.0)), clamp.apply(single(-2.0))], [single(1.0), 0]);
        assert_eq!([clamp.apply(single(f32::NAN)), clamp.apply(single(0.25))], [0, single(0.25)]);
        let half = from(F32, F16, Rounding::Nearest);
        assert_eq!(Conversion { finite: true, ..half }.apply(single(1e10)), 0x7bff);
        assert_eq!(Conversion { rectify: true, ..half }.apply(single(-1.0)), 0);
        assert_eq!(Conversion { rectify: true, finite: true, ..half }.apply(single(f32::NEG_INFINITY)), 0);
        assert_eq!(from(F16, F32, Rounding::Nearest).apply(1), single(2f32.powi(-24)));
    }

    #[test]
    fn eight_bits_end_at_their_greatest_number() {
        let into = |format| Conversion { finite: true, ..from(F32, Number::Float(format), Rounding::Nearest) };
        let at = |format, value: f32| into(format).apply(single(value));
        assert_eq!([448.0, 1e9, f32::INFINITY, 460.0].map(|value| at(Format::E4M3, value)), [0x7e; 4]);
        assert_eq!([at(Format::E4M3, -448.0), at(Format::E4M3, f32::NAN)], [0xfe, 0x7f]);
        assert_eq!([at(Format::E5M2, 1e9), at(Format::E5M2, f32::NAN), at(Format::E5M2, 1.0)], [0x7b, 0x7f, 0x3c]);
        let back = from(Number::Float(Format::E4M3), F16, Rounding::Nearest);
        assert_eq!([back.apply(0x7e), back.apply(0x7f), back.apply(1)], [0x5f00, 0x7fff, 0x1800]);
        assert_eq!(back.apply_each(0x017e), 0x1800_5f00);
    }
}
