use super::inputs::Random;
use super::shape::Shape;
use super::tensor::{half, small};
use crate::machine::{Machine, Run, args};

/// A warp for each block of a grid of this many columns and rows.
fn warps(columns: u32, rows: u32) -> Shape {
    Shape { grid: [columns, rows, 1], block: [32, 1, 1], dynamic_shared: 0, cooperative: false }
}

/// The pairs of factors for row `row` and column `column` of a product.
fn product<T: Copy>(
    row: usize,
    column: usize,
    k: usize,
    first: impl Fn(usize, usize) -> T,
    second: impl Fn(usize, usize) -> T,
) -> impl Iterator<Item = (T, T)> {
    (0..k).map(move |inner| (first(row, inner), second(inner, column)))
}

fn whole<T: Into<i32>>(products: impl Iterator<Item = (T, T)>) -> i32 {
    products.map(|(a, b)| a.into() * b.into()).sum()
}

pub(crate) fn fragments_multiply_halves(machine: &Machine) {
    let run = Run::new(machine, "compute_75/tensor");
    let (x, y) = (Random(14).vec(256, small), Random(15).vec(256, small));
    let sums = Random(16).vec(256, |bits| f32::from(bits as i8));
    let halves = |values: &[i8]| run.upload(&values.iter().map(|value| half(*value)).collect::<Vec<u16>>());
    let (a, b, c, d) = (halves(&x), halves(&y), run.upload(&sums), run.room::<f32>(256));
    run.launch("wmma_f16", 1, 32, args![a, b, c, d]);
    for (i, found) in run.read::<f32>(d, 256).into_iter().enumerate() {
        let sum = whole(product(i / 16, i % 16, 16, |row, k| x[row * 16 + k], |k, column| y[column * 16 + k]));
        assert_eq!(found, sum as f32 + sums[i]);
    }
}

pub(crate) fn fragments_multiply_bytes(machine: &Machine) {
    let run = Run::new(machine, "compute_75/tensor");
    let (x, y) = (Random(17).vec(256, |bits| bits as i8), Random(18).vec(256, |bits| bits as i8));
    let (a, b, d) = (run.upload(&x), run.upload(&y), run.room::<i32>(256));
    run.launch("wmma_s8", 1, 32, args![a, b, d]);
    for (i, found) in run.read::<i32>(d, 256).into_iter().enumerate() {
        assert_eq!(found, whole(product(i / 16, i % 16, 16, |row, k| x[row * 16 + k], |k, column| y[k * 16 + column])));
    }
}

pub(crate) fn blocks_multiply_halves_through_shared_memory(machine: &Machine) {
    let run = Run::new(machine, "compute_75/fragments");
    let (m, n, k) = (64, 96, 48);
    let (x, y) = (Random(21).vec(m * k, small), Random(22).vec(k * n, small));
    let old = Random(23).vec(m * n, |bits| f32::from(bits as i8));
    let halves = |values: &[i8]| run.upload(&values.iter().map(|value| half(*value)).collect::<Vec<u16>>());
    let (a, b, c) = (halves(&x), halves(&y), run.upload(&old));
    let shape = Shape { grid: [3, 2, 1], block: [128, 1, 1], dynamic_shared: 0, cooperative: false };
    run.shaped("fragment_gemm_f16", shape, args![a, b, c, 0.5f32, n as u32, k as u32]);
    for (i, found) in run.read::<f32>(c, m * n).into_iter().enumerate() {
        let sum =
            whole(product(i / n, i % n, k, |row, inner| x[row * k + inner], |inner, column| y[inner * n + column]));
        assert_eq!(found, 0.5 * sum as f32 + old[i], "{i}");
    }
}

pub(crate) fn warps_multiply_tall_matrices_of_bytes(machine: &Machine) {
    let run = Run::new(machine, "compute_75/fragments");
    let (m, n, k) = (64, 24, 80);
    let (x, y) = (Random(24).vec(m * k, |bits| bits as i8), Random(25).vec(k * n, |bits| bits as i8));
    let (a, b, c) = (run.upload(&x), run.upload(&y), run.room::<i32>(m * n));
    run.shaped("fragment_gemm_s8", warps(3, 2), args![a, b, c, m as u32, k as u32]);
    for (i, found) in run.read::<i32>(c, m * n).into_iter().enumerate() {
        let first = |row: usize, inner: usize| x[row * k + inner];
        assert_eq!(found, whole(product(i % m, i / m, k, first, |inner, column| y[column * k + inner])), "{i}");
    }
}

pub(crate) fn lanes_hold_the_elements_that_hardware_gives_them(machine: &Machine) {
    let run = Run::new(machine, "compute_75/fragments");
    let numbers = |count: u16| run.upload(&(0..count).collect::<Vec<u16>>());
    let (a, b, c, y) = (numbers(128), numbers(512), numbers(256), run.room::<u16>(32 * 40));
    run.launch("fragment_elements", 1, 32, args![a, b, c, y]);
    for (lane, found) in run.read::<u16>(y, 32 * 40).chunks(40).enumerate() {
        let (line, place) = (lane / 4, lane % 4 * 2);
        // Four elements of the first factor, four times.
        let first = |i: usize| (place + i % 2 + 8 * (i / 2 % 2)) * 8 + line;
        // The lower bits of a place choose between lines, then between places, then between lines again.
        let second = |i: usize| (line + 8 * (i / 2 % 2) + 16 * (i / 8)) * 16 + place + i % 2 + 8 * (i / 4 % 2);
        let sum = |i: usize| (line + 8 * (i / 2)) * 8 + place + i % 2;
        let expected = (0..16).map(first).chain((0..16).map(second)).chain((0..8).map(sum));
        let expected: Vec<u16> = expected.map(|at| at as u16).collect();
        assert_eq!(found, expected, "lane {lane}");
    }
}

pub(crate) fn fragments_multiply_parts_of_bytes(machine: &Machine) {
    let run = Run::new(machine, "compute_75/fragments");
    let words = |seed: u64| Random(seed).vec(32, |bits| (bits >> 16) as u32);
    let sums = |seed: u64| Random(seed).vec(64, |bits| bits as i32 >> 8);
    let (a, b, p, q) = (words(26), words(27), words(28), words(29));
    let (old, counted) = (sums(30), sums(31));
    let (d, e) = (run.upload(&old), run.upload(&counted));
    let [x, y, z, w] = [&a, &b, &p, &q].map(|words| run.upload(words));
    run.launch("fragment_parts_of_bytes", 1, 32, args![x, y, d, z, w, e]);
    let four = |words: &[u32], line: usize, k: usize| (words[line * 4 + k / 8] << (28 - 4 * (k % 8))) as i32 >> 28;
    let (d, e) = (run.read::<i32>(d, 64), run.read::<i32>(e, 64));
    for i in 0..64 {
        let (row, column) = (i / 8, i % 8);
        let sum = whole(product(row, column, 32, |row, k| four(&a, row, k), |k, column| four(&b, column, k)));
        assert_eq!(d[i], sum + old[i]);
        let differing: u32 = (0..4).map(|word| (p[row * 4 + word] ^ q[column * 4 + word]).count_ones()).sum();
        assert_eq!(e[i], differing as i32 + counted[i]);
    }
}

pub(crate) fn singles_are_rounded_to_be_multiplied_by_fragments(machine: &Machine) {
    let run = Run::new(machine, "compute_80/fragments80");
    let n = 32;
    // Ten bits of fraction, and one more that is rounded away from zero.
    let value = |bits: u64| (f32::from((bits % 2048) as i16 - 1024) + 0.25) / 64.0;
    let rounded = |value: f32| f32::from_bits((value.to_bits() + 0x1000) & !0x1fff);
    let (x, y) = (Random(32).vec(n * n, value), Random(33).vec(n * n, value));
    let (a, b, c) = (run.upload(&x), run.upload(&y), run.room::<f32>(n * n));
    run.shaped("fragment_gemm_tf32", warps(2, 2), args![a, b, c, n as u32]);
    for (i, found) in run.read::<f32>(c, n * n).into_iter().enumerate() {
        let first = |row: usize, k: usize| f64::from(rounded(x[row * n + k]));
        let second = |k: usize, column: usize| f64::from(rounded(y[k * n + column]));
        let (sum, size) = product(i / n, i % n, n, first, second)
            .fold((0.0, 0.0), |(sum, size): (f64, f64), (a, b)| (sum + a * b, size + (a * b).abs()));
        // Sums are cut, eight times, at a bit of their greatest part.
        assert!((f64::from(found) - sum).abs() <= size * 2f64.powi(-20), "{i}: {found} instead of {sum}");
    }
}

pub(crate) fn doubles_are_fused_one_after_the_other_by_fragments(machine: &Machine) {
    let run = Run::new(machine, "compute_80/fragments80");
    let n = 24;
    let value = |bits: u64| (bits as i32 as f64) * 2f64.powi((bits >> 40) as i32 % 40);
    let (x, y, old) = (Random(34).vec(n * n, value), Random(35).vec(n * n, value), Random(36).vec(n * n, value));
    let (a, b, c) = (run.upload(&x), run.upload(&y), run.upload(&old));
    run.shaped("fragment_gemm_f64", warps(3, 3), args![a, b, c, n as u32]);
    for (i, found) in run.read::<f64>(c, n * n).into_iter().enumerate() {
        let products = product(i / n, i % n, n, |row, k| x[k * n + row], |k, column| y[k * n + column]);
        assert_eq!(found, products.fold(old[i], |sum, (a, b)| a.mul_add(b, sum)), "{i}");
    }
}

pub(crate) fn brain_floats_are_multiplied_by_wide_fragments(machine: &Machine) {
    let run = Run::new(machine, "compute_80/fragments80");
    let k = 64;
    let (x, y) = (Random(37).vec(8 * k, small), Random(38).vec(32 * k, small));
    let brain = |values: &[i8]| {
        let bits = values.iter().map(|value| (f32::from(*value).to_bits() >> 16) as u16);
        run.upload(&bits.collect::<Vec<u16>>())
    };
    let (a, b, c) = (brain(&x), brain(&y), run.room::<f32>(256));
    run.launch("fragment_gemm_bf16", 1, 32, args![a, b, c, k as u32]);
    for (i, found) in run.read::<f32>(c, 256).into_iter().enumerate() {
        let first = |row: usize, inner: usize| x[row * k + inner];
        let sum = whole(product(i % 8, i / 8, k, first, |inner, column| y[column * k + inner]));
        assert_eq!(found, sum as f32, "{i}");
    }
}
