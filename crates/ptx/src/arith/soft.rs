//! Floating-point arithmetic in integers: exact, then rounded once, in any direction.

use super::round::{Exact, Format, Rounding, Value};

impl Format {
    fn zero(self, negative: bool) -> u64 {
        if negative { self.sign() } else { 0 }
    }

    fn infinite(self, negative: bool) -> u64 {
        self.zero(negative) | self.infinity()
    }
}

/// `a + b`.
pub(crate) fn add(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    sum(format, rounding, format.open(a), format.open(b))
}

/// `a × b`.
pub(crate) fn multiply(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    match product(format.open(a), format.open(b)) {
        Value::Nan => format.nan,
        Value::Infinite { negative } => format.infinite(negative),
        Value::Zero { negative } => format.zero(negative),
        Value::Finite(exact) => format.close(exact, rounding),
    }
}

/// `a × b + c`, rounded once.
pub(crate) fn fused(format: Format, rounding: Rounding, a: u64, b: u64, c: u64) -> u64 {
    sum(format, rounding, product(format.open(a), format.open(b)), format.open(c))
}

/// `a ÷ b`.
pub(crate) fn divide(format: Format, rounding: Rounding, a: u64, b: u64) -> u64 {
    use Value::{Finite, Infinite, Nan, Zero};
    match (format.open(a), format.open(b)) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) | (Zero { .. }, Zero { .. }) => format.nan,
        (Infinite { negative }, Zero { negative: other })
        | (Infinite { negative }, Finite(Exact { negative: other, .. }))
        | (Finite(Exact { negative, .. }), Zero { negative: other }) => format.infinite(negative != other),
        (Zero { negative }, Infinite { negative: other })
        | (Zero { negative }, Finite(Exact { negative: other, .. }))
        | (Finite(Exact { negative, .. }), Infinite { negative: other }) => format.zero(negative != other),
        (Finite(a), Finite(b)) => {
            let a = a.with_top_at(127);
            let rest = !a.significand.is_multiple_of(b.significand);
            let significand = (a.significand / b.significand) | u128::from(rest);
            let quotient = Exact { negative: a.negative != b.negative, exponent: a.exponent - b.exponent, significand };
            format.close(quotient, rounding)
        }
    }
}

/// `√a`.
pub(crate) fn root(format: Format, rounding: Rounding, a: u64) -> u64 {
    match format.open(a) {
        Value::Zero { negative } => format.zero(negative),
        Value::Infinite { negative: false } => format.infinite(false),
        Value::Finite(exact) if !exact.negative => {
            let exact = exact.with_top_at(126);
            let exact = if exact.exponent & 1 == 0 { exact } else { exact.with_top_at(127) };
            let root = exact.significand.isqrt();
            let significand = root << 1 | u128::from(root * root != exact.significand);
            format.close(Exact { negative: false, exponent: exact.exponent / 2 - 1, significand }, rounding)
        }
        Value::Nan | Value::Infinite { .. } | Value::Finite(_) => format.nan,
    }
}

fn product(a: Value, b: Value) -> Value {
    use Value::{Finite, Infinite, Nan, Zero};
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }) => Nan,
        (Finite(a), Finite(b)) => Finite(Exact {
            negative: a.negative != b.negative,
            exponent: a.exponent + b.exponent,
            significand: a.significand * b.significand,
        }),
        _ => {
            let negative = negative(a) != negative(b);
            let infinite = matches!(a, Infinite { .. }) || matches!(b, Infinite { .. });
            if infinite { Infinite { negative } } else { Zero { negative } }
        }
    }
}

fn negative(value: Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinite { negative } | Value::Zero { negative } => negative,
        Value::Finite(exact) => exact.negative,
    }
}

fn sum(format: Format, rounding: Rounding, a: Value, b: Value) -> u64 {
    use Value::{Finite, Infinite, Nan, Zero};
    match (a, b) {
        (Nan, _) | (_, Nan) => format.nan,
        (Infinite { negative }, Infinite { negative: other }) if negative != other => format.nan,
        (Infinite { negative }, _) | (_, Infinite { negative }) => format.infinite(negative),
        (Zero { negative }, Zero { negative: other }) => {
            format.zero(if negative == other { negative } else { rounding == Rounding::Down })
        }
        (Finite(exact), Zero { .. }) | (Zero { .. }, Finite(exact)) => format.close(exact, rounding),
        (Finite(a), Finite(b)) => match exact_sum(a, b) {
            Some(exact) => format.close(exact, rounding),
            None => format.zero(rounding == Rounding::Down),
        },
    }
}

/// The sum, or nothing where the two cancel.
///
/// Both significands go to the top of 127 bits; the smaller number is then shifted down. It has at most 106
/// bits, so bits are lost (into the last one) only where the exponents differ by more than 20, and then at
/// most one leading bit cancels.
fn exact_sum(a: Exact, b: Exact) -> Option<Exact> {
    let (a, b) = (a.with_top_at(126), b.with_top_at(126));
    let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) { (a, b) } else { (b, a) };
    let small = small.lower(large.exponent.abs_diff(small.exponent));
    let significand = if large.negative == small.negative {
        large.significand + small.significand
    } else {
        large.significand - small.significand
    };
    (significand != 0).then_some(Exact { significand, ..large })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit patterns that are hard on arithmetic, and many at random.
    fn doubles() -> Vec<u64> {
        let mut all: Vec<u64> =
            [0.0, 1.0, 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-310, f64::INFINITY, f64::EPSILON]
                .iter()
                .flat_map(|value: &f64| [value.to_bits(), (-value).to_bits()])
                .collect();
        let mut state = 7u64;
        for _ in 0..300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.push(state ^ state >> 29);
            // Exponents near one, so that sums and differences meet.
            all.push((state & !(0x7ff << 52)) | ((1010 + (state >> 40) % 30) << 52));
        }
        all
    }

    fn same(soft: u64, native: f64, what: &str, operands: &[u64]) {
        let same = soft == native.to_bits() || (native.is_nan() && f64::from_bits(soft).is_nan());
        assert!(same, "{what} of {operands:x?}: {soft:#x} instead of {:#x}", native.to_bits());
    }

    #[test]
    fn doubles_to_nearest_are_those_of_the_processor() {
        let all = doubles();
        for (index, &a) in all.iter().enumerate() {
            let x = f64::from_bits(a);
            same(root(Format::DOUBLE, Rounding::Nearest, a), x.sqrt(), "sqrt", &[a]);
            for &b in &all {
                let y = f64::from_bits(b);
                same(add(Format::DOUBLE, Rounding::Nearest, a, b), x + y, "sum", &[a, b]);
                same(multiply(Format::DOUBLE, Rounding::Nearest, a, b), x * y, "product", &[a, b]);
                same(divide(Format::DOUBLE, Rounding::Nearest, a, b), x / y, "quotient", &[a, b]);
                let c = all[(index * 31 + 7) % all.len()];
                let z = f64::from_bits(c);
                same(fused(Format::DOUBLE, Rounding::Nearest, a, b, c), x.mul_add(y, z), "fma", &[a, b, c]);
                let near = (-(x * y)).to_bits();
                let fma = x.mul_add(y, -(x * y));
                same(fused(Format::DOUBLE, Rounding::Nearest, a, b, near), fma, "residue", &[a, b]);
            }
        }
    }

    #[test]
    fn singles_to_nearest_are_those_of_the_processor() {
        let all: Vec<u32> = doubles().iter().map(|bits| (bits >> 17) as u32).collect();
        for &a in &all {
            for &b in &all {
                let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                let check = |soft: u64, native: f32| {
                    let same = soft == u64::from(native.to_bits()) || (native.is_nan() && soft == Format::SINGLE.nan);
                    assert!(same, "{a:#x} {b:#x}: {soft:#x} {:#x}", native.to_bits());
                };
                check(add(Format::SINGLE, Rounding::Nearest, a.into(), b.into()), x + y);
                check(multiply(Format::SINGLE, Rounding::Nearest, a.into(), b.into()), x * y);
                check(divide(Format::SINGLE, Rounding::Nearest, a.into(), b.into()), x / y);
                check(fused(Format::SINGLE, Rounding::Nearest, a.into(), b.into(), a.into()), x.mul_add(y, x));
            }
        }
    }

    #[test]
    fn down_and_up_enclose_nearest_and_differ_by_one_step_where_it_is_inexact() {
        let all: Vec<u64> = doubles().iter().map(|bits| bits >> 32).collect();
        let value = |bits: u64| f32::from_bits(bits as u32);
        for &a in &all {
            for &b in &all {
                for operation in [add, multiply, divide] {
                    let at = |rounding| value(operation(Format::SINGLE, rounding, a, b));
                    let (down, near, up) = (at(Rounding::Down), at(Rounding::Nearest), at(Rounding::Up));
                    if near.is_nan() {
                        continue;
                    }
                    assert!(down <= near && near <= up, "{a:#x} {b:#x}");
                    assert!(down == up || down.next_up() == up, "{a:#x} {b:#x}");
                    let zero = at(Rounding::Zero);
                    assert_eq!(zero, if up > 0.0 { down } else { up });
                }
            }
        }
    }

    #[test]
    fn directed_sums_of_singles_agree_with_exact_doubles() {
        // Exponents within 20 of each other: the sum of two singles is exact as a double.
        let mut state = 3u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let pick = |bits: u64| (bits as u32 & 0x807f_ffff) | ((118 + (bits >> 33) as u32 % 20) << 23);
            let (a, b) = (pick(state), pick(state.rotate_left(31)));
            let exact = f64::from(f32::from_bits(a)) + f64::from(f32::from_bits(b));
            let near = exact as f32;
            let down = if f64::from(near) > exact { near.next_down() } else { near };
            let soft = add(Format::SINGLE, Rounding::Down, a.into(), b.into());
            assert_eq!(soft as u32, if exact == 0.0 { 0x8000_0000 } else { down.to_bits() });
        }
    }

    #[test]
    fn zeros_that_cancel_are_negative_only_when_rounding_down() {
        let (one, minus) = (u64::from(1f32.to_bits()), u64::from((-1f32).to_bits()));
        assert_eq!(add(Format::SINGLE, Rounding::Nearest, one, minus), 0);
        assert_eq!(add(Format::SINGLE, Rounding::Down, one, minus), 0x8000_0000);
        assert_eq!(root(Format::SINGLE, Rounding::Up, 0x8000_0000), 0x8000_0000);
        assert_eq!(root(Format::SINGLE, Rounding::Up, minus), 0x7fff_ffff);
    }
}
