//! Sixteen-bit floating point, `f16` and `bf16`, alone and in pairs.
//!
//! Sums and products are computed in double precision, rounded to odd where they do not fit, and so rounded
//! to the narrow format as if they had been exact.

use super::float::saturated;
use super::round::{Format, Rounding, Value};

/// One of the two formats of sixteen bits.
pub(crate) trait Narrow {
    /// Its layout.
    const FORMAT: Format;

    /// The least value that rounds to the least normal number even if there were smaller exponents.
    const BELOW_LEAST: f64;

    /// The same number in single precision; every one fits.
    fn widen(bits: u16) -> f32;

    /// The nearest number of this format.
    fn narrow(value: f64) -> u16;
}

/// `f16`: five bits of exponent.
#[derive(Debug)]
pub(crate) struct Half;

/// `bf16`: the upper half of a single.
#[derive(Debug)]
pub(crate) struct Brain;

impl Narrow for Half {
    const FORMAT: Format = Format::HALF;
    const BELOW_LEAST: f64 = (1.0 - 1.0 / 4096.0) / 16_384.0;

    #[inline]
    fn widen(bits: u16) -> f32 {
        let sign = u32::from(bits & 0x8000) << 16;
        let magnitude = u32::from(bits & 0x7fff) << 13;
        if magnitude >= 0x0f80_0000 {
            return f32::from_bits(sign | magnitude | 0x7f80_0000);
        }
        // The exponents differ by 112, and a product with a power of two is exact, subnormals included.
        let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
        f32::from_bits(scaled.to_bits() | sign)
    }

    #[inline]
    fn narrow(value: f64) -> u16 {
        nearest(Self::FORMAT, value)
    }
}

impl Narrow for Brain {
    const FORMAT: Format = Format::BRAIN;
    const BELOW_LEAST: f64 = (1.0 - 1.0 / 512.0) * f32::MIN_POSITIVE as f64;

    #[inline]
    fn widen(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }

    #[inline]
    fn narrow(value: f64) -> u16 {
        nearest(Self::FORMAT, value)
    }
}

/// To nearest even, by adding half of the last place to the bits of a double.
#[inline]
fn nearest(format: Format, value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) << 15) as u16;
    let magnitude = bits & !(1 << 63);
    let bias = 1023 - ((1 << (format.exponent - 1)) - 1);
    let least_normal = (bias + 1) << 52;
    if magnitude >= least_normal && magnitude < 0x7ff0_0000_0000_0000 {
        let drop = 52 - format.fraction;
        let even = magnitude >> drop & 1;
        let rounded = (magnitude + (1 << (drop - 1)) - 1 + even) >> drop;
        let rebased = rounded - (bias << format.fraction);
        return sign | rebased.min(format.infinity()) as u16;
    }
    match Format::DOUBLE.open(bits) {
        Value::Nan => format.nan as u16,
        Value::Infinite { .. } => sign | format.infinity() as u16,
        Value::Zero { .. } => sign,
        Value::Finite(exact) => format.close(exact, Rounding::Nearest) as u16,
    }
}

/// `x + y`, with the last bit set where it is inexact, so that a second rounding does no harm.
#[inline]
fn odd_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // One step towards the exact value leads to an odd last bit.
    if (error > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}

/// The out-of-bounds NaN of tensor copies, of either sign.
const OUTSIDE: u16 = 0x7ff7;

/// The modifiers of an instruction that rounds to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// `.ftz`: subnormal operands and results are zeros.
    pub(crate) flush: bool,
    /// `.sat`: clamped to 0 … 1.
    pub(crate) saturate: bool,
    /// `.relu`: negative results are zeros, and NaN stays NaN.
    pub(crate) rectify: bool,
    /// `.oob`: a factor of [`OUTSIDE`] makes the result zero.
    pub(crate) outside: bool,
}

impl Edge {
    fn operand<N: Narrow>(self, bits: u16) -> f64 {
        N::widen(if self.flush { flushed(N::FORMAT, bits) } else { bits }).into()
    }

    fn result<N: Narrow>(self, value: f64) -> u16 {
        let mut bits = N::narrow(value);
        if self.flush {
            bits = flushed(N::FORMAT, bits);
            // A value that only the end of the exponents rounds up to the least normal number is zero, too.
            let least = 1 << N::FORMAT.fraction;
            if bits & 0x7fff == least && value.abs() < N::BELOW_LEAST {
                bits &= 0x8000;
            }
        }
        if self.saturate {
            bits = N::narrow(saturated(N::widen(bits)).into());
        }
        if self.rectify && bits & 0x8000 != 0 {
            bits = 0;
        }
        bits
    }
}

/// A subnormal as a zero of its sign, if that is wanted.
#[inline]
pub(crate) fn flush<N: Narrow>(flush: bool, bits: u16) -> u16 {
    if flush { flushed(N::FORMAT, bits) } else { bits }
}

fn flushed(format: Format, bits: u16) -> u16 {
    if u64::from(bits) & format.infinity() == 0 { bits & 0x8000 } else { bits }
}

#[inline]
pub(crate) fn add<N: Narrow>(edge: Edge, a: u16, b: u16) -> u16 {
    edge.result::<N>(odd_sum(edge.operand::<N>(a), edge.operand::<N>(b)))
}

#[inline]
pub(crate) fn subtract<N: Narrow>(edge: Edge, a: u16, b: u16) -> u16 {
    edge.result::<N>(odd_sum(edge.operand::<N>(a), -edge.operand::<N>(b)))
}

#[inline]
pub(crate) fn multiply<N: Narrow>(edge: Edge, a: u16, b: u16) -> u16 {
    edge.result::<N>(edge.operand::<N>(a) * edge.operand::<N>(b))
}

#[inline]
pub(crate) fn fused<N: Narrow>(edge: Edge, a: u16, b: u16, c: u16) -> u16 {
    if edge.outside && (a & 0x7fff == OUTSIDE || b & 0x7fff == OUTSIDE) {
        return 0;
    }
    edge.result::<N>(odd_sum(edge.operand::<N>(a) * edge.operand::<N>(b), edge.operand::<N>(c)))
}

/// `abs`, `neg`: NaN becomes the canonical one of the format.
#[inline]
pub(crate) fn sign<N: Narrow>(flush_it: bool, bits: u16, change: impl FnOnce(u16) -> u16) -> u16 {
    let none = u64::from(bits & 0x7fff) > N::FORMAT.infinity();
    if none { N::FORMAT.nan as u16 } else { change(flush::<N>(flush_it, bits)) }
}

/// A pair of sixteen-bit values in one register, lower half first.
#[inline]
pub(crate) fn pairwise(a: u32, b: u32, operation: impl Fn(u16, u16) -> u16) -> u32 {
    let low = operation(a as u16, b as u16);
    let high = operation((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(low)
}

#[cfg(test)]
mod tests {
    use super::super::soft;
    use super::*;

    const PLAIN: Edge = Edge { flush: false, saturate: false, rectify: false, outside: false };

    #[test]
    fn every_half_widens_to_its_value_and_back() {
        for bits in 0..=u16::MAX {
            let wide = Half::widen(bits);
            match Format::HALF.open(bits.into()) {
                Value::Nan => assert!(wide.is_nan()),
                Value::Finite(exact) => {
                    assert_eq!(u64::from(wide.to_bits()), Format::SINGLE.close(exact, Rounding::Zero));
                    assert_eq!(Half::narrow(wide.into()), bits);
                }
                _ => assert_eq!(Half::narrow(wide.into()), bits),
            }
            if !Brain::widen(bits).is_nan() {
                assert_eq!(Brain::narrow(Brain::widen(bits).into()), bits);
            }
        }
    }

    fn against_soft<N: Narrow>() {
        let mut state = 5u64;
        for _ in 0..400_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (a, b, c) = ((state >> 10) as u16, (state >> 27) as u16, (state >> 44) as u16);
            let wide = [a, b, c].map(u64::from);
            let near = Rounding::Nearest;
            assert_eq!(u64::from(add::<N>(PLAIN, a, b)), soft::add(N::FORMAT, near, wide[0], wide[1]));
            assert_eq!(u64::from(multiply::<N>(PLAIN, a, b)), soft::multiply(N::FORMAT, near, wide[0], wide[1]));
            let exact = soft::fused(N::FORMAT, near, wide[0], wide[1], wide[2]);
            assert_eq!(u64::from(fused::<N>(PLAIN, a, b, c)), exact, "{a:#x} {b:#x} {c:#x}");
        }
    }

    #[test]
    fn narrow_arithmetic_rounds_once() {
        against_soft::<Half>();
        against_soft::<Brain>();
    }

    #[test]
    fn edges_are_flushed_clamped_and_rectified() {
        let edge = |flush, saturate, rectify| Edge { flush, saturate, rectify, outside: false };
        assert_eq!(add::<Half>(edge(true, false, false), 0x8001, 0x8000), 0x8000);
        assert_eq!(add::<Half>(edge(false, true, false), 0x3c00, 0x3c00), 0x3c00);
        assert_eq!(fused::<Half>(edge(false, false, true), 0xbc00, 0x3c00, 0), 0);
        assert_eq!(fused::<Half>(edge(false, false, true), 0x7e00, 0x3c00, 0), 0x7fff);
    }
}
