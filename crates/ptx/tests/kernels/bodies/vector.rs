use super::inputs::{Random, doubles, same_double, same_single, singles};
use crate::machine::{Machine, Plain, Run, args};

const N: usize = 1000;

pub(crate) fn saxpy_is_a_fused_multiply_add_of_each_element(machine: &Machine) {
    let run = Run::new(machine, "compute_75/vector");
    let (x, y) = (singles(N, 1), singles(N, 2));
    let (from, to) = (run.upload(&x), run.upload(&y));
    run.launch("saxpy", 8, 128, args![2.5f32, from, to, N as u32 - 1]);
    let found: Vec<f32> = run.read(to, N);
    for i in 0..N - 1 {
        assert!(same_single(found[i], 2.5f32.mul_add(x[i], y[i])), "{i}: {} {}", x[i], y[i]);
    }
    assert!(same_single(found[N - 1], y[N - 1]));
}

pub(crate) fn any_number_of_threads_does_all_elements(machine: &Machine) {
    let run = Run::new(machine, "compute_75/vector");
    let (x, y) = (doubles(N, 3), doubles(N, 4));
    let (from, to) = (run.upload(&x), run.upload(&y));
    run.launch("daxpy_strided", 3, 40, args![-0.3f64, from, to, N as u32]);
    for (i, found) in run.read::<f64>(to, N).into_iter().enumerate() {
        assert!(same_double(found, (-0.3f64).mul_add(x[i], y[i])), "{i}");
    }
}

fn sums<T: Plain>(machine: &Machine, kernel: &str, pick: impl Fn(u64) -> T, add: impl Fn(T, T) -> T) {
    let run = Run::new(machine, "compute_75/vector");
    let (a, b) = (Random(5).vec(N, &pick), Random(6).vec(N, &pick));
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<T>(N));
    run.launch(kernel, 4, 256, args![x, y, z, N as u32]);
    let expected: Vec<T> = a.into_iter().zip(b).map(|(a, b)| add(a, b)).collect();
    assert_eq!(run.read::<T>(z, N), expected, "{kernel}");
}

pub(crate) fn sums_of_every_type(machine: &Machine) {
    sums(machine, "add_i8", |bits| bits as i8, i8::wrapping_add);
    sums(machine, "add_u8", |bits| bits as u8, u8::wrapping_add);
    sums(machine, "add_i16", |bits| bits as i16, i16::wrapping_add);
    sums(machine, "add_u16", |bits| bits as u16, u16::wrapping_add);
    sums(machine, "add_i32", |bits| bits as i32, i32::wrapping_add);
    sums(machine, "add_u32", |bits| bits as u32, u32::wrapping_add);
    sums(machine, "add_i64", |bits| bits as i64, i64::wrapping_add);
    sums(machine, "add_u64", |bits| bits, u64::wrapping_add);
    sums(machine, "add_f32", |bits| (bits as i32) as f32 / 7.0, |a, b| a + b);
    sums(machine, "add_f64", |bits| (bits as i64) as f64 / 7.0, |a, b| a + b);
}

pub(crate) fn vectors_are_read_and_written_whole(machine: &Machine) {
    let run = Run::new(machine, "compute_75/vector");
    let a = Random(7).vec(4 * N, |bits| (bits as i16) as f32);
    let b = Random(8).vec(4 * N, |bits| (bits as i16) as f32 / 3.0);
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<f32>(4 * N));
    run.launch("add_float4", 4, 256, args![x, y, z, N as u32]);
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(run.read::<f32>(z, 4 * N), expected);

    let pairs = Random(9).vec(2 * N, |bits| bits as f64);
    let (x, y) = (run.upload(&pairs), run.room::<f64>(2 * N));
    run.launch("swap_double2", 4, 256, args![x, y, N as u32]);
    let expected: Vec<f64> = pairs.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    assert_eq!(run.read::<f64>(y, 2 * N), expected);

    let bytes = Random(10).vec(4 * N, |bits| bits as u8);
    let (x, y) = (run.upload(&bytes), run.room::<u32>(N));
    run.launch("sum_uchar4", 4, 256, args![x, y, N as u32]);
    let expected: Vec<u32> = bytes.chunks(4).map(|four| four.iter().map(|byte| u32::from(*byte)).sum()).collect();
    assert_eq!(run.read::<u32>(y, N), expected);

    let ints = Random(11).vec(4 * N, |bits| bits as i32);
    let (x, y) = (run.upload(&ints), run.room::<i32>(4 * N));
    run.launch("copy_read_only", 4, 256, args![x, y, N as u32]);
    assert_eq!(run.read::<i32>(y, 4 * N), ints);
}
