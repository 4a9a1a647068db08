//! Conversions that a cast of the processor does as the hardware would.

use crate::arith::convert::carried;
use crate::arith::float::canonical;
use crate::arith::half::{Brain, Half, Narrow};
use crate::arith::round::Format;
use crate::exec::registers::{File, map1};
use crate::program::compute::Cast;
use crate::program::slot::Slot;

/// One of the quick conversions.
#[inline(always)]
pub(crate) fn convert(file: &mut File<'_>, mask: u32, how: Cast, slots: [Slot; 2]) {
    match how {
        Cast::Extend { bits, signed } => {
            let unused = 32 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: i32| a << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u32| a << unused >> unused);
            }
        }
        Cast::ExtendLong { bits, signed } => {
            let unused = 64 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: u32| i64::from(a) << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u32| u64::from(a) << unused >> unused);
            }
        }
        Cast::Cut { bits, signed } => {
            let unused = 32 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: u64| (a as i32) << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u64| (a as u32) << unused >> unused);
            }
        }
        Cast::SignedToSingle => map1(file, mask, slots, |a: i32| (a as f32).to_bits()),
        Cast::UnsignedToSingle => map1(file, mask, slots, |a: u32| (a as f32).to_bits()),
        Cast::SignedToDouble => map1(file, mask, slots, |a: i32| f64::from(a).to_bits()),
        Cast::UnsignedToDouble => map1(file, mask, slots, |a: u32| f64::from(a).to_bits()),
        Cast::LongToSingle => map1(file, mask, slots, |a: i64| (a as f32).to_bits()),
        Cast::LongToDouble => map1(file, mask, slots, |a: i64| (a as f64).to_bits()),
        Cast::UnsignedLongToSingle => map1(file, mask, slots, |a: u64| (a as f32).to_bits()),
        Cast::UnsignedLongToDouble => map1(file, mask, slots, |a: u64| (a as f64).to_bits()),
        // Casts cut towards zero, clamp, and make zero of NaN; of doubles the hardware makes the least.
        Cast::SingleToSigned => map1(file, mask, slots, |a: f32| a as i32),
        Cast::SingleToUnsigned => map1(file, mask, slots, |a: f32| a as u32),
        Cast::DoubleToSigned => map1(file, mask, slots, |a: f64| if a.is_nan() { i32::MIN } else { a as i32 }),
        Cast::SingleToDouble => map1(file, mask, slots, widen),
        Cast::DoubleToSingle => map1(file, mask, slots, cut),
        Cast::HalfToSingle => map1(file, mask, slots, |a: u16| canonical(Half::widen(a))),
        Cast::SingleToHalf => map1(file, mask, slots, |a: f32| Half::narrow(a.into())),
        Cast::BrainToSingle => map1(file, mask, slots, |a: u16| Brain::widen(a).to_bits()),
        Cast::SingleToBrain => map1(file, mask, slots, |a: f32| Brain::narrow(a.into())),
    }
}

#[inline(always)]
fn widen(value: f32) -> u64 {
    if value.is_nan() {
        return carried(Format::SINGLE, Format::DOUBLE, value.to_bits().into());
    }
    f64::from(value).to_bits()
}

#[inline(always)]
fn cut(value: f64) -> u32 {
    if value.is_nan() {
        return carried(Format::DOUBLE, Format::SINGLE, value.to_bits()) as u32;
    }
    (value as f32).to_bits()
}
