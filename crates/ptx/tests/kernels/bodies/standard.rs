use super::inputs::Random;
use crate::machine::{Machine, Run, args};

/// Threads of a block.
const N: usize = 128;

pub(crate) fn barriers_of_the_library_let_rounds_follow_each_other(machine: &Machine) {
    for run in Run::each(machine, "standard") {
        let x = Random(51).vec(N, |bits| bits as i32 >> 4);
        let (from, y) = (run.upload(&x), run.room::<i32>(2 * N));
        run.launch("standard_barrier", 1, N as u32, args![from, y, 5u32]);
        let turned = (0..N).map(|i| x[(i + 5) % N] + 5);
        assert_eq!(run.read::<i32>(y, 2 * N), turned.chain(x.iter().rev().copied()).collect::<Vec<_>>());
    }
}

pub(crate) fn pipelines_of_the_library_fetch_ahead(machine: &Machine) {
    for run in Run::each(machine, "standard") {
        let x = Random(52).vec(5 * N, |bits| bits as i32 >> 8);
        let (from, y) = (run.upload(&x), run.room::<i32>(2 * N));
        run.launch("standard_pipeline", 1, N as u32, args![from, y, 5u32]);
        let sums = (0..N).map(|i| x.chunks(N).map(|row| row[N - 1 - i]).sum());
        assert_eq!(run.read::<i32>(y, 2 * N), sums.chain(x[..N].iter().copied()).collect::<Vec<i32>>());
    }
}

pub(crate) fn semaphores_and_latches_of_the_library_order_warps(machine: &Machine) {
    for run in Run::each(machine, "standard") {
        let (counted, y) = (run.upload(&[0i32]), run.room::<i32>(N));
        run.launch("standard_semaphore", 1, N as u32, args![counted, y]);
        assert_eq!(run.read::<i32>(y, N), [4; N]);
    }
}

pub(crate) fn references_of_the_library_are_atomic_in_every_order(machine: &Machine) {
    for run in Run::each(machine, "standard") {
        let places = run.upload(&[2i64; 8]);
        let single = u64::from(2f32.to_bits());
        let reals = run.upload(&[2f64.to_bits(), single]);
        let (sums, floats) = (run.room::<i64>(10), run.room::<f64>(3));
        run.launch("standard_atomics", 1, 1, args![places, reals, sums, floats]);
        assert_eq!(run.read::<i64>(sums, 10), [3 * 2 + 15 * 3 + 6; 10]);
        assert_eq!(run.read::<f64>(floats, 3), [f64::from(3 * 2 + 12 * 3 + 6); 3]);
        assert_eq!(run.read::<i64>(places, 8), [0; 8]);
        assert_eq!(run.read::<u64>(reals, 2), [3f64.to_bits(), u64::from(3f32.to_bits())]);
    }
}
