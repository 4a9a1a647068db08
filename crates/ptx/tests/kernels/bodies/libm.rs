use super::inputs::Random;
use crate::machine::{Machine, Run, args};

const N: usize = 200;

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= tolerance * expected.abs().max(1e-30)
}

pub(crate) fn functions_of_singles_are_within_their_bounds(machine: &Machine) {
    for run in Run::each(machine, "libm32") {
        let x = Random(1).vec(N, |bits| (bits as u32 >> 8) as f32 / (1 << 22) as f32 - 1.0);
        let (from, y) = (run.upload(&x), run.room::<f32>(34 * N));
        run.launch("libm_f32", 2, 128, args![from, y, N as u32]);
        let found = run.read::<f32>(y, 34 * N);
        for (i, x) in x.iter().enumerate() {
            let v = f64::from(*x);
            let expected = [
                (0, v.exp()),
                (1, v.exp2()),
                (3, v.exp_m1()),
                (4, v.ln()),
                (5, v.log2()),
                (6, v.log10()),
                (7, v.ln_1p()),
                (8, v.sqrt()),
                (9, 1.0 / v.sqrt()),
                (10, v.cbrt()),
                (12, v.sin()),
                (13, v.cos()),
                (14, v.tan()),
                (15, v.asin()),
                (16, v.acos()),
                (17, v.atan()),
                (18, v.sinh()),
                (19, v.cosh()),
                (20, v.tanh()),
                (21, v.asinh()),
                (22, v.acosh()),
                (23, v.atanh()),
                (28, v.floor()),
                (29, v.ceil()),
                (30, v.trunc()),
                (31, v.round()),
                (32, v.round_ties_even()),
                (33, v.abs()),
            ];
            for (row, expected) in expected {
                let found = f64::from(found[row * N + i]);
                assert!(
                    near(found, expected, 1e-5) || (found - expected).abs() < 1e-6,
                    "row {row} of {x}: {found} {expected}"
                );
            }
        }
    }
}

pub(crate) fn fast_functions_of_singles_are_near(machine: &Machine) {
    for run in Run::each(machine, "libm32") {
        let x = Random(2).vec(N, |bits| (bits as u32 >> 8) as f32 / (1 << 23) as f32 + 0.01);
        let (from, y) = (run.upload(&x), run.room::<f32>(10 * N));
        run.launch("libm_fast_f32", 2, 128, args![from, y, N as u32]);
        let found = run.read::<f32>(y, 10 * N);
        for (i, x) in x.iter().enumerate() {
            let v = f64::from(*x);
            let expected =
                [v.exp(), 10f64.powf(v), v.ln(), v.log2(), v.log10(), v.sin(), v.cos(), v.tan(), 3.0 / v, 1.0 / v];
            for (row, expected) in expected.into_iter().enumerate() {
                let found = f64::from(found[row * N + i]);
                // Sines and cosines are absolutely near, so that a tangent is the less so the smaller its
                // cosine is.
                let tolerance = if row == 7 { 1e-6 / v.cos().abs() } else { 0.0 };
                assert!(
                    near(found, expected, tolerance.max(2e-6)) || (found - expected).abs() < 1e-6,
                    "row {row} of {x}: {found} {expected}"
                );
            }
        }
    }
}

pub(crate) fn functions_of_two_singles_are_within_their_bounds(machine: &Machine) {
    for run in Run::each(machine, "libm32") {
        let mut random = Random(3);
        let a = random.vec(N, |bits| f32::from(bits as i16) / 100.0 + 0.003);
        let b = random.vec(N, |bits| f32::from(bits as i8) / 10.0 + 0.05);
        let (x, w, y) = (run.upload(&a), run.upload(&b), run.room::<f32>(14 * N));
        run.launch("libm_pairs_f32", 2, 128, args![x, w, y, N as u32]);
        let found = run.read::<f32>(y, 14 * N);
        for i in 0..N {
            let (v, w) = (f64::from(a[i]), f64::from(b[i]));
            let expected = [
                (0, v.powf(w)),
                (1, v.atan2(w)),
                (2, f64::from(a[i] % b[i])),
                (4, v.hypot(w)),
                (5, if v > w { f64::from(a[i] - b[i]) } else { 0.0 }),
                (6, v.min(w)),
                (7, v.max(w)),
                (8, v.copysign(w)),
                (10, v * 8.0),
                (11, v.abs().log2().floor()),
            ];
            for (row, expected) in expected {
                let found = f64::from(found[row * N + i]);
                assert!(near(found, f64::from(expected as f32), 2e-5), "row {row} of {v} {w}: {found} {expected}");
            }
            let next = if b[i] > a[i] { a[i].next_up() } else { a[i].next_down() };
            assert_eq!(found[9 * N + i], next);
            assert_eq!(f64::from(found[12 * N + i]) * f64::from(found[13 * N + i]).exp2(), v);
        }
    }
}

pub(crate) fn functions_of_doubles_are_within_their_bounds(machine: &Machine) {
    let run = Run::new(machine, "compute_75/libm64");
    let x = Random(4).vec(N, |bits| (bits >> 12) as f64 / (1u64 << 50) as f64 - 2.0);
    let (from, y) = (run.upload(&x), run.room::<f64>(20 * N));
    run.launch("libm_f64", 2, 128, args![from, y, N as u32]);
    let found = run.read::<f64>(y, 20 * N);
    for (i, v) in x.iter().enumerate() {
        let expected = [
            (0, v.exp()),
            (1, v.ln()),
            (2, v.sqrt()),
            (3, 1.0 / v.sqrt()),
            (4, v.cbrt()),
            (5, v.sin()),
            (6, v.cos()),
            (7, v.tan()),
            (8, v.asin()),
            (9, v.acos()),
            (10, v.atan()),
            (11, v.sinh()),
            (12, v.tanh()),
            (14, v.floor()),
            (15, v.ceil()),
            (16, v.trunc()),
            (17, v.round_ties_even()),
            (18, v.abs()),
            (19, v.ln_1p()),
        ];
        for (row, expected) in expected {
            assert!(near(found[row * N + i], expected, 1e-14), "row {row} of {v}: {} {expected}", found[row * N + i]);
        }
    }
    let w = Random(5).vec(N, |bits| f64::from(bits as i16) / 5000.0 + 0.0001);
    let (other, y) = (run.upload(&w), run.room::<f64>(7 * N));
    run.launch("libm_pairs_f64", 2, 128, args![from, other, y, N as u32]);
    let found = run.read::<f64>(y, 7 * N);
    for i in 0..N {
        let (v, w) = (x[i], w[i]);
        let expected = [v.powf(w), v.atan2(w), v % w, v.hypot(w), v.min(w), v.max(w), v.copysign(w)];
        for (row, expected) in expected.into_iter().enumerate() {
            assert!(
                near(found[row * N + i], expected, 1e-13),
                "row {row} of {v} {w}: {} {expected}",
                found[row * N + i]
            );
        }
    }
}
