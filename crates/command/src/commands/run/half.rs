//! Floating-point numbers of 16 bits, as bits: IEEE half precision and bfloat16.
//!
//! The crate `half` has these, and derive macros with it that would be the slowest part of building the
//! command; the two conversions are short.

/// The layout of the 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Five bits of exponent, ten of fraction.
    F16,
    /// Eight bits of exponent, seven of fraction.
    Bf16,
}

impl Format {
    fn fraction_bits(self) -> i32 {
        match self {
            Format::F16 => 10,
            Format::Bf16 => 7,
        }
    }

    /// The exponent of the largest numbers.
    fn bias(self) -> i32 {
        match self {
            Format::F16 => 15,
            Format::Bf16 => 127,
        }
    }
}

/// The value of the bits.
pub(super) fn decode(bits: u16, format: Format) -> f64 {
    let fraction_bits = format.fraction_bits();
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits & 0x7fff) >> fraction_bits;
    let fraction = f64::from(i32::from(bits) & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
    match exponent {
        0 => sign * fraction * 2_f64.powi(1 - format.bias()),
        _ if exponent == 2 * format.bias() + 1 && fraction == 0.0 => sign * f64::INFINITY,
        _ if exponent == 2 * format.bias() + 1 => f64::NAN,
        _ => sign * (1.0 + fraction) * 2_f64.powi(exponent - format.bias()),
    }
}

/// The bits of the nearest value; of two that are as near, the even one.
pub(super) fn encode(value: f64, format: Format) -> u16 {
    let fraction_bits = format.fraction_bits();
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let infinity = (2 * format.bias() + 1) << fraction_bits;
    if value.is_nan() {
        return sign | (infinity | 1 << (fraction_bits - 1)) as u16;
    }
    // In units of the last place, at the exponent of the value, or of the smallest normal numbers.
    let exponent = (((value.abs().to_bits() >> 52) as i32) - 1023).max(1 - format.bias());
    let steps = (value.abs() * 2_f64.powi(fraction_bits - exponent)).round_ties_even();
    if exponent > format.bias() || !steps.is_finite() {
        return sign | infinity as u16;
    }
    // A normal number has 1 << fraction_bits steps, which count as the first unit of its exponent. Rounding
    // up to the next power of two carries into the exponent, and from the largest number to infinity.
    let below = (exponent + format.bias() - 1) << fraction_bits;
    sign | (below + steps as i32).min(infinity) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_decoded_and_encoded_to_its_bits() {
        for format in [Format::F16, Format::Bf16] {
            for bits in 0..=u16::MAX {
                let value = decode(bits, format);
                if value.is_nan() {
                    assert!(decode(encode(value, format), format).is_nan());
                } else {
                    assert_eq!(encode(value, format), bits, "{value}");
                }
            }
        }
    }

    #[test]
    fn values_are_rounded_to_the_nearest_and_ties_to_even() {
        for (value, bits) in [
            (1.0, 0x3c00),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e300, 0x7c00),
            (-1e-300, 0x8000),
            (2_f64.powi(-25), 0),
            (3.0 * 2_f64.powi(-26), 1),
        ] {
            assert_eq!(encode(value, Format::F16), bits, "{value}");
        }
        assert_eq!((encode(1.0, Format::Bf16), encode(3e38, Format::Bf16)), (0x3f80, 0x7f62));
        assert_eq!(encode(f64::NEG_INFINITY, Format::Bf16), 0xff80);
    }
}
