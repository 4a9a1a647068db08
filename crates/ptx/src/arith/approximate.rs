//! Functions that the hardware approximates: `sin`, `ex2`, `rsqrt` and others.
//!
//! Here each is computed in double precision and rounded once, so it lies within half a unit in the last
//! place (ULP) of the true value. How far an H200 is from that, as the simulator's test of single
//! instructions holds it:
//!
//! | function | at most |
//! |---|---|
//! | `rcp`, `sqrt` | 1 ULP |
//! | `rsqrt`, `div.approx`, `div.full`, `ex2` | 2 ULP |
//! | `lg2` | 1 ULP, or 2⁻²²·⁶ near one |
//! | `sin`, `cos` | 2⁻²⁰·⁵, of the angle that the hardware sees: [`turn`] |
//! | `tanh` | relative 2⁻¹¹ |
//! | `tanh`, `ex2` of halves | 1 ULP |
//! | `rsqrt.approx.f64` | 2 ULP |
//! | `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64` | 1 in the last place of the upper word |
//!
//! Infinities, zeros and NaN are the same on both.

use super::float::{Mode, canonical, double, flushed, multiply};
use super::round::Rounding;

#[inline(always)]
fn with(flush: bool, value: f32, function: impl FnOnce(f32) -> f32) -> u32 {
    result(flush, function(if flush { flushed(value) } else { value }))
}

#[inline(always)]
fn result(flush: bool, value: f32) -> u32 {
    canonical(if flush { flushed(value) } else { value })
}

#[inline(always)]
pub(crate) fn reciprocal(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| 1.0 / value)
}

#[inline(always)]
pub(crate) fn root(flush: bool, value: f32) -> u32 {
    with(flush, value, f32::sqrt)
}

#[inline(always)]
pub(crate) fn reciprocal_root(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| (1.0 / f64::from(value).sqrt()) as f32)
}

/// `rsqrt.approx.f64`: within 2 ULP here.
pub(crate) fn reciprocal_root_double(value: f64) -> u64 {
    let bits = value.to_bits();
    if double::is_nan(bits) {
        return double::quiet(bits);
    }
    let result = (1.0 / value.sqrt()).to_bits();
    if double::is_nan(result) { 0xfff8_0000_0000_0000 } else { result }
}

pub(crate) fn exponential(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| f64::from(value).exp2() as f32)
}

pub(crate) fn logarithm(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| f64::from(value).log2() as f32)
}

pub(crate) fn sine(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| if value == 0.0 { value } else { turn(value).sin() as f32 })
}

pub(crate) fn cosine(flush: bool, value: f32) -> u32 {
    with(flush, value, |value| turn(value).cos() as f32)
}

/// An angle as the hardware sees it: a product with the single next to 1/2π, cut towards zero, counts turns.
/// So the function of a large angle is that of another one, which this gives, between −2π and 2π.
fn turn(angle: f32) -> f64 {
    let turns = multiply(Mode { rounding: Rounding::Zero, ..Mode::PLAIN }, angle, f32::from_bits(0x3e22_f983));
    f64::from(f32::from_bits(turns)) % 1.0 * std::f64::consts::TAU
}

pub(crate) fn hyperbolic_tangent(value: f32) -> u32 {
    with(false, value, |value| f64::from(value).tanh() as f32)
}

/// `a ÷ b`; a divisor above 2¹²⁶ counts as infinite, because the hardware multiplies by its reciprocal, which
/// is flushed.
#[inline(always)]
pub(crate) fn quotient(flush: bool, a: f32, b: f32) -> u32 {
    let (a, b) = if flush { (flushed(a), flushed(b)) } else { (a, b) };
    let huge = b.abs() > f32::from_bits(0x7e80_0000);
    result(flush, if huge { a / f32::INFINITY.copysign(b) } else { a / b })
}

/// `a ÷ b` over the whole range: `div.full`.
#[inline(always)]
pub(crate) fn full_quotient(flush: bool, a: f32, b: f32) -> u32 {
    let (a, b) = if flush { (flushed(a), flushed(b)) } else { (a, b) };
    result(flush, a / b)
}

/// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: the upper half of the double alone counts, on both sides.
pub(crate) fn upper_half(value: f64, function: impl FnOnce(f64) -> f64) -> u64 {
    let upper = |bits: u64| {
        let bits = bits & 0xffff_ffff_0000_0000;
        if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits }
    };
    let result = function(f64::from_bits(upper(value.to_bits()))).to_bits();
    if double::is_nan(result) { 0x7fff_ffff_0000_0000 } else { upper(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_as_documented() {
        assert_eq!(reciprocal(false, -0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(reciprocal_root(false, -0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(exponential(false, f32::NEG_INFINITY), 0);
        assert_eq!(logarithm(false, 0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(hyperbolic_tangent(f32::INFINITY), 1f32.to_bits());
        assert_eq!(reciprocal(true, f32::from_bits(1)), f32::INFINITY.to_bits());
    }

    /// Values that the compiler does not see through, and calls that it may inline: as instructions are run.
    #[test]
    fn no_nan_of_the_processor_is_a_result() {
        use std::hint::black_box;
        let odd = f32::from_bits(0xffc1_2345);
        for value in [-1.0, f32::NEG_INFINITY, f32::NAN, odd].map(black_box) {
            assert_eq!([root(false, value), root(true, value)], [0x7fff_ffff; 2], "{value}");
            assert_eq!([reciprocal_root(false, value), reciprocal_root(true, value)], [0x7fff_ffff; 2], "{value}");
            assert_eq!([logarithm(false, value), logarithm(true, value)], [0x7fff_ffff; 2], "{value}");
        }
        for value in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, odd].map(black_box) {
            assert_eq!([sine(false, value), cosine(true, value)], [0x7fff_ffff; 2], "{value}");
            assert_eq!([quotient(false, value, value), full_quotient(true, value, value)], [0x7fff_ffff; 2], "{value}");
        }
        let root = |value: f64| upper_half(black_box(value), |value| 1.0 / value.sqrt());
        assert_eq!([root(-1.0), root(f64::NAN), root(-f64::NAN)], [0x7fff_ffff_0000_0000; 3]);
        assert_eq!(reciprocal_root_double(black_box(-1.0)), 0xfff8_0000_0000_0000);
        let odd = f64::from_bits(0x7ff0_0000_0000_1234);
        assert_eq!(reciprocal_root_double(black_box(odd)), 0x7ff8_0000_0000_1234);
    }

    #[test]
    fn a_huge_divisor_gives_zero_only_to_the_approximate_quotient() {
        let huge = f32::from_bits(0x7f00_0000);
        assert_eq!(quotient(false, huge, huge), 0);
        assert_eq!(full_quotient(false, huge, huge), 1f32.to_bits());
        assert_eq!(quotient(false, 6.0, 3.0), 2f32.to_bits());
    }

    #[test]
    fn double_approximations_see_upper_halves_only() {
        assert_eq!(upper_half(4.0, |value| 1.0 / value), 0.25f64.to_bits());
        assert_eq!(upper_half(3.0, |value| 1.0 / value) & 0xffff_ffff, 0);
    }
}
