//! Sixteen-bit floating point in registers.

use super::super::registers::{File, map1, map2, map3};
use crate::arith::half::{self, Brain, Half, Narrow, pairwise};
use crate::arith::{approximate, extreme};
use crate::program::compute::{Compute, Function, HalfType};
use crate::program::slot::Slot;

/// One of the operations on halves.
pub(super) fn compute(file: &mut File<'_>, mask: u32, what: Compute, slots: [Slot; 4]) {
    match half_type(what) {
        HalfType::F16 | HalfType::F16x2 => narrow::<Half>(file, mask, what, slots),
        HalfType::Bf16 | HalfType::Bf16x2 => narrow::<Brain>(file, mask, what, slots),
    }
}

fn half_type(what: Compute) -> HalfType {
    match what {
        Compute::AddHalf(half, _)
        | Compute::SubtractHalf(half, _)
        | Compute::MultiplyHalf(half, _)
        | Compute::FusedHalf(half, _)
        | Compute::MagnitudeHalf(half, _)
        | Compute::NegateHalf(half, _)
        | Compute::ExtremeHalf(half, _)
        | Compute::ApproximateHalf(half, ..) => half,
        _ => HalfType::F16,
    }
}

/// Both halves of a word; the upper one of a single half is zero on the way in and of no interest on the way
/// out.
fn narrow<N: Narrow>(file: &mut File<'_>, mask: u32, what: Compute, [d, a, b, c]: [Slot; 4]) {
    let two = [d, a, b];
    match what {
        Compute::AddHalf(_, edge) => map2(file, mask, two, |a, b| pairwise(a, b, |a, b| half::add::<N>(edge, a, b))),
        Compute::SubtractHalf(_, edge) => {
            map2(file, mask, two, |a, b| pairwise(a, b, |a, b| half::subtract::<N>(edge, a, b)));
        }
        Compute::MultiplyHalf(_, edge) => {
            map2(file, mask, two, |a, b| pairwise(a, b, |a, b| half::multiply::<N>(edge, a, b)));
        }
        Compute::FusedHalf(_, edge) => map3(file, mask, [d, a, b, c], |a: u32, b: u32, c: u32| {
            let low = half::fused::<N>(edge, a as u16, b as u16, c as u16);
            let high = half::fused::<N>(edge, (a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
            u32::from(high) << 16 | u32::from(low)
        }),
        Compute::MagnitudeHalf(_, flush) => {
            map1(file, mask, [d, a], |a: u32| pairwise(a, a, |a, _| half::sign::<N>(flush, a, |a| a & 0x7fff)));
        }
        Compute::NegateHalf(_, flush) => {
            map1(file, mask, [d, a], |a: u32| pairwise(a, a, |a, _| half::sign::<N>(flush, a, |a| a ^ 0x8000)));
        }
        Compute::ExtremeHalf(_, choice) => {
            map2(file, mask, two, |a, b| pairwise(a, b, |a, b| extreme::narrow::<N>(choice, a, b)));
        }
        Compute::ApproximateHalf(_, function, flush) => {
            map1(file, mask, [d, a], |a: u32| pairwise(a, a, |a, _| approximated::<N>(function, flush, a)));
        }
        _ => {}
    }
}

fn approximated<N: Narrow>(function: Function, flush: bool, value: u16) -> u16 {
    let wide = N::widen(value);
    let result = match function {
        Function::Tangent => approximate::hyperbolic_tangent(wide),
        _ => approximate::exponential(false, wide),
    };
    half::flush::<N>(flush, N::narrow(f32::from_bits(result).into()))
}

/// `min` and `max` of two integers in each word.
pub(super) fn integer_pair(greater: bool, signed: bool, a: u32, b: u32) -> u32 {
    pairwise(a, b, |a, b| {
        let less = if signed { a.cast_signed() < b.cast_signed() } else { a < b };
        if less != greater { a } else { b }
    })
}
