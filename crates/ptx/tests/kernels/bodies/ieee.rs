use super::inputs::{doubles, same_double, same_single, singles};
use crate::machine::{Machine, Run, args};

const N: usize = 600;

pub(crate) fn singles_round_to_nearest_as_the_processor_does_and_enclose_it(machine: &Machine) {
    let run = Run::new(machine, "compute_75/ieee");
    let (a, b, c) = (singles(N, 1), singles(N, 2), singles(N, 3));
    let (x, y, z, out) = (run.upload(&a), run.upload(&b), run.upload(&c), run.room::<f32>(29 * N));
    run.launch("ieee_f32", 5, 128, args![x, y, z, out, N as u32]);
    let found = run.read::<f32>(out, 29 * N);
    for i in 0..N {
        let (u, v, w) = (a[i], b[i], c[i]);
        let nearest = [u + v, u - v, u * v, u / v, 1.0 / u, u.sqrt(), u.mul_add(v, w)];
        for (operation, near) in nearest.into_iter().enumerate() {
            let at = |row: usize| found[(4 * operation + row) * N + i];
            assert!(same_single(at(0), near), "{operation}: {u:e} {v:e} {w:e}");
            if near.is_nan() {
                assert!((0..4).all(|row| at(row).to_bits() == 0x7fff_ffff));
                continue;
            }
            let (zero, up, down) = (at(1), at(2), at(3));
            assert!(down <= near && near <= up, "{operation}: {u:e} {v:e} {w:e}");
            assert!(down == up || down.next_up() == up, "{operation}: {u:e} {v:e} {w:e}");
            assert_eq!(zero, if up > 0.0 { down } else { up }, "{operation}: {u:e} {v:e} {w:e}");
        }
        let clamped = if u.is_nan() { 0.0 } else { u.clamp(0.0, 1.0) };
        assert_eq!(found[28 * N + i], clamped);
    }
}

pub(crate) fn doubles_round_to_nearest_as_the_processor_does_and_enclose_it(machine: &Machine) {
    let run = Run::new(machine, "compute_75/ieee");
    let (a, b, c) = (doubles(N, 1), doubles(N, 2), doubles(N, 3));
    let (x, y, z, out) = (run.upload(&a), run.upload(&b), run.upload(&c), run.room::<f64>(28 * N));
    run.launch("ieee_f64", 5, 128, args![x, y, z, out, N as u32]);
    let found = run.read::<f64>(out, 28 * N);
    for i in 0..N {
        let (u, v, w) = (a[i], b[i], c[i]);
        let nearest = [u + v, u - v, u * v, u / v, 1.0 / u, u.sqrt(), u.mul_add(v, w)];
        for (operation, near) in nearest.into_iter().enumerate() {
            let at = |row: usize| found[(4 * operation + row) * N + i];
            assert!(same_double(at(0), near), "{operation}: {u:e} {v:e} {w:e}");
            if near.is_nan() {
                continue;
            }
            let (zero, up, down) = (at(1), at(2), at(3));
            assert!(down <= near && near <= up, "{operation}: {u:e} {v:e} {w:e}");
            assert!(down == up || down.next_up() == up, "{operation}: {u:e} {v:e} {w:e}");
            assert_eq!(zero, if up > 0.0 { down } else { up }, "{operation}: {u:e} {v:e} {w:e}");
        }
    }
}

pub(crate) fn comparisons_know_what_is_no_number(machine: &Machine) {
    let run = Run::new(machine, "compute_75/ieee");
    let (a, mut b) = (singles(N, 4), singles(N, 5));
    (0..N).step_by(7).for_each(|i| b[i] = a[i]);
    let (x, y, out) = (run.upload(&a), run.upload(&b), run.room::<u32>(N));
    run.launch("compare_f32", 5, 128, args![x, y, out, N as u32]);
    for (i, found) in run.read::<u32>(out, N).into_iter().enumerate() {
        let (u, v) = (a[i], b[i]);
        #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "the negations are what is tested")]
        let asked = [
            u < v,
            u <= v,
            u > v,
            u >= v,
            u == v,
            u != v,
            u.is_nan(),
            u.is_infinite(),
            u.is_sign_negative(),
            !(u >= v),
            !(u > v),
            !(u <= v),
            !(u < v),
        ];
        let mut expected = asked.iter().enumerate().fold(0, |bits, (place, holds)| bits | u32::from(*holds) << place);
        let mut found = found;
        if u.is_nan() {
            (expected, found) = (expected & !256, found & !256);
        }
        assert_eq!(found, expected, "{u} {v}");
    }
}
