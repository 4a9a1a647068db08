//! Floating-point formats, and rounding of an exact value to one of them.

/// Rounding mode of inexact results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, ties to even: `.rn`, `.rni`.
    Nearest,
    /// To the nearest, ties away from zero: `.rna`.
    NearestAway,
    /// Towards zero: `.rz`, `.rzi`.
    Zero,
    /// Towards negative infinity: `.rm`, `.rmi`.
    Down,
    /// Towards positive infinity: `.rp`, `.rpi`.
    Up,
}

impl Rounding {
    /// `true` if a magnitude is rounded up, given its last kept bit and how the remainder compares with half
    /// of it.
    fn away(self, negative: bool, odd: bool, rest: Rest) -> bool {
        match self {
            Rounding::Nearest => rest == Rest::More || (rest == Rest::Half && odd),
            Rounding::NearestAway => matches!(rest, Rest::More | Rest::Half),
            Rounding::Zero => false,
            Rounding::Down => negative && rest != Rest::None,
            Rounding::Up => !negative && rest != Rest::None,
        }
    }
}

/// The remainder of dropped bits, measured in the last bit that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    None,
    Less,
    Half,
    More,
}

/// `value >> count` and the remainder.
fn cut(value: u128, count: u32) -> (u128, Rest) {
    if count == 0 || value == 0 {
        return (value, Rest::None);
    }
    if count > 128 {
        return (0, Rest::Less);
    }
    let (kept, rest) = if count == 128 { (0, value) } else { (value >> count, value & ((1 << count) - 1)) };
    let half = 1u128 << (count - 1);
    let rest = match rest.cmp(&half) {
        _ if rest == 0 => Rest::None,
        std::cmp::Ordering::Less => Rest::Less,
        std::cmp::Ordering::Equal => Rest::Half,
        std::cmp::Ordering::Greater => Rest::More,
    };
    (kept, rest)
}

/// A binary interchange format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the fraction as stored.
    pub(crate) fraction: u32,
    /// Bits of the exponent.
    pub(crate) exponent: u32,
    /// The hardware's NaN.
    pub(crate) nan: u64,
}

impl Format {
    pub(crate) const HALF: Format = Format { fraction: 10, exponent: 5, nan: 0x7fff };
    pub(crate) const BRAIN: Format = Format { fraction: 7, exponent: 8, nan: 0x7fff };
    pub(crate) const SINGLE: Format = Format { fraction: 23, exponent: 8, nan: 0x7fff_ffff };
    pub(crate) const DOUBLE: Format = Format { fraction: 52, exponent: 11, nan: 0xfff8_0000_0000_0000 };
    /// `tf32` before its thirteen zero bits.
    pub(crate) const TENSOR: Format = Format { fraction: 10, exponent: 8, nan: 0x3ffff };

    /// Eight bits; its highest exponent is one like the others, but for the one number that is none.
    pub(crate) const E4M3: Format = Format { fraction: 3, exponent: 4, nan: 0x7f };
    /// Eight bits, with infinities.
    pub(crate) const E5M2: Format = Format { fraction: 2, exponent: 5, nan: 0x7f };

    /// A single whose exponents do not end where those of singles do.
    pub(crate) const LONG: Format = Format { fraction: 23, exponent: 11, nan: 0x3_ffff_ffff };

    /// The bits of infinity, which are also one more than those of the greatest finite number.
    pub(crate) fn infinity(self) -> u64 {
        if self == Format::E4M3 { self.nan } else { ((1 << self.exponent) - 1) << self.fraction }
    }

    pub(crate) fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// The exponent of the smallest normal number.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// Takes bits apart.
    pub(crate) fn open(self, bits: u64) -> Value {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let fraction = magnitude & ((1 << self.fraction) - 1);
        let least = self.least() - self.fraction.cast_signed();
        match magnitude >> self.fraction {
            _ if magnitude > self.infinity() || magnitude == self.nan => Value::Nan,
            _ if magnitude == self.infinity() => Value::Infinite { negative },
            0 if fraction == 0 => Value::Zero { negative },
            0 => Value::Finite(Exact { negative, exponent: least, significand: fraction.into() }),
            // At most eleven bits.
            biased => Value::Finite(Exact {
                negative,
                exponent: least + biased as i32 - 1,
                significand: (fraction | 1 << self.fraction).into(),
            }),
        }
    }

    /// The number nearest to an exact value in the sense of `rounding`.
    pub(crate) fn close(self, value: Exact, rounding: Rounding) -> u64 {
        let Exact { negative, exponent, significand } = value;
        let sign = if negative { self.sign() } else { 0 };
        if significand == 0 {
            return sign;
        }
        let top = exponent + 127 - significand.leading_zeros().cast_signed();
        let scale = top.max(self.least());
        let drop = scale - self.fraction.cast_signed() - exponent;
        let (kept, rest) =
            if drop <= 0 { (significand << -drop, Rest::None) } else { cut(significand, drop.cast_unsigned()) };
        let kept = kept + u128::from(rounding.away(negative, kept & 1 == 1, rest));
        // A carry out of the fraction lands in the exponent, as it should.
        let steps = u128::from((scale - self.least()).cast_unsigned()) << self.fraction;
        let magnitude = u64::try_from(steps + kept).unwrap_or(u64::MAX);
        if magnitude < self.infinity() {
            return sign | magnitude;
        }
        let to_infinity = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        sign | if to_infinity { self.infinity() } else { self.infinity() - 1 }
    }
}

/// The value that bits of a format stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Nan,
    Infinite { negative: bool },
    Zero { negative: bool },
    Finite(Exact),
}

/// `significand × 2^exponent`, exactly, or with a last bit that stands for everything below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) exponent: i32,
    pub(crate) significand: u128,
}

impl Exact {
    /// With the highest bit of the significand at `place`.
    pub(crate) fn with_top_at(self, place: u32) -> Exact {
        let top = 127 - self.significand.leading_zeros();
        if top <= place {
            let by = place - top;
            Exact { significand: self.significand << by, exponent: self.exponent - by.cast_signed(), ..self }
        } else {
            self.lower(top - place)
        }
    }

    /// With `count` low bits dropped; the last bit is set if any of them was.
    pub(crate) fn lower(self, count: u32) -> Exact {
        let (kept, rest) = cut(self.significand, count);
        let significand = kept | u128::from(rest != Rest::None);
        Exact { significand, exponent: self.exponent.saturating_add(count.cast_signed()), ..self }
    }

    /// The integer nearest in the sense of `rounding`, as a magnitude; `u128::MAX` where it does not fit 127
    /// bits.
    pub(crate) fn integer(self, rounding: Rounding) -> u128 {
        if self.exponent >= 0 {
            let room = self.significand.leading_zeros().saturating_sub(1).cast_signed();
            return if self.exponent > room { u128::MAX } else { self.significand << self.exponent };
        }
        let (kept, rest) = cut(self.significand, self.exponent.unsigned_abs());
        kept + u128::from(rounding.away(self.negative, kept & 1 == 1, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_being_opened_and_closed() {
        for format in [Format::HALF, Format::BRAIN] {
            for bits in 0..=u64::from(u16::MAX) {
                let Value::Finite(exact) = format.open(bits) else { continue };
                for rounding in [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up] {
                    assert_eq!(format.close(exact, rounding), bits);
                }
            }
        }
    }

    #[test]
    fn doubles_become_singles_as_the_processor_has_them() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Exponents around those of singles, their subnormals included.
            let bits = (state & !(0x7ff << 52)) | ((0x360 + (state >> 20) % 0x130) << 52);
            let Value::Finite(exact) = Format::DOUBLE.open(bits) else { continue };
            let single = f64::from_bits(bits) as f32;
            assert_eq!(Format::SINGLE.close(exact, Rounding::Nearest), u64::from(single.to_bits()), "{bits:#x}");
        }
    }

    #[test]
    fn directed_roundings_enclose_the_value_and_overflow_to_the_right_side() {
        let third = Exact { negative: false, exponent: -130, significand: (1 << 127) / 3 };
        let down = f32::from_bits(Format::SINGLE.close(third, Rounding::Down) as u32);
        let up = f32::from_bits(Format::SINGLE.close(third, Rounding::Up) as u32);
        assert!(down < up && down.next_up() == up);
        let huge = Exact { negative: true, exponent: 200, significand: 1 };
        assert_eq!(Format::SINGLE.close(huge, Rounding::Up), u64::from(f32::MIN.to_bits()));
        assert_eq!(Format::SINGLE.close(huge, Rounding::Down), u64::from(f32::NEG_INFINITY.to_bits()));
        assert_eq!(Format::SINGLE.close(huge, Rounding::Zero), u64::from(f32::MIN.to_bits()));
    }

    #[test]
    fn integers_are_rounded_in_every_direction() {
        let value = |negative| Exact { negative, exponent: -1, significand: 5 };
        let at = |negative, rounding| value(negative).integer(rounding);
        assert_eq!([at(false, Rounding::Nearest), at(false, Rounding::Zero)], [2, 2]);
        assert_eq!([at(false, Rounding::Up), at(false, Rounding::Down)], [3, 2]);
        assert_eq!([at(true, Rounding::Up), at(true, Rounding::Down)], [2, 3]);
        assert_eq!(at(false, Rounding::NearestAway), 3);
    }
}
