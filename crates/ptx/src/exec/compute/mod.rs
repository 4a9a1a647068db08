//! Operations from registers to registers.

use super::registers::{File, ask1, map1, map2, map3};
use crate::arith::convert::Conversion;
use crate::arith::float::{self, Mode, double};
use crate::arith::integer::{self, Integer, dot, saturating, short};
use crate::arith::video::Video;
use crate::arith::{approximate as approx, bits, carry, extreme};
use crate::lanes::{LANES, by_lane, map_row};
use crate::program::compute::{Carry, Compute, Function, Int};
use crate::program::slot::Slot;

pub(crate) mod atomic;
mod compare;
mod convert;
mod half;

/// The same for each integer type, which is `$t` inside.
macro_rules! each {
    ($int:expr, $t:ident => $body:expr) => {
        match $int {
            Int::U16 => {
                type $t = u16;
                $body
            }
            Int::S16 => {
                type $t = i16;
                $body
            }
            Int::U32 => {
                type $t = u32;
                $body
            }
            Int::S32 => {
                type $t = i32;
                $body
            }
            Int::U64 => {
                type $t = u64;
                $body
            }
            Int::S64 => {
                type $t = i64;
                $body
            }
        }
    };
}
use each;

/// [`compute`] for any processor, compiled once: its loops are most of what there is to compile.
#[inline(never)]
pub(crate) fn compute_anywhere(
    file: &mut File<'_>,
    mask: u32,
    what: &Compute,
    slots: &[Slot; 6],
    conversions: &[Conversion],
) {
    compute(file, mask, what, slots, conversions);
}

/// Computes all lanes and writes those of `mask`.
#[inline(always)]
pub(crate) fn compute(file: &mut File<'_>, mask: u32, what: &Compute, slots: &[Slot; 6], conversions: &[Conversion]) {
    let [d, a, b, c, e, _] = *slots;
    match *what {
        Compute::Move => map1(file, mask, one(slots), |a: u32| a),
        Compute::MoveLong => map1(file, mask, one(slots), |a: u64| a),
        Compute::PackLong => map2(file, mask, two(slots), |low: u32, high: u32| u64::from(high) << 32 | u64::from(low)),
        Compute::UnpackLong => {
            let from = *file.longs(b);
            let (mut low, mut high) = ([0; LANES], [0; LANES]);
            for lane in 0..LANES {
                (low[lane], high[lane]) = (from[lane] as u32, (from[lane] >> 32) as u32);
            }
            file.set_words(d, mask, &low);
            file.set_words(a, mask, &high);
        }
        Compute::PackWord => map2(file, mask, two(slots), |low: u32, high: u32| high << 16 | (low & 0xffff)),
        Compute::UnpackWord => {
            let from = *file.words(b);
            file.set_words(d, mask, &map_row(&from, |value| value & 0xffff));
            file.set_words(a, mask, &map_row(&from, |value| value >> 16));
        }
        Compute::Add(Int::U32) => map2(file, mask, two(slots), u32::wrapping_add),
        Compute::Add(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.plus(b))),
        Compute::Subtract(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.minus(b))),
        Compute::Multiply(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.times(b))),
        Compute::MultiplyHigh(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.times_high(b))),
        Compute::MultiplyWide(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.times_wide(b))),
        Compute::MultiplyAdd(int) => {
            each!(int, T => map3(file, mask, three(slots), |a: T, b: T, c: T| a.times(b).plus(c)))
        }
        Compute::MultiplyAddHigh(int) => {
            each!(int, T => map3(file, mask, three(slots), |a: T, b: T, c: T| a.times_high(b).plus(c)));
        }
        Compute::MultiplyAddWide(int) => each!(int, T => {
            map3(file, mask, three(slots), |a: T, b: T, c: <T as Integer>::Wide| a.times_wide(b).plus(c));
        }),
        Compute::AddSaturating => map2(file, mask, two(slots), saturating::add),
        Compute::SubtractSaturating => map2(file, mask, two(slots), saturating::subtract),
        Compute::MultiplyAddHighSaturating => map3(file, mask, three(slots), saturating::multiply_add_high),
        Compute::AddCarry(how) => carrying(file, mask, how, two(slots), carry::single::add, carry::double::add),
        Compute::SubtractCarry(how) => {
            carrying(file, mask, how, two(slots), carry::single::subtract, carry::double::subtract)
        }
        Compute::MultiplyAddCarry { high, signed, carry: how } => {
            multiply_carrying(file, mask, high, signed, how, three(slots))
        }
        Compute::Multiply24 { high, signed: true } => map2(file, mask, two(slots), |a, b| short::signed(high, a, b)),
        Compute::Multiply24 { high, signed: false } => map2(file, mask, two(slots), |a, b| short::unsigned(high, a, b)),
        Compute::MultiplyAdd24 { high, signed: true } => {
            map3(file, mask, three(slots), |a, b, c: i32| short::signed(high, a, b).wrapping_add(c));
        }
        Compute::MultiplyAdd24 { high, signed: false } => {
            map3(file, mask, three(slots), |a, b, c: u32| short::unsigned(high, a, b).wrapping_add(c));
        }
        Compute::MultiplyAdd24Saturating => {
            map3(file, mask, three(slots), |a, b, c: i32| short::signed(true, a, b).saturating_add(c));
        }
        Compute::Divide(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.over(b))),
        Compute::Remainder(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.modulo(b))),
        Compute::Distance(int) => {
            each!(int, T => map3(file, mask, three(slots), |a: T, b: T, c: T| a.distance(b).plus(c)))
        }
        Compute::Magnitude(int) => each!(int, T => map1(file, mask, one(slots), |a: T| a.magnitude())),
        Compute::Negate(int) => each!(int, T => map1(file, mask, one(slots), |a: T| a.negated())),
        Compute::Minimum(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.min(b))),
        Compute::Maximum(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: T| a.max(b))),
        Compute::PairExtreme { greater, signed } => {
            map2(file, mask, two(slots), |a: u32, b: u32| half::integer_pair(greater, signed, a, b));
        }
        Compute::PairAdd => {
            map2(file, mask, two(slots), |a: u32, b: u32| crate::arith::half::pairwise(a, b, u16::wrapping_add));
        }
        Compute::And => map2(file, mask, two(slots), |a: u32, b: u32| a & b),
        Compute::AndLong => map2(file, mask, two(slots), |a: u64, b: u64| a & b),
        Compute::Or => map2(file, mask, two(slots), |a: u32, b: u32| a | b),
        Compute::OrLong => map2(file, mask, two(slots), |a: u64, b: u64| a | b),
        Compute::Xor => map2(file, mask, two(slots), |a: u32, b: u32| a ^ b),
        Compute::XorLong => map2(file, mask, two(slots), |a: u64, b: u64| a ^ b),
        Compute::Not => map1(file, mask, one(slots), |a: u32| !a),
        Compute::NotLong => map1(file, mask, one(slots), |a: u64| !a),
        Compute::IsZero(int) => each!(int, T => map1(file, mask, one(slots), |a: T| T::from(a == 0))),
        Compute::Table(function) => map3(file, mask, three(slots), |a, b, c| bits::table(function, a, b, c)),
        Compute::ShiftLeft(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: u32| a.shift_left(b))),
        Compute::ShiftRight(int) => each!(int, T => map2(file, mask, two(slots), |a: T, b: u32| a.shift_right(b))),
        Compute::Funnel { left, wrap } => map3(file, mask, three(slots), |a, b, c| bits::funnel(left, wrap, a, b, c)),
        Compute::Permute(kind) => map3(file, mask, three(slots), |a, b, c| bits::permute(kind, a, b, c)),
        Compute::Field(Int::S32 | Int::S16) => {
            map3(file, mask, three(slots), |a: i32, b, c| bits::signed_field(32, a.into(), b, c) as i32);
        }
        Compute::Field(Int::S64) => map3(file, mask, three(slots), |a: i64, b, c| bits::signed_field(64, a, b, c)),
        Compute::Field(Int::U64) => map3(file, mask, three(slots), |a, b, c| bits::field(64, a, b, c)),
        Compute::Field(Int::U32 | Int::U16) => {
            map3(file, mask, three(slots), |a: u32, b, c| bits::field(32, a.into(), b, c) as u32);
        }
        Compute::Insert { long: false } => {
            let row = by_lane(|lane| {
                let (value, base) = (file.words(a)[lane].into(), file.words(b)[lane].into());
                bits::insert(32, value, base, file.words(c)[lane], file.words(e)[lane]) as u32
            });
            file.set_words(d, mask, &row);
        }
        Compute::Insert { long: true } => {
            let row = by_lane(|index| {
                let (value, base) = (file.longs(a)[index], file.longs(b)[index]);
                bits::insert(64, value, base, file.words(c)[index], file.words(e)[index])
            });
            file.set_longs(d, mask, &row);
        }
        Compute::Find { int, distance } => match int {
            Int::U64 => map1(file, mask, one(slots), |a| bits::find(64, a, false, distance)),
            Int::S64 => map1(file, mask, one(slots), |a| bits::find(64, a, true, distance)),
            Int::S32 | Int::S16 => map1(file, mask, one(slots), |a: u32| bits::find(32, a.into(), true, distance)),
            Int::U32 | Int::U16 => map1(file, mask, one(slots), |a: u32| bits::find(32, a.into(), false, distance)),
        },
        Compute::Reverse { long: false } => map1(file, mask, one(slots), u32::reverse_bits),
        Compute::Reverse { long: true } => map1(file, mask, one(slots), u64::reverse_bits),
        Compute::LeadingZeros { long: false } => map1(file, mask, one(slots), u32::leading_zeros),
        Compute::LeadingZeros { long: true } => map1(file, mask, one(slots), u64::leading_zeros),
        Compute::Population { long: false } => map1(file, mask, one(slots), u32::count_ones),
        Compute::Population { long: true } => map1(file, mask, one(slots), u64::count_ones),
        Compute::Ones { wrap } => map2(file, mask, two(slots), |a, b| bits::ones(a, b, wrap)),
        Compute::Extend { signed, wrap } => map2(file, mask, two(slots), |a, b| bits::extend(signed, wrap, a, b)),
        Compute::NthSet => map3(file, mask, three(slots), bits::nth_set),
        Compute::DotBytes { signed: [x, y] } => map3(file, mask, three(slots), |a, b, c| dot::bytes(a, x, b, y, c)),
        Compute::DotHalves { high, signed: [x, y] } => {
            map3(file, mask, three(slots), |a, b, c| dot::halves(high, a, x, b, y, c));
        }
        Compute::AddSingle(Mode::PLAIN) => map2(file, mask, two(slots), |a: f32, b: f32| float::canonical(a + b)),
        Compute::AddSingle(mode) => map2(file, mask, two(slots), |a, b| float::add(mode, a, b)),
        Compute::SubtractSingle(Mode::PLAIN) => map2(file, mask, two(slots), |a: f32, b: f32| float::canonical(a - b)),
        Compute::SubtractSingle(mode) => map2(file, mask, two(slots), |a, b| float::subtract(mode, a, b)),
        Compute::MultiplySingle(Mode::PLAIN) => map2(file, mask, two(slots), |a: f32, b: f32| float::canonical(a * b)),
        Compute::MultiplySingle(mode) => map2(file, mask, two(slots), |a, b| float::multiply(mode, a, b)),
        Compute::FusedSingle(Mode::PLAIN) => {
            map3(file, mask, three(slots), |a: f32, b: f32, c: f32| float::canonical(a.mul_add(b, c)));
        }
        Compute::FusedSingle(mode) => map3(file, mask, three(slots), |a, b, c| float::fused(mode, a, b, c)),
        Compute::DivideSingle(mode) => map2(file, mask, two(slots), |a, b| float::divide(mode, a, b)),
        Compute::ReciprocalSingle(mode) => map1(file, mask, one(slots), |a| float::divide(mode, 1.0, a)),
        Compute::RootSingle(mode) => map1(file, mask, one(slots), |a| float::root(mode, a)),
        Compute::QuotientApproximate(flush) => map2(file, mask, two(slots), |a, b| approx::quotient(flush, a, b)),
        Compute::QuotientFull(flush) => map2(file, mask, two(slots), |a, b| approx::full_quotient(flush, a, b)),
        Compute::Approximate(function, flush) => approximate(file, mask, function, flush, one(slots)),
        Compute::ReciprocalRootDouble => map1(file, mask, one(slots), approx::reciprocal_root_double),
        Compute::ReciprocalHalfway => map1(file, mask, one(slots), |a| approx::upper_half(a, |a| 1.0 / a)),
        Compute::ReciprocalRootHalfway => map1(file, mask, one(slots), |a| approx::upper_half(a, |a| 1.0 / a.sqrt())),
        Compute::MagnitudeSingle(flush) => map1(file, mask, one(slots), |a| sign(flush, a, |a| a & !(1 << 31))),
        Compute::NegateSingle(flush) => map1(file, mask, one(slots), |a| sign(flush, a, |a| a ^ 1 << 31)),
        Compute::ExtremeSingle(choice) => map2(file, mask, two(slots), |a, b| extreme::single(choice, a, b)),
        Compute::CopySign => {
            map2(file, mask, two(slots), |sign: u32, value: u32| (value & !(1 << 31)) | (sign & 1 << 31))
        }
        Compute::AddDouble(mode) => map2(file, mask, two(slots), |a, b| double::add(mode, a, b)),
        Compute::SubtractDouble(mode) => map2(file, mask, two(slots), |a, b| double::subtract(mode, a, b)),
        Compute::MultiplyDouble(mode) => map2(file, mask, two(slots), |a, b| double::multiply(mode, a, b)),
        Compute::FusedDouble(mode) => map3(file, mask, three(slots), |a, b, c| double::fused(mode, a, b, c)),
        Compute::DivideDouble(mode) => map2(file, mask, two(slots), |a, b| double::divide(mode, a, b)),
        Compute::ReciprocalDouble(mode) => map1(file, mask, one(slots), |a| double::divide(mode, 1.0, a)),
        Compute::RootDouble(mode) => map1(file, mask, one(slots), |a| double::root(mode, a)),
        Compute::MagnitudeDouble => map1(file, mask, one(slots), |a| double::sign(a, |a| a & !(1 << 63))),
        Compute::NegateDouble => map1(file, mask, one(slots), |a| double::sign(a, |a| a ^ 1 << 63)),
        Compute::ExtremeDouble(choice) => map2(file, mask, two(slots), |a, b| extreme::double(choice, a, b)),
        Compute::CopySignDouble => {
            map2(file, mask, two(slots), |sign: u64, value: u64| (value & !(1 << 63)) | (sign & 1 << 63))
        }
        Compute::AddHalf(..)
        | Compute::SubtractHalf(..)
        | Compute::MultiplyHalf(..)
        | Compute::FusedHalf(..)
        | Compute::MagnitudeHalf(..)
        | Compute::NegateHalf(..)
        | Compute::ExtremeHalf(..)
        | Compute::ApproximateHalf(..) => half::compute(file, mask, *what, three(slots)),
        Compute::Convert { from_long, to_long } => {
            convert(file, mask, [from_long, to_long], one(slots), conversions[b.value() as usize]);
        }
        Compute::ConvertPair => {
            let conversion = conversions[c.value() as usize];
            map2(file, mask, two(slots), |high: u32, low: u32| {
                let part = |value: u32| conversion.apply(value.into()) as u32;
                part(high) << conversion.width() | part(low)
            });
        }
        Compute::ConvertEach => {
            let conversion = conversions[b.value() as usize];
            map1(file, mask, one(slots), |pair: u32| conversion.apply_each(pair));
        }
        Compute::Video => {
            let video = Video::unpacked([slots[4].value(), slots[5].value()]);
            map3(file, mask, three(slots), |a, b, c| video.apply(a, b, c));
        }
        Compute::Pack { bits, signed } => {
            map3(file, mask, three(slots), |a, b, c| integer::packed(u32::from(bits), signed, a, b, c));
        }
        Compute::Cast(how) => convert::convert(file, mask, how, one(slots)),
        Compute::Compare { what, how, combine } => {
            let holds = compare::ask(file, what, how, [b, c]);
            let (holds, fails) = compare::combine(file, combine, e, holds);
            file.set_predicate(d, mask, holds);
            file.set_predicate(a, mask, fails);
        }
        Compute::Set { what, how, combine, truth } => compare::set(file, mask, what, how, combine, truth, [d, b, c, e]),
        Compute::Test { long, property } => {
            let holds = if long {
                ask1(file, a, |value: f64| property.holds(value, value.is_subnormal()))
            } else {
                ask1(file, a, |value: f32| property.holds(value.into(), value.is_subnormal()))
            };
            file.set_predicate(d, mask, holds);
        }
        Compute::Select => {
            let choice = file.predicate(c);
            let (first, second) = (file.words(a), file.words(b));
            let mut row = *second;
            for lane in 0..LANES {
                row[lane] = if choice >> lane & 1 == 1 { first[lane] } else { row[lane] };
            }
            file.set_words(d, mask, &row);
        }
        Compute::SelectLong => {
            let choice = file.predicate(c);
            let (first, second) = (file.longs(a), file.longs(b));
            let mut row = *second;
            for lane in 0..LANES {
                row[lane] = if choice >> lane & 1 == 1 { first[lane] } else { row[lane] };
            }
            file.set_longs(d, mask, &row);
        }
        Compute::SelectBySign { long: false } => {
            map3(file, mask, three(slots), |a: u32, b: u32, c: i32| if c >= 0 { a } else { b });
        }
        Compute::SelectBySign { long: true } => {
            map3(file, mask, three(slots), |a: u64, b: u64, c: i32| if c >= 0 { a } else { b });
        }
        Compute::SelectBySingle { long, flush } => {
            let by = |c: f32| (if flush { float::flushed(c) } else { c }) >= 0.0;
            if long {
                map3(file, mask, three(slots), |a: u64, b: u64, c| if by(c) { a } else { b });
            } else {
                map3(file, mask, three(slots), |a: u32, b: u32, c| if by(c) { a } else { b });
            }
        }
        Compute::PredicateMove => file.set_predicate(d, mask, file.predicate(a)),
        Compute::PredicateNot => file.set_predicate(d, mask, !file.predicate(a)),
        Compute::PredicateAnd => file.set_predicate(d, mask, file.predicate(a) & file.predicate(b)),
        Compute::PredicateOr => file.set_predicate(d, mask, file.predicate(a) | file.predicate(b)),
        Compute::PredicateXor => file.set_predicate(d, mask, file.predicate(a) ^ file.predicate(b)),
        Compute::PredicateConstant => file.set_predicate(d, mask, a.value()),
        Compute::InWindow(window) => {
            let holds = ask1(file, a, |address: u64| file.constants.window(address) == window);
            file.set_predicate(d, mask, holds);
        }
    }
}

// Made where they are needed: operands that are passed in memory would otherwise be put there for every
// instruction.

#[inline(always)]
fn one(&[d, a, ..]: &[Slot; 6]) -> [Slot; 2] {
    [d, a]
}

#[inline(always)]
fn two(&[d, a, b, ..]: &[Slot; 6]) -> [Slot; 3] {
    [d, a, b]
}

#[inline(always)]
fn three(&[d, a, b, c, ..]: &[Slot; 6]) -> [Slot; 4] {
    [d, a, b, c]
}

#[inline(always)]
fn sign(flush: bool, value: f32, change: impl FnOnce(u32) -> u32) -> u32 {
    let value = if flush { float::flushed(value) } else { value };
    // A NaN is made canonical, its sign with it.
    if value.is_nan() { 0x7fff_ffff } else { change(value.to_bits()) }
}

fn convert(file: &mut File<'_>, mask: u32, long: [bool; 2], slots: [Slot; 2], how: Conversion) {
    match long {
        [false, false] => map1(file, mask, slots, |a: u32| how.apply(a.into()) as u32),
        [false, true] => map1(file, mask, slots, |a: u32| how.apply(a.into())),
        [true, false] => map1(file, mask, slots, |a: u64| how.apply(a) as u32),
        [true, true] => map1(file, mask, slots, |a: u64| how.apply(a)),
    }
}

#[inline(always)]
fn approximate(file: &mut File<'_>, mask: u32, function: Function, flush: bool, slots: [Slot; 2]) {
    match function {
        Function::Reciprocal => map1(file, mask, slots, |a| approx::reciprocal(flush, a)),
        Function::Root => map1(file, mask, slots, |a| approx::root(flush, a)),
        Function::ReciprocalRoot => map1(file, mask, slots, |a| approx::reciprocal_root(flush, a)),
        Function::Exponential => map1(file, mask, slots, |a| approx::exponential(flush, a)),
        Function::Logarithm => map1(file, mask, slots, |a| approx::logarithm(flush, a)),
        Function::Sine => map1(file, mask, slots, |a| approx::sine(flush, a)),
        Function::Cosine => map1(file, mask, slots, |a| approx::cosine(flush, a)),
        Function::Tangent => map1(file, mask, slots, approx::hyperbolic_tangent),
    }
}

type Carried<T> = fn(T, T, bool) -> carry::Carried<T>;

fn carrying(
    file: &mut File<'_>,
    mask: u32,
    how: Carry,
    [d, a, b]: [Slot; 3],
    single: Carried<u32>,
    double: Carried<u64>,
) {
    let enter = if how.enter { file.predicate(Slot::CARRY) } else { 0 };
    let mut leave = 0;
    let mut carried = |lane: usize, out: bool| leave |= u32::from(out) << lane;
    if how.long {
        let row = by_lane(|lane| {
            let (value, out) = double(file.longs(a)[lane], file.longs(b)[lane], enter >> lane & 1 == 1);
            carried(lane, out);
            value
        });
        file.set_longs(d, mask, &row);
    } else {
        let row = by_lane(|lane| {
            let (value, out) = single(file.words(a)[lane], file.words(b)[lane], enter >> lane & 1 == 1);
            carried(lane, out);
            value
        });
        file.set_words(d, mask, &row);
    }
    if how.leave {
        file.set_predicate(Slot::CARRY, mask, leave);
    }
}

fn multiply_carrying(file: &mut File<'_>, mask: u32, high: bool, signed: bool, how: Carry, [d, a, b, c]: [Slot; 4]) {
    let enter = if how.enter { file.predicate(Slot::CARRY) } else { 0 };
    let mut leave = 0;
    if how.long {
        let row = by_lane(|lane| {
            let (a, b) = (file.longs(a)[lane], file.longs(b)[lane]);
            let product = match (high, signed) {
                (false, _) => a.times(b),
                (true, false) => a.times_high(b),
                (true, true) => a.cast_signed().times_high(b.cast_signed()).cast_unsigned(),
            };
            let (value, out) = carry::double::add(product, file.longs(c)[lane], enter >> lane & 1 == 1);
            leave |= u32::from(out) << lane;
            value
        });
        file.set_longs(d, mask, &row);
    } else {
        let row = by_lane(|lane| {
            let (a, b) = (file.words(a)[lane], file.words(b)[lane]);
            let product = match (high, signed) {
                (false, _) => a.times(b),
                (true, false) => a.times_high(b),
                (true, true) => a.cast_signed().times_high(b.cast_signed()).cast_unsigned(),
            };
            let (value, out) = carry::single::add(product, file.words(c)[lane], enter >> lane & 1 == 1);
            leave |= u32::from(out) << lane;
            value
        });
        file.set_words(d, mask, &row);
    }
    if how.leave {
        file.set_predicate(Slot::CARRY, mask, leave);
    }
}
