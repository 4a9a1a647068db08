use super::inputs::Random;
use crate::machine::{Machine, Run, args};

/// The position of a register's element in the first factor: row, column.
fn left(lane: usize, register: usize, index: usize, width: usize) -> (usize, usize) {
    (lane / 4 + 8 * (register % 2), lane % 4 * width + index + register / 2 * 4 * width)
}

/// The position of a register's element in the second factor: row, column.
fn right(lane: usize, register: usize, index: usize, width: usize) -> (usize, usize) {
    (lane % 4 * width + index + register * 4 * width, lane / 4)
}

fn multiply(
    machine: &Machine,
    kernel: &str,
    width: usize,
    element: impl Fn(u32, usize) -> f64,
    words: impl Fn(u64) -> u32,
) {
    let run = Run::new(machine, "compute_80/tensor80");
    let (a, b) = (Random(1).vec(128, &words), Random(2).vec(64, &words));
    let c = Random(3).vec(128, |bits| i32::from(bits as i8));
    let integers = width == 4;
    let k = 4 * width * 2;
    let (mut x, mut y) = (vec![vec![0.0; k]; 16], vec![vec![0.0; 8]; k]);
    for lane in 0..32 {
        for index in 0..width {
            for register in 0..4 {
                let (row, column) = left(lane, register, index, width);
                x[row][column] = element(a[4 * lane + register], index);
            }
            for register in 0..2 {
                let (row, column) = right(lane, register, index, width);
                y[row][column] = element(b[2 * lane + register], index);
            }
        }
    }
    let summands: Vec<u32> = c.iter().map(|c| if integers { *c as u32 } else { (*c as f32).to_bits() }).collect();
    let (p, q, r, d) = (run.upload(&a), run.upload(&b), run.upload(&summands), run.room::<u32>(128));
    run.launch(kernel, 1, 32, args![p, q, r, d]);
    let found = run.read::<u32>(d, 128);
    for lane in 0..32 {
        for register in 0..4 {
            let (row, column) = (lane / 4 + 8 * (register / 2), lane % 4 * 2 + register % 2);
            let sum = (0..k).map(|i| x[row][i] * y[i][column]).sum::<f64>() + f64::from(c[4 * lane + register]);
            let found = found[4 * lane + register];
            let found = if integers { f64::from(found as i32) } else { f64::from(f32::from_bits(found)) };
            assert_eq!(found, sum, "{kernel}: {row} {column}");
        }
    }
}

pub(crate) fn a_warp_multiplies_matrices_of_every_type(machine: &Machine) {
    // Small integers in every format, so that all sums are exact.
    let pair = |bits: u64| u32::from(half(small(bits))) | u32::from(half(small(bits >> 20))) << 16;
    let as_half = |word: u32, index: usize| {
        let bits = word >> (16 * index) & 0xffff;
        if bits & 0x7fff == 0 {
            return 0.0;
        }
        let single = (bits & 0x8000) << 16 | ((bits >> 10 & 31) + 112) << 23 | (bits & 1023) << 13;
        f64::from(f32::from_bits(single))
    };
    multiply(machine, "mma_f16", 2, as_half, pair);
    let brain =
        |bits: u64| f32::from(small(bits)).to_bits() >> 16 | f32::from(small(bits >> 20)).to_bits() & 0xffff_0000;
    multiply(machine, "mma_bf16", 2, |word, index| f64::from(f32::from_bits(word >> (16 * index) << 16)), brain);
    multiply(
        machine,
        "mma_tf32",
        1,
        |word, _| f64::from(f32::from_bits(word)),
        |bits| f32::from(small(bits)).to_bits(),
    );
    multiply(machine, "mma_s8", 4, |word, index| f64::from(word.to_le_bytes()[index] as i8), |bits| bits as u32);
    multiply(machine, "mma_u8_saturated", 4, |word, index| f64::from(word.to_le_bytes()[index]), |bits| bits as u32);
}

pub(crate) fn a_warp_multiplies_doubles(machine: &Machine) {
    let run = Run::new(machine, "compute_80/tensor80");
    let value = |bits: u64| f64::from(bits as i8);
    let (a, b, c) = (Random(4).vec(32, value), Random(5).vec(32, value), Random(6).vec(64, value));
    let (p, q, r, d) = (run.upload(&a), run.upload(&b), run.upload(&c), run.room::<f64>(64));
    run.launch("mma_f64", 1, 32, args![p, q, r, d]);
    let found = run.read::<f64>(d, 64);
    for (i, found) in found.into_iter().enumerate() {
        let (row, column) = (i / 8, i % 8);
        let sum: f64 = (0..4).map(|k| a[row * 4 + k] * b[column * 4 + k]).sum();
        assert_eq!(found, sum + c[i]);
    }
}

pub(crate) fn copies_beside_the_threads_arrive_before_they_are_waited_for(machine: &Machine) {
    let run = Run::new(machine, "compute_80/async");
    let x = Random(7).vec(512, |bits| bits as i32 >> 2);
    let (from, y) = (run.upload(&x), run.room::<i32>(512));
    run.launch("async_copy", 2, 64, args![from, y]);
    assert_eq!(run.read::<i32>(y, 512), x.iter().map(|x| x + 1).collect::<Vec<_>>());

    let x = Random(8).vec(2 * 5 * 128, |bits| bits as i32 >> 16);
    let (from, sums) = (run.upload(&x), run.upload(&[0i32; 2]));
    run.launch("async_pipeline", 2, 128, args![from, sums, 5u32]);
    assert_eq!(run.read::<i32>(sums, 2), x.chunks(640).map(|part| part.iter().sum()).collect::<Vec<i32>>());

    let (from, y) = (run.upload(&x), run.room::<u8>(512));
    run.launch("async_zero_fill", 1, 32, args![from, y, 6u32]);
    let bytes = run.read::<u8>(from, 512);
    let expected: Vec<u8> = bytes.iter().enumerate().map(|(i, byte)| if i % 16 < 6 { *byte } else { 0 }).collect();
    assert_eq!(run.read::<u8>(y, 512), expected);
}

pub(crate) fn barriers_in_memory_let_rounds_follow_each_other(machine: &Machine) {
    let run = Run::new(machine, "compute_80/async");
    let x = Random(9).vec(64, |bits| bits as i32 >> 4);
    let place = run.upload(&x);
    run.launch("mbarrier_rounds", 1, 64, args![place, 5u32]);
    let expected: Vec<i32> = (0..64).map(|i| x[(i + 5) % 64] + 5).collect();
    assert_eq!(run.read::<i32>(place, 64), expected);
}

pub(crate) fn matrices_are_spread_over_lanes(machine: &Machine) {
    let run = Run::new(machine, "compute_75/tensor");
    let x = Random(10).vec(256, |bits| bits as u16);
    let (from, y) = (run.upload(&x), run.room::<u32>(256));
    run.launch("ldmatrix", 1, 32, args![from, y]);
    let found = run.read::<u32>(y, 256);
    for matrix in 0..4 {
        for lane in 0..32 {
            let at = |row: usize, column: usize| u32::from(x[matrix * 64 + row * 8 + column]);
            let (row, column) = (lane / 4, lane % 4 * 2);
            assert_eq!(found[matrix * 32 + lane], at(row, column + 1) << 16 | at(row, column));
            let turned = at(column + 1, row) << 16 | at(column, row);
            assert_eq!(found[(4 + matrix) * 32 + lane], turned, "{matrix} {lane}");
        }
    }
}

/// A small integer as a half.
pub(crate) fn half(value: i8) -> u16 {
    let magnitude = f32::from(value).abs().to_bits();
    let sign = u16::from(value < 0) << 15;
    if value == 0 { 0 } else { sign | (((magnitude >> 23) - 112) << 10 | (magnitude >> 13 & 1023)) as u16 }
}

/// A small integer.
pub(crate) fn small(bits: u64) -> i8 {
    (bits % 15) as i8 - 7
}

pub(crate) fn a_warp_multiplies_short_matrices(machine: &Machine) {
    let run = Run::new(machine, "compute_75/tensor");
    let (x, y) = (Random(11).vec(16 * 8, small), Random(12).vec(8 * 8, small));
    let sums = Random(13).vec(16 * 8, |bits| f32::from(bits as i8));
    let pair = |low: i8, high: i8| u32::from(half(high)) << 16 | u32::from(half(low));
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for lane in 0..32 {
        let (row, column) = (lane / 4, lane % 4 * 2);
        a.extend([0, 8].map(|below| pair(x[(row + below) * 8 + column], x[(row + below) * 8 + column + 1])));
        b.push(pair(y[column * 8 + row], y[(column + 1) * 8 + row]));
        c.extend([(0, 0), (0, 1), (8, 0), (8, 1)].map(|(below, right)| sums[(row + below) * 8 + column + right]));
    }
    let (p, q, r, d) = (run.upload(&a), run.upload(&b), run.upload(&c), run.room::<f32>(128));
    run.launch("mma_m16n8k8", 1, 32, args![p, q, r, d]);
    let found = run.read::<f32>(d, 128);
    for lane in 0..32 {
        for (register, (below, right)) in [(0, 0), (0, 1), (8, 0), (8, 1)].into_iter().enumerate() {
            let (row, column) = (lane / 4 + below, lane % 4 * 2 + right);
            let product: i32 = (0..8).map(|k| i32::from(x[row * 8 + k]) * i32::from(y[k * 8 + column])).sum();
            assert_eq!(found[4 * lane + register], product as f32 + sums[row * 8 + column], "{row} {column}");
        }
    }
}
