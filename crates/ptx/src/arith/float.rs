//! Single and double precision: every rounding, flushed subnormals, saturation, and the hardware's own NaNs.
//!
//! A single-precision result that is NaN has the bits `7fffffff`, for all operands. A double
//! keeps an operand that was no number, made quiet and with its sign: the second rather than the third rather
//! than the first, but the first of a quotient.
//!
//! Operands are values, results are bits. Rust leaves a NaN that comes out of arithmetic any bits, and the
//! compiler may choose between a constant NaN and such a result as if they were one: `sqrtss` alone is its
//! code for "`7fffffff` if the root is NaN, else the root" as floats. So a NaN is recognised by its bits, and
//! its replacement is chosen among integers.

use super::round::{Exact, Format, Rounding, Value};
use super::soft;

/// The rounding and the modifiers of a floating-point instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// The direction.
    pub(crate) rounding: Rounding,
    /// `.ftz`: subnormal operands and results are zeros of the same sign.
    pub(crate) flush: bool,
    /// `.sat`: the result is clamped to 0 … 1, and 0 where it is no number.
    pub(crate) saturate: bool,
}

impl Mode {
    /// To nearest, and nothing else.
    pub(crate) const PLAIN: Mode = Mode { rounding: Rounding::Nearest, flush: false, saturate: false };

    pub(crate) fn nearest(self) -> bool {
        self.rounding == Rounding::Nearest
    }

    #[inline(always)]
    pub(crate) fn operand(self, value: f32) -> f32 {
        if self.flush { flushed(value) } else { value }
    }

    #[inline(always)]
    pub(crate) fn result(self, value: f32) -> u32 {
        let value = if self.flush { flushed(value) } else { value };
        if self.saturate { saturated(value).to_bits() } else { canonical(value) }
    }
}

/// A subnormal as a zero of its sign.
#[inline(always)]
pub(crate) fn flushed(value: f32) -> f32 {
    let bits = value.to_bits();
    if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { value }
}

/// The bits of a result, those of the one NaN that single precision has included.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    let bits = value.to_bits();
    // As signed numbers, which processors compare more quickly in rows.
    if (bits & 0x7fff_ffff).cast_signed() > 0x7f80_0000 { 0x7fff_ffff } else { bits }
}

/// Clamped to 0 … 1; no number becomes 0, and so does a negative zero.
#[inline(always)]
pub(crate) fn saturated(value: f32) -> f32 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}

/// Computes and rounds. Where subnormals are zeros, a result that only the end of the exponents rounds up to
/// the least normal number is zero, too.
#[inline(always)]
fn single(mode: Mode, native: impl FnOnce() -> f32, exact: impl Fn(Format, Rounding) -> u64) -> u32 {
    let rounded = if mode.nearest() { native() } else { f32::from_bits(exact(Format::SINGLE, mode.rounding) as u32) };
    if mode.flush && rounded.abs() == f32::MIN_POSITIVE {
        let least = Format::LONG.close(LEAST, Rounding::Zero);
        if exact(Format::LONG, mode.rounding) & (Format::LONG.sign() - 1) < least {
            return mode.result(0.0f32.copysign(rounded));
        }
    }
    mode.result(rounded)
}

/// The least normal single.
const LEAST: Exact = Exact { negative: false, exponent: -126, significand: 1 };

/// A single as bits of a format that has room for it.
#[inline(always)]
fn within(format: Format, value: f32) -> u64 {
    if format == Format::SINGLE {
        return value.to_bits().into();
    }
    let sign = if value.is_sign_negative() { format.sign() } else { 0 };
    match Format::SINGLE.open(value.to_bits().into()) {
        Value::Nan => format.nan,
        Value::Infinite { .. } => sign | format.infinity(),
        Value::Zero { .. } => sign,
        Value::Finite(exact) => format.close(exact, Rounding::Zero),
    }
}

#[inline(always)]
pub(crate) fn add(mode: Mode, a: f32, b: f32) -> u32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    single(mode, || a + b, |format, rounding| soft::add(format, rounding, within(format, a), within(format, b)))
}

#[inline(always)]
pub(crate) fn subtract(mode: Mode, a: f32, b: f32) -> u32 {
    add(mode, a, -b)
}

#[inline(always)]
pub(crate) fn multiply(mode: Mode, a: f32, b: f32) -> u32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    single(mode, || a * b, |format, rounding| soft::multiply(format, rounding, within(format, a), within(format, b)))
}

#[inline(always)]
pub(crate) fn fused(mode: Mode, a: f32, b: f32, c: f32) -> u32 {
    let (a, b, c) = (mode.operand(a), mode.operand(b), mode.operand(c));
    let exact =
        |format, rounding| soft::fused(format, rounding, within(format, a), within(format, b), within(format, c));
    single(mode, || a.mul_add(b, c), exact)
}

#[inline(always)]
pub(crate) fn divide(mode: Mode, a: f32, b: f32) -> u32 {
    let (a, b) = (mode.operand(a), mode.operand(b));
    single(mode, || a / b, |format, rounding| soft::divide(format, rounding, within(format, a), within(format, b)))
}

#[inline(always)]
pub(crate) fn root(mode: Mode, a: f32) -> u32 {
    let a = mode.operand(a);
    single(mode, || a.sqrt(), |format, rounding| soft::root(format, rounding, within(format, a)))
}

/// Double precision: rounding is all there is.
pub(crate) mod double {
    use super::super::round::{Format, Rounding};
    use super::super::soft;

    /// A result, or the hardware's NaN: the first of `operands` that is NaN.
    #[inline(always)]
    fn number(result: u64, operands: [f64; 3]) -> u64 {
        if !is_nan(result) {
            return result;
        }
        let first = operands.into_iter().map(f64::to_bits).find(|operand| is_nan(*operand));
        first.map_or(Format::DOUBLE.nan, quiet)
    }

    #[inline(always)]
    pub(crate) fn is_nan(bits: u64) -> bool {
        bits & !(1 << 63) > 0x7ff0_0000_0000_0000
    }

    /// The bits of a NaN, made quiet; its sign stays.
    #[inline(always)]
    pub(crate) fn quiet(bits: u64) -> u64 {
        bits | 1 << 51
    }

    #[inline(always)]
    fn double(rounding: Rounding, operands: [f64; 3], native: f64, exact: impl FnOnce() -> u64) -> u64 {
        number(if rounding == Rounding::Nearest { native.to_bits() } else { exact() }, operands)
    }

    #[inline(always)]
    pub(crate) fn add(rounding: Rounding, a: f64, b: f64) -> u64 {
        let exact = || soft::add(Format::DOUBLE, rounding, a.to_bits(), b.to_bits());
        double(rounding, [b, a, 0.0], a + b, exact)
    }

    #[inline(always)]
    pub(crate) fn subtract(rounding: Rounding, a: f64, b: f64) -> u64 {
        let exact = || soft::add(Format::DOUBLE, rounding, a.to_bits(), (-b).to_bits());
        double(rounding, [b, a, 0.0], a - b, exact)
    }

    #[inline(always)]
    pub(crate) fn multiply(rounding: Rounding, a: f64, b: f64) -> u64 {
        let exact = || soft::multiply(Format::DOUBLE, rounding, a.to_bits(), b.to_bits());
        double(rounding, [b, a, 0.0], a * b, exact)
    }

    #[inline(always)]
    pub(crate) fn fused(rounding: Rounding, a: f64, b: f64, c: f64) -> u64 {
        let exact = || soft::fused(Format::DOUBLE, rounding, a.to_bits(), b.to_bits(), c.to_bits());
        double(rounding, [b, c, a], a.mul_add(b, c), exact)
    }

    #[inline(always)]
    pub(crate) fn divide(rounding: Rounding, a: f64, b: f64) -> u64 {
        let exact = || soft::divide(Format::DOUBLE, rounding, a.to_bits(), b.to_bits());
        double(rounding, [a, b, 0.0], a / b, exact)
    }

    #[inline(always)]
    pub(crate) fn root(rounding: Rounding, a: f64) -> u64 {
        let exact = || soft::root(Format::DOUBLE, rounding, a.to_bits());
        double(rounding, [a, 0.0, 0.0], a.sqrt(), exact)
    }

    /// `abs`, `neg`: NaN is only made quiet.
    #[inline(always)]
    pub(crate) fn sign(bits: u64, change: impl FnOnce(u64) -> u64) -> u64 {
        if is_nan(bits) { quiet(bits) } else { change(bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    fn long(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    const FLUSH: Mode = Mode { flush: true, ..Mode::PLAIN };
    const CLAMP: Mode = Mode { saturate: true, ..Mode::PLAIN };

    #[test]
    fn a_single_that_is_no_number_has_one_form() {
        let odd = f32::from_bits(0xffc1_2345);
        assert_eq!(add(Mode::PLAIN, odd, 1.0), 0x7fff_ffff);
        assert_eq!(fused(Mode::PLAIN, f32::INFINITY, 0.0, 1.0), 0x7fff_ffff);
        assert_eq!(root(Mode::PLAIN, -1.0), 0x7fff_ffff);
        assert_eq!(divide(Mode { rounding: Rounding::Up, ..Mode::PLAIN }, 0.0, 0.0), 0x7fff_ffff);
    }

    #[test]
    fn flushing_takes_subnormal_operands_and_results_but_keeps_their_sign() {
        let tiny = f32::from_bits(0x8000_0001);
        assert_eq!(add(FLUSH, tiny, 0.0), 0);
        assert_eq!(multiply(FLUSH, tiny, 1.0), 0x8000_0000);
        assert_eq!(multiply(FLUSH, f32::MIN_POSITIVE, -0.5), 0x8000_0000);
        assert_eq!(multiply(Mode::PLAIN, f32::MIN_POSITIVE, -0.5), 0x8040_0000);
    }

    #[test]
    fn saturation_clamps_and_makes_zero_of_nan() {
        assert_eq!(value(add(CLAMP, 0.75, 0.75)), 1.0);
        assert_eq!(add(CLAMP, -0.75, 0.5), 0);
        assert_eq!(multiply(CLAMP, f32::NAN, 1.0), 0);
        assert_eq!(multiply(CLAMP, -0.0, 1.0), 0);
        assert_eq!(value(fused(CLAMP, 0.5, 0.5, 0.0)), 0.25);
    }

    #[test]
    fn directions_differ_where_a_result_is_inexact() {
        let at = |rounding| value(divide(Mode { rounding, ..Mode::PLAIN }, 1.0, 3.0));
        assert_eq!(at(Rounding::Down).next_up(), at(Rounding::Up));
        assert_eq!(at(Rounding::Zero), at(Rounding::Down));
        let at = |rounding| long(double::add(rounding, 1.0, f64::MIN_POSITIVE));
        assert_eq!(at(Rounding::Nearest), 1.0);
        assert_eq!(at(Rounding::Up), 1.0f64.next_up());
        assert_eq!(long(double::root(Rounding::Down, 2.0)).next_up(), long(double::root(Rounding::Up, 2.0)));
    }

    #[test]
    fn a_double_keeps_the_first_operand_that_is_no_number() {
        let odd = f64::from_bits(0x7ff0_0000_0000_1234);
        assert_eq!(double::add(Rounding::Nearest, 1.0, odd), 0x7ff8_0000_0000_1234);
        assert_eq!(double::multiply(Rounding::Zero, f64::INFINITY, 0.0), 0xfff8_0000_0000_0000);
    }
}
