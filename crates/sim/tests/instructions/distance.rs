//! Distance between two results.

use crate::variant::{Bound, Format};

impl Bound {
    /// `true` if the bound allows our result in place of the hardware's.
    pub(crate) fn admits(self, ours: u64, theirs: u64) -> bool {
        if ours == theirs {
            return true;
        }
        match self {
            Bound::Exact => false,
            Bound::Steps(format, steps) => apart(format, ours, theirs).is_some_and(|apart| apart <= steps),
            Bound::Absolute(steps, limit) => {
                let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
                let near = (value(ours) - value(theirs)).abs() <= limit;
                near || apart(Format::F32, ours, theirs).is_some_and(|apart| apart <= steps)
            }
        }
    }
}

/// The distance of two numbers in units of the last place, or `None` if one of them is NaN or infinite.
pub(crate) fn apart(format: Format, a: u64, b: u64) -> Option<u64> {
    let (fraction, exponent) = match format {
        Format::F16 => (10, 5),
        Format::Bf16 => (7, 8),
        Format::F32 => (23, 8),
        Format::F64 => (52, 11),
    };
    let sign = 1u64 << (fraction + exponent);
    let infinity = ((1 << exponent) - 1) << fraction;
    let place = |bits: u64| {
        let magnitude = bits & (sign - 1);
        let place = magnitude.cast_signed();
        (magnitude < infinity).then_some(if bits & sign == 0 { place } else { -place })
    };
    Some(place(a)?.abs_diff(place(b)?))
}
