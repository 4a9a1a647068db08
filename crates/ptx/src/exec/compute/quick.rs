//! Conversions that the processor does as the hardware would.

use super::super::arith::float::canonical;
use super::super::arith::half::{Brain, Half, Narrow};
use super::super::registers::{File, map1};
use crate::program::compute::Quick;
use crate::program::slot::Slot;

/// One of the quick conversions.
#[inline(always)]
pub(super) fn convert(file: &mut File<'_>, mask: u32, how: Quick, slots: [Slot; 2]) {
    match how {
        Quick::Extend { bits, signed } => {
            let unused = 32 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: i32| a << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u32| a << unused >> unused);
            }
        }
        Quick::ExtendLong { bits, signed } => {
            let unused = 64 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: u32| i64::from(a) << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u32| u64::from(a) << unused >> unused);
            }
        }
        Quick::Cut { bits, signed } => {
            let unused = 32 - u32::from(bits);
            if signed {
                map1(file, mask, slots, |a: u64| (a as i32) << unused >> unused);
            } else {
                map1(file, mask, slots, |a: u64| (a as u32) << unused >> unused);
            }
        }
        Quick::SignedToSingle => map1(file, mask, slots, |a: i32| a as f32),
        Quick::UnsignedToSingle => map1(file, mask, slots, |a: u32| a as f32),
        Quick::SignedToDouble => map1(file, mask, slots, |a: i32| f64::from(a)),
        Quick::UnsignedToDouble => map1(file, mask, slots, |a: u32| f64::from(a)),
        Quick::LongToSingle => map1(file, mask, slots, |a: i64| a as f32),
        Quick::LongToDouble => map1(file, mask, slots, |a: i64| a as f64),
        Quick::UnsignedLongToSingle => map1(file, mask, slots, |a: u64| a as f32),
        Quick::UnsignedLongToDouble => map1(file, mask, slots, |a: u64| a as f64),
        // Casts cut towards zero, clamp, and make zero of what is no number.
        Quick::SingleToSigned => map1(file, mask, slots, |a: f32| a as i32),
        Quick::SingleToUnsigned => map1(file, mask, slots, |a: f32| a as u32),
        Quick::DoubleToSigned => map1(file, mask, slots, |a: f64| a as i32),
        Quick::SingleToDouble => map1(file, mask, slots, widen),
        Quick::DoubleToSingle => map1(file, mask, slots, |a: f64| canonical(a as f32)),
        Quick::HalfToSingle => map1(file, mask, slots, |a: u16| canonical(Half::widen(a))),
        Quick::SingleToHalf => map1(file, mask, slots, |a: f32| Half::narrow(a.into())),
        Quick::BrainToSingle => map1(file, mask, slots, |a: u16| canonical(Brain::widen(a))),
        Quick::SingleToBrain => map1(file, mask, slots, |a: f32| Brain::narrow(a.into())),
    }
}

#[inline(always)]
fn widen(value: f32) -> f64 {
    let wide = f64::from(value);
    if wide.is_nan() { f64::from_bits(0xfff8_0000_0000_0000) } else { wide }
}
