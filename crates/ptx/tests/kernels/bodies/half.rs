use super::inputs::{Random, singles};
use crate::machine::{Machine, Run, args};

const N: usize = 400;

/// A half as a double, exactly.
fn wide(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

/// The nearest half: the one of all with the least distance, even if there are two.
fn nearest(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    let (mut low, mut high) = (0u16, 0x7c00u16);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if wide(middle) <= magnitude { low = middle } else { high = middle }
    }
    let above = if high == 0x7c00 { 65536.0 } else { wide(high) };
    let (down, up) = (magnitude - wide(low), above - magnitude);
    sign | if down < up || (down == up && low % 2 == 0) { low } else { high }
}

fn moderate(bits: u64) -> u16 {
    (bits as u16 & 0x83ff) | ((8 + (bits >> 20) as u16 % 14) << 10)
}

pub(crate) fn halves_are_multiplied_and_added_with_one_rounding(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let (x, y) = (Random(1).vec(N, moderate), Random(2).vec(N, moderate));
        let (from, to) = (run.upload(&x), run.upload(&y));
        run.launch("half_axpy", 4, 128, args![0x3e00u16, from, to, N as u32]);
        // Products have 22 bits and sums at most 40: exact in double precision.
        let expected: Vec<u16> = x.iter().zip(&y).map(|(x, y)| nearest(1.5 * wide(*x) + wide(*y))).collect();
        assert_eq!(run.read::<u16>(to, N), expected);
    }
}

pub(crate) fn pairs_of_halves_are_two_at_a_time(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let (a, b) = (Random(3).vec(2 * N, moderate), Random(4).vec(2 * N, moderate));
        let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<u16>(16 * N));
        run.launch("half2_operations", 4, 128, args![x, y, z, N as u32]);
        let found = run.read::<u16>(z, 16 * N);
        for i in 0..2 * N {
            let (u, v) = (wide(a[i]), wide(b[i]));
            let expected = [
                nearest(u + v),
                nearest(u - v),
                nearest(u * v),
                nearest(u.min(v)),
                nearest(u.max(v)),
                a[i] ^ 0x8000,
                a[i] & 0x7fff,
                if u < v { 0x3c00 } else { 0 },
            ];
            assert_eq!((0..8).map(|row| found[row * 2 * N + i]).collect::<Vec<_>>(), expected, "{u} {v}");
        }
    }
}

pub(crate) fn singles_become_halves_and_come_back(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let x = singles(N, 5);
        let (from, y) = (run.upload(&x), run.room::<f32>(5 * N));
        run.launch("half_conversions", 4, 128, args![from, y, N as u32]);
        let found = run.read::<f32>(y, 5 * N);
        for (i, x) in x.iter().enumerate() {
            let at = |row: usize| found[row * N + i];
            if x.is_nan() {
                assert!((0..5).all(|row| at(row).is_nan()));
                continue;
            }
            assert_eq!(f64::from(at(0)), wide(nearest((*x).into())), "{x:e}");
            assert!(at(3) <= *x && *x <= at(2), "{x:e}");
            assert!(at(1).abs() <= x.abs());
            let brain = (x.to_bits() + 0x7fff + (x.to_bits() >> 16 & 1)) & 0xffff_0000;
            assert_eq!(at(4).to_bits(), if x.is_infinite() { x.to_bits() } else { brain }, "{x:e}");
        }
    }
}

pub(crate) fn halves_become_integers_in_four_directions(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let x = Random(6).vec(N, moderate);
        let (from, y, back) = (run.upload(&x), run.room::<i32>(4 * N), run.room::<u16>(N));
        run.launch("half_integers", 4, 128, args![from, y, back, N as u32]);
        let (found, back) = (run.read::<i32>(y, 4 * N), run.read::<u16>(back, N));
        for i in 0..N {
            let value = wide(x[i]);
            let expected =
                [value.round_ties_even(), value.trunc(), value.ceil(), value.floor()].map(|value| value as i32);
            assert_eq!([found[i], found[N + i], found[2 * N + i], found[3 * N + i]], expected);
            assert_eq!(back[i], nearest(expected[0].into()));
        }
    }
}

pub(crate) fn functions_of_halves_are_near(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let x = Random(7).vec(N, |bits| moderate(bits) & 0x7fff);
        let (from, y) = (run.upload(&x), run.room::<u16>(5 * N));
        run.launch("half_functions", 4, 128, args![from, y, N as u32]);
        let found = run.read::<u16>(y, 5 * N);
        for i in 0..N {
            let value = wide(x[i]);
            let expected = [value.sqrt(), 1.0 / value, value.exp2(), value.log2(), value / 3.0];
            for (row, expected) in expected.into_iter().enumerate() {
                let (found, near) = (found[row * N + i], nearest(expected));
                assert!(i32::from(found).abs_diff(near.into()) <= 1, "{row}: {value} {found:#x} {near:#x}");
            }
        }
    }
}

pub(crate) fn pairs_are_added_atomically(machine: &Machine) {
    for run in Run::each(machine, "half") {
        let x: Vec<u16> = (0..200).map(|i| nearest(f64::from(i % 5))).collect();
        let (from, sum) = (run.upload(&x), run.upload(&[0u16; 2]));
        run.launch("half2_atomic_sum", 1, 128, args![from, sum, 100u32]);
        let total = |start: usize| nearest(x.iter().skip(start).step_by(2).map(|x| wide(*x)).sum());
        assert_eq!(run.read::<u16>(sum, 2), [total(0), total(1)]);
    }
}

pub(crate) fn brain_floats_have_arithmetic_of_their_own(machine: &Machine) {
    for run in Run::each(machine, "bfloat") {
        let brain = |bits: u64| ((bits as u32 & 0x807f_0000) | (120 + (bits >> 40) as u32 % 14) << 23) >> 16;
        let value = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
        let narrow = |value: f64| {
            let bits = (value as f32).to_bits();
            ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
        };
        let (x, y) = (Random(8).vec(N, |bits| brain(bits) as u16), Random(9).vec(N, |bits| brain(bits) as u16));
        let (from, to) = (run.upload(&x), run.upload(&y));
        run.launch("bfloat_axpy", 4, 128, args![0x3fc0u16, from, to, N as u32]);
        // Sums of 16 and 8 bits whose exponents are near: exact in single precision.
        let expected: Vec<u16> = x.iter().zip(&y).map(|(x, y)| narrow(1.5 * value(*x) + value(*y))).collect();
        assert_eq!(run.read::<u16>(to, N), expected);

        let (from, to, z) = (run.upload(&x), run.upload(&y), run.room::<u16>(4 * N));
        run.launch("bfloat2_operations", 4, 128, args![from, to, z, N as u32 / 2]);
        let found = run.read::<u16>(z, 4 * N);
        for i in 0..N {
            let (u, v) = (value(x[i]), value(y[i]));
            let expected = [narrow(u + v), narrow(u * v), narrow(u.min(v)), narrow(u.max(v))];
            assert_eq!((0..4).map(|row| found[row * N + i]).collect::<Vec<_>>(), expected, "{u} {v}");
        }
    }
}
