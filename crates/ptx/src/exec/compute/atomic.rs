//! The value that an atomic operation writes.

use crate::arith::extreme::{self, Choice};
use crate::arith::float::{self, Mode};
use crate::arith::half::{self, Brain, Edge, Half};
use crate::arith::round::Rounding;
use crate::program::atomic::{Atom, Change};

/// The value to write, given the old one, in shared or in global memory.
pub(crate) fn changed(change: Change, scalar: Atom, shared: bool, old: u64, b: u64, c: u64) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match change {
        Change::Exchange => b,
        Change::CompareAndSwap => {
            let mask = u64::MAX >> (64 - 8 * u32::from(scalar.bytes()));
            if old & mask == b & mask { c } else { old }
        }
        Change::And => old & b,
        Change::Or => old | b,
        Change::Xor => old ^ b,
        Change::Increment => u64::from(if old32 >= b32 { 0 } else { old32 + 1 }),
        Change::Decrement => u64::from(if old32 == 0 || old32 > b32 { b32 } else { old32 - 1 }),
        Change::Add => added(scalar, shared, old, b),
        Change::Minimum => extreme_of(scalar, false, old, b),
        Change::Maximum => extreme_of(scalar, true, old, b),
    }
}

const PLAIN: Edge = Edge { flush: false, saturate: false, rectify: false, outside: false };

/// Global memory adds by itself: subnormal singles are zeros there, and a double that is no number stays as
/// it is.
fn added(scalar: Atom, shared: bool, old: u64, b: u64) -> u64 {
    let (old32, b32) = (old as u32, b as u32);
    match scalar {
        Atom::U16 => (old as u16).wrapping_add(b as u16).into(),
        Atom::U32 | Atom::S32 => old32.wrapping_add(b32).into(),
        Atom::U64 | Atom::S64 => old.wrapping_add(b),
        Atom::F32 | Atom::WholeF32 => {
            let mode = Mode { flush: !shared && scalar == Atom::F32, ..Mode::PLAIN };
            float::add(mode, f32::from_bits(old32), f32::from_bits(b32)).into()
        }
        Atom::F64 => {
            let (x, y) = (f64::from_bits(old), f64::from_bits(b));
            match (shared, x.is_nan(), y.is_nan()) {
                (false, _, true) => b,
                (false, true, false) => old,
                // In shared memory it is the sum of the operand and the old value.
                _ => float::double::add(Rounding::Nearest, y, x),
            }
        }
        Atom::F16 => half::add::<Half>(PLAIN, old as u16, b as u16).into(),
        Atom::Bf16 => half::add::<Brain>(PLAIN, old as u16, b as u16).into(),
        Atom::F16x2 => half::pairwise(old32, b32, |a, b| half::add::<Half>(PLAIN, a, b)).into(),
        Atom::Bf16x2 => half::pairwise(old32, b32, |a, b| half::add::<Brain>(PLAIN, a, b)).into(),
    }
}

fn extreme_of(scalar: Atom, greater: bool, old: u64, b: u64) -> u64 {
    let choice = Choice { greater, strict: false, flush: false, signs: false };
    let (old32, b32) = (old as u32, b as u32);
    let pick = |less: bool| if less != greater { old } else { b };
    match scalar {
        Atom::U16 => pick((old as u16) < b as u16),
        Atom::U32 => pick(old32 < b32),
        Atom::S32 => pick(old32.cast_signed() < b32.cast_signed()),
        Atom::U64 => pick(old < b),
        Atom::S64 => pick(old.cast_signed() < b.cast_signed()),
        Atom::F32 | Atom::WholeF32 => extreme::single(choice, f32::from_bits(old32), f32::from_bits(b32)).into(),
        Atom::F64 => extreme::double(choice, old, b),
        Atom::F16 => extreme::narrow::<Half>(choice, old as u16, b as u16).into(),
        Atom::Bf16 => extreme::narrow::<Brain>(choice, old as u16, b as u16).into(),
        Atom::F16x2 => half::pairwise(old32, b32, |a, b| extreme::narrow::<Half>(choice, a, b)).into(),
        Atom::Bf16x2 => half::pairwise(old32, b32, |a, b| extreme::narrow::<Brain>(choice, a, b)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_where_they_are_told_to() {
        let inc = |old, limit| changed(Change::Increment, Atom::U32, false, old, limit, 0);
        assert_eq!([inc(3, 5), inc(5, 5), inc(9, 5)], [4, 0, 0]);
        let dec = |old, limit| changed(Change::Decrement, Atom::U32, false, old, limit, 0);
        assert_eq!([dec(3, 5), dec(0, 5), dec(9, 5)], [2, 5, 5]);
    }

    #[test]
    fn extremes_depend_on_the_sign() {
        let minus = u64::from(u32::MAX);
        assert_eq!(changed(Change::Minimum, Atom::S32, false, minus, 1, 0), minus);
        assert_eq!(changed(Change::Minimum, Atom::U32, false, minus, 1, 0), 1);
        assert_eq!(changed(Change::Maximum, Atom::S64, false, u64::MAX, 1, 0), 1);
    }

    #[test]
    fn swaps_compare_no_more_than_their_width() {
        assert_eq!(changed(Change::CompareAndSwap, Atom::U16, false, 0x5, 0xff_0005, 7), 7);
        assert_eq!(changed(Change::CompareAndSwap, Atom::U32, false, 5, 6, 7), 5);
    }

    #[test]
    fn global_memory_adds_subnormal_singles_as_zeros() {
        let add = |shared| changed(Change::Add, Atom::F32, shared, 1, 0x8080_0001, 0);
        assert_eq!((add(false), add(true)), (0x8080_0001, 0x8080_0000));
        let nan = 0x7ff0_0000_0000_0001;
        let add = |shared| changed(Change::Add, Atom::F64, shared, nan, 0, 0);
        assert_eq!((add(false), add(true)), (nan, nan | 1 << 51));
    }

    #[test]
    fn pairs_are_added_by_halves() {
        assert_eq!(changed(Change::Add, Atom::F16x2, false, 0x3c00_3c00, 0x4000_3c00, 0), 0x4200_4000);
        assert_eq!(changed(Change::Add, Atom::F64, false, 1f64.to_bits(), 2f64.to_bits(), 0), 3f64.to_bits());
    }
}
