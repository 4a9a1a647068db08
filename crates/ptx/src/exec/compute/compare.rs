//! Comparisons in registers: `setp` and `set`.

use super::super::registers::{File, Lane, ask2};
use super::each;
use crate::arith::compare::{Comparable, Comparison};
use crate::arith::float::flushed;
use crate::arith::half::{Brain, Half, Narrow};
use crate::lanes::{LANES, by_lane};
use crate::program::compute::{Combine, Compared, HalfType, Int, Truth};
use crate::program::slot::Slot;

/// The lanes for which the comparison holds.
#[inline(always)]
pub(super) fn ask(file: &File<'_>, what: Compared, how: Comparison, slots: [Slot; 2]) -> u32 {
    match what {
        Compared::Int(int) => each!(int, T => question::<T>(file, how, slots, |value| value)),
        Compared::F32(false) => question::<f32>(file, how, slots, |value| value),
        Compared::F32(true) => question::<f32>(file, how, slots, flushed),
        Compared::F64 => question::<f64>(file, how, slots, |value| value),
        Compared::Half(HalfType::Bf16 | HalfType::Bf16x2, _) => {
            narrow(file, how, slots, |bits| Brain::widen(bits as u16))
        }
        Compared::Half(_, flush) => narrow(file, how, slots, |bits| half(flush, bits as u16)),
    }
}

#[inline(always)]
fn half(flush: bool, bits: u16) -> f32 {
    Half::widen(crate::arith::half::flush::<Half>(flush, bits))
}

#[inline(always)]
fn narrow(file: &File<'_>, how: Comparison, slots: [Slot; 2], widen: impl Fn(u32) -> f32) -> u32 {
    ask2(file, slots, |a: u32, b: u32| crate::arith::compare::holds(how, widen(a), widen(b)))
}

/// The match is outside of the loop over lanes, so that each loop is one comparison of rows.
#[inline(always)]
fn question<T: Lane + Comparable>(file: &File<'_>, how: Comparison, slots: [Slot; 2], enter: impl Fn(T) -> T) -> u32 {
    let ask = |holds: fn(T, T) -> bool| ask2(file, slots, |a: T, b: T| holds(enter(a), enter(b)));
    match how {
        Comparison::Equal => ask2(file, slots, |a: T, b: T| enter(a) == enter(b)),
        Comparison::NotEqualOrUnordered => ask2(file, slots, |a: T, b: T| enter(a) != enter(b)),
        Comparison::Less => ask2(file, slots, |a: T, b: T| enter(a) < enter(b)),
        Comparison::LessEqual => ask2(file, slots, |a: T, b: T| enter(a) <= enter(b)),
        Comparison::Greater => ask2(file, slots, |a: T, b: T| enter(a) > enter(b)),
        Comparison::GreaterEqual => ask2(file, slots, |a: T, b: T| enter(a) >= enter(b)),
        Comparison::NotEqual => ask2(file, slots, |a: T, b: T| (enter(a) != enter(b)) & !enter(a).unordered(enter(b))),
        Comparison::EqualOrUnordered => ask(|a, b| a == b || a.unordered(b)),
        Comparison::LessOrUnordered => ask(|a, b| a < b || a.unordered(b)),
        Comparison::LessEqualOrUnordered => ask(|a, b| a <= b || a.unordered(b)),
        Comparison::GreaterOrUnordered => ask(|a, b| a > b || a.unordered(b)),
        Comparison::GreaterEqualOrUnordered => ask(|a, b| a >= b || a.unordered(b)),
        Comparison::Ordered => ask(|a, b| !a.unordered(b)),
        Comparison::Unordered => ask(|a, b| a.unordered(b)),
    }
}

/// The results for the first and for the second predicate.
#[inline(always)]
pub(super) fn combine(file: &File<'_>, how: Combine, third: Slot, holds: u32) -> (u32, u32) {
    match how {
        Combine::None => (holds, !holds),
        Combine::And => (holds & file.predicate(third), !holds & file.predicate(third)),
        Combine::Or => (holds | file.predicate(third), !holds | file.predicate(third)),
        Combine::Xor => (holds ^ file.predicate(third), !holds ^ file.predicate(third)),
    }
}

/// `set`: a number instead of a predicate; pairs of halves are compared half by half.
pub(super) fn set(
    file: &mut File<'_>,
    mask: u32,
    what: Compared,
    how: Comparison,
    with: Combine,
    truth: Truth,
    [d, a, b, third]: [Slot; 4],
) {
    let row: [u32; LANES] = if let Compared::Half(HalfType::F16x2 | HalfType::Bf16x2, _) = what {
        let (low, _) = combine(file, with, third, ask(file, what, how, [a, b]));
        let high = upper(file, what, how, [a, b]);
        let (high, _) = combine(file, with, third, high);
        let value = halves(truth);
        by_lane(|lane| ((low >> lane & 1) * value) | (((high >> lane & 1) * value) << 16))
    } else {
        let (holds, _) = combine(file, with, third, ask(file, what, how, [a, b]));
        let value = match truth {
            Truth::Ones => u32::MAX,
            Truth::Single => 1f32.to_bits(),
            Truth::ShortOnes | Truth::Half(_) => halves(truth),
        };
        by_lane(|lane| (holds >> lane & 1) * value)
    };
    file.set_words(d, mask, &row);
}

fn halves(truth: Truth) -> u32 {
    match truth {
        Truth::Ones | Truth::ShortOnes => 0xffff,
        Truth::Half(HalfType::Bf16 | HalfType::Bf16x2) => 0x3f80,
        Truth::Single | Truth::Half(_) => 0x3c00,
    }
}

/// The same comparison of the upper halves.
pub(super) fn upper(file: &File<'_>, what: Compared, how: Comparison, slots: [Slot; 2]) -> u32 {
    match what {
        Compared::Half(HalfType::Bf16 | HalfType::Bf16x2, _) => {
            narrow(file, how, slots, |bits| Brain::widen((bits >> 16) as u16))
        }
        Compared::Half(_, flush) => narrow(file, how, slots, |bits| half(flush, (bits >> 16) as u16)),
        _ => 0,
    }
}
