//! Sums of products as the matrix units form them.
//!
//! Products are exact. All of them and the summand are then cut, towards zero, to multiples of 2⁻²⁵ of the
//! greatest power of two among them, where a product counts with the sum of its factors' exponents, even if
//! its significand carries beyond that. The sum of the rest is exact again; it is cut towards zero to
//! a single, or rounded to the nearest half. So the order of the products does not matter, and a sum that is
//! zero has no sign. An H200 does this for every shape of `f16`, `bf16` and `tf32`. Elements of eight bits
//! are not added by it in one go: see [`sum_of_bytes`].

use super::round::{Exact, Format, Rounding, Value};
use super::soft;

/// Bits that are kept below the greatest exponent.
const KEPT: i32 = 25;

/// An element, ready to be multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Factor {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `significand × 2^(exponent − fraction)`.
    Finite {
        significand: i64,
        exponent: i32,
        fraction: i32,
    },
}

impl Factor {
    pub(crate) const ZERO: Factor = Factor::Finite { significand: 0, exponent: 0, fraction: 0 };

    /// The value that bits of a format stand for.
    pub(crate) fn open(format: Format, bits: u64) -> Factor {
        match format.open(bits) {
            Value::Nan => Factor::Nan,
            Value::Infinite { negative } => Factor::Infinite { negative },
            Value::Zero { .. } => Factor::ZERO,
            Value::Finite(Exact { negative, exponent, significand }) => {
                let fraction = format.fraction.cast_signed();
                // At most 24 bits.
                let magnitude = significand as i64;
                let significand = if negative { -magnitude } else { magnitude };
                Factor::Finite { significand, exponent: exponent + fraction, fraction }
            }
        }
    }

    /// Its integer value; 0 if it has none.
    pub(crate) fn whole(self) -> i64 {
        match self {
            Factor::Finite { significand, .. } => significand,
            Factor::Nan | Factor::Infinite { .. } => 0,
        }
    }

    fn times(self, other: Factor) -> Factor {
        use Factor::{Finite, Infinite, Nan};
        match (self, other) {
            (
                Finite { significand, exponent, fraction },
                Finite { significand: by, exponent: above, fraction: below },
            ) => Finite { significand: significand * by, exponent: exponent + above, fraction: fraction + below },
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { .. }, Finite { significand: 0, .. }) | (Finite { significand: 0, .. }, Infinite { .. }) => Nan,
            _ => Infinite { negative: self.is_negative() != other.is_negative() },
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Factor::Nan => false,
            Factor::Infinite { negative } => negative,
            Factor::Finite { significand, .. } => significand < 0,
        }
    }
}

/// `summand` and all products, as bits of `to`: a single or a half.
pub(crate) fn sum(to: Format, summand: Factor, products: impl Iterator<Item = (Factor, Factor)> + Clone) -> u64 {
    let terms = products.map(|(a, b)| a.times(b)).chain([summand]);
    let mut greatest = i32::MIN;
    let mut infinite = None;
    for term in terms.clone() {
        match term {
            Factor::Nan => return to.nan,
            Factor::Infinite { negative } if infinite == Some(!negative) => return to.nan,
            Factor::Infinite { negative } => infinite = Some(negative),
            Factor::Finite { significand: 0, .. } => {}
            Factor::Finite { exponent, .. } => greatest = greatest.max(exponent),
        }
    }
    if let Some(negative) = infinite {
        return to.infinity() | if negative { to.sign() } else { 0 };
    }
    let last = greatest.saturating_sub(KEPT);
    let total: i64 = terms.map(|term| aligned(term, last)).sum();
    let exact = Exact { negative: total < 0, exponent: last, significand: total.unsigned_abs().into() };
    let bits = if to == Format::SINGLE {
        let top = i64::from(last) + 63 - i64::from(total.unsigned_abs().leading_zeros());
        let rounding = if top > 127 { Rounding::Nearest } else { Rounding::Zero };
        if total == 0 { 0 } else { to.close(exact, rounding) }
    } else if total == 0 {
        0
    } else {
        to.close(exact, Rounding::Nearest)
    };
    if bits == to.sign() { 0 } else { bits }
}

/// The same for products of eight bits: the first two of every four columns are added, then the others to
/// that, and the summand at last, rounded to nearest.
pub(crate) fn sum_of_bytes(to: Format, summand: u64, products: impl Iterator<Item = (Factor, Factor)> + Clone) -> u64 {
    let some = |which: usize| products.clone().enumerate().filter(move |(at, _)| at / 2 % 2 == which).map(|(_, p)| p);
    let first = sum(to, Factor::ZERO, some(0));
    let all = sum(to, Factor::open(to, first), some(1));
    soft::add(to, Rounding::Nearest, all, summand)
}

/// A term in units of `2^last`, cut towards zero.
fn aligned(term: Factor, last: i32) -> i64 {
    let Factor::Finite { significand, exponent, fraction } = term else { return 0 };
    if significand == 0 {
        return 0;
    }
    let shift = exponent - fraction - last;
    if shift >= 0 {
        // The exponent is not above the greatest, so 25 places at most.
        significand << shift
    } else {
        let magnitude = significand.unsigned_abs().checked_shr(shift.unsigned_abs()).unwrap_or(0).cast_signed();
        if significand < 0 { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(value: f32) -> Factor {
        // The tests' numbers are exact in eleven bits.
        Factor::open(Format::SINGLE, value.to_bits().into())
    }

    fn of(summand: f32, products: &[(f32, f32)]) -> f32 {
        let products = products.iter().map(|(a, b)| (half(*a), half(*b)));
        f32::from_bits(sum(Format::SINGLE, half(summand), products) as u32)
    }

    #[test]
    fn small_terms_are_cut_before_they_are_added() {
        let tiny = 2f32.powi(-13);
        // Each is 2⁻²⁶ of the greatest: none is left, though two would have made 2⁻²⁵.
        assert_eq!(of(1.0, &[(tiny, tiny), (tiny, tiny), (-1.0, 1.0)]), 0.0);
        let small = 2f32.powi(-12);
        assert_eq!(of(1.0, &[(small, small / 2.0), (-1.0, 1.0)]), 2f32.powi(-25));
    }

    #[test]
    fn sums_are_cut_towards_zero() {
        let part = 2f32.powi(-12);
        assert_eq!(of(1.0, &[(part, part), (part, part / 2.0)]), 1.0);
        assert_eq!(of(-1.0, &[(part, part), (part, -part / 2.0)]), -1.0 + 2f32.powi(-24));
    }

    #[test]
    fn nan_stays_nan() {
        assert_eq!(of(1.0, &[(f32::INFINITY, 0.0)]).to_bits(), 0x7fff_ffff);
        assert_eq!(of(f32::NEG_INFINITY, &[(f32::INFINITY, 1.0)]).to_bits(), 0x7fff_ffff);
        assert_eq!(of(1.0, &[(f32::INFINITY, -1.0)]), f32::NEG_INFINITY);
        assert_eq!(of(-0.0, &[(0.0, -1.0)]).to_bits(), 0);
    }

    #[test]
    fn a_sum_that_is_too_great_is_infinite() {
        let great = 2f32.powi(64);
        assert_eq!(of(0.0, &[(great, great)]), f32::INFINITY);
        assert_eq!(of(f32::MIN, &[(-great, great / 2.0)]), f32::NEG_INFINITY);
    }
}
