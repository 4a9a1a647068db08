//! Minimum and maximum, with NaN, signed zeros and three operands.

use super::float::{canonical, double, flushed};

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// `max` instead of `min`.
    pub(crate) greater: bool,
    /// `.NaN`: no number where an operand is none; otherwise the other operand.
    pub(crate) strict: bool,
    /// `.ftz`
    pub(crate) flush: bool,
    /// `.xorsign.abs`: magnitudes are compared, and the result has the product's sign.
    pub(crate) signs: bool,
}

impl Choice {
    #[inline(always)]
    fn less(self, a: u64, b: u64) -> bool {
        (a < b) != self.greater
    }
}

/// Keys that order as the numbers do, −0 below +0.
#[inline(always)]
fn key(bits: u32) -> u32 {
    bits ^ (((bits.cast_signed() >> 31).cast_unsigned()) | 0x8000_0000)
}

#[inline(always)]
fn key64(bits: u64) -> u64 {
    bits ^ (((bits.cast_signed() >> 63).cast_unsigned()) | 1 << 63)
}

#[inline(always)]
pub(crate) fn single(choice: Choice, a: f32, b: f32) -> u32 {
    let (mut a, mut b) = if choice.flush { (flushed(a), flushed(b)) } else { (a, b) };
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    if choice.signs {
        (a, b) = (a.abs(), b.abs());
    }
    if choice.strict && (a.is_nan() | b.is_nan()) {
        return 0x7fff_ffff;
    }
    let chosen = if a.is_nan() {
        b
    } else if b.is_nan() || choice.less(key(a.to_bits()).into(), key(b.to_bits()).into()) {
        a
    } else {
        b
    };
    let chosen = canonical(chosen);
    if choice.signs && chosen != 0x7fff_ffff { chosen | sign } else { chosen }
}

#[inline(always)]
pub(crate) fn double(choice: Choice, a: u64, b: u64) -> u64 {
    if double::is_nan(a) {
        // Of two that are no numbers, the second.
        return double::sign(b, |b| b);
    }
    if double::is_nan(b) || choice.less(key64(a), key64(b)) { a } else { b }
}

/// For a narrow format, by way of its single.
pub(crate) fn narrow<N: super::half::Narrow>(choice: Choice, a: u16, b: u16) -> u16 {
    let flush = |bits: u16| {
        let subnormal = choice.flush && u64::from(bits) & N::FORMAT.infinity() == 0;
        if subnormal { bits & 0x8000 } else { bits }
    };
    let wide = Choice { flush: false, ..choice };
    let chosen = single(wide, N::widen(flush(a)), N::widen(flush(b)));
    N::narrow(f32::from_bits(chosen).into())
}

#[cfg(test)]
mod tests {
    use super::super::half::Half;
    use super::*;

    const MIN: Choice = Choice { greater: false, strict: false, flush: false, signs: false };
    const MAX: Choice = Choice { greater: true, ..MIN };

    #[test]
    fn a_number_wins_over_none_unless_that_is_asked_for() {
        assert_eq!(single(MIN, f32::NAN, 3.0), 3f32.to_bits());
        assert_eq!(single(MAX, 3.0, f32::NAN), 3f32.to_bits());
        assert_eq!(single(MIN, f32::from_bits(0xffc0_0001), f32::NAN), 0x7fff_ffff);
        assert_eq!(single(Choice { strict: true, ..MIN }, 3.0, f32::NAN), 0x7fff_ffff);
        assert_eq!(double(MAX, f64::NAN.to_bits(), (-1f64).to_bits()), (-1f64).to_bits());
        assert_eq!(narrow::<Half>(MIN, 0x7e00, 0x3c00), 0x3c00);
    }

    #[test]
    fn negative_zero_lies_below_positive_zero() {
        assert_eq!(single(MIN, 0.0, -0.0), 0x8000_0000);
        assert_eq!(single(MAX, -0.0, 0.0), 0);
        assert_eq!(double(MIN, 0, 1 << 63), 1 << 63);
        assert_eq!(single(MIN, -5.0, -6.0), (-6f32).to_bits());
        assert_eq!(single(MAX, -5.0, 6.0), 6f32.to_bits());
    }

    #[test]
    fn magnitudes_are_compared_where_signs_are_multiplied() {
        let choice = Choice { signs: true, ..MIN };
        assert_eq!(single(choice, -2.0, 3.0), (-2f32).to_bits());
        assert_eq!(single(choice, -4.0, -3.0), 3f32.to_bits());
    }

    #[test]
    fn flushing_comes_before_choosing() {
        let choice = Choice { flush: true, ..MAX };
        assert_eq!(single(choice, f32::from_bits(1), -1.0), 0);
    }
}
