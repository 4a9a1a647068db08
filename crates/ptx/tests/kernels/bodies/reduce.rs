use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn sums_by_halving_in_shared_memory(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    let x = Random(1).vec(1900, |bits| bits as i32);
    let (from, sums) = (run.upload(&x), run.room::<i32>(4));
    run.launch("reduce_shared", 4, 256, args![from, sums, 1900u32]);
    let expected: Vec<i32> = x.chunks(512).map(|part| part.iter().fold(0i32, |sum, x| sum.wrapping_add(*x))).collect();
    assert_eq!(run.read::<i32>(sums, 4), expected);
}

pub(crate) fn sums_by_shuffles_and_one_addition_a_block(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    let x = Random(2).vec(3000, |bits| bits as i32);
    let (from, sum) = (run.upload(&x), run.upload(&[0i32]));
    run.launch("reduce_shuffle", 3, 160, args![from, sum, 3000u32]);
    assert_eq!(run.read::<i32>(sum, 1), [x.iter().fold(0i32, |sum, x| sum.wrapping_add(*x))]);
}

pub(crate) fn every_lane_gets_the_largest(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    let x = Random(3).vec(96, |bits| (bits as i32) as f32);
    let (from, largest) = (run.upload(&x), run.room::<f32>(96));
    run.launch("max_butterfly", 1, 128, args![from, largest, 96u32]);
    let expected: Vec<f32> =
        x.chunks(32).flat_map(|warp| [warp.iter().copied().fold(f32::MIN, f32::max); 32]).collect();
    assert_eq!(run.read::<f32>(largest, 96), expected);
}

pub(crate) fn the_last_block_adds_up_what_the_others_left(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    let x = Random(4).vec(2000, |bits| f64::from(bits as i16));
    let (from, part, total) = (run.upload(&x), run.room::<f64>(5), run.room::<f64>(1));
    for _ in 0..2 {
        run.launch("reduce_last_block", 5, 128, args![from, part, total, 2000u32]);
        assert_eq!(run.read::<f64>(total, 1), [x.iter().sum::<f64>()]);
    }
}

pub(crate) fn a_dot_product_in_double_precision(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    let (x, y) = (Random(5).vec(1000, |bits| f64::from(bits as i8)), Random(6).vec(1000, |bits| f64::from(bits as i8)));
    let (a, b, dot) = (run.upload(&x), run.upload(&y), run.upload(&[0f64]));
    run.launch("dot_f64", 2, 64, args![a, b, dot, 1000u32]);
    assert_eq!(run.read::<f64>(dot, 1), [x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>()]);
}

pub(crate) fn barriers_count(machine: &Machine) {
    let run = Run::new(machine, "compute_75/reduce");
    for (x, expected) in [
        (Random(7).vec(100, |bits| bits as i32), None),
        (vec![1; 100], Some([100, 1, 1])),
        (vec![-1; 100], Some([0, 0, 0])),
    ] {
        let (from, answers) = (run.upload(&x), run.room::<i32>(3));
        run.launch("barrier_votes", 1, 100, args![from, answers]);
        let positive = x.iter().filter(|x| **x > 0).count() as i32;
        assert_eq!(run.read::<i32>(answers, 3), expected.unwrap_or([positive, 0, 1]));
    }
}

fn running(x: &[i32], size: usize) -> Vec<i32> {
    let sums = |part: &[i32]| {
        part.iter()
            .scan(0i32, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            })
            .collect::<Vec<_>>()
    };
    x.chunks(size).flat_map(sums).collect()
}

pub(crate) fn running_sums_of_blocks_and_warps(machine: &Machine) {
    let run = Run::new(machine, "compute_75/scan");
    let x = Random(8).vec(600, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(600));
    let launch = Shape { grid: [2, 1, 1], block: [300, 1, 1], dynamic_shared: 2 * 300 * 4, ..Shape::default() };
    run.shaped("scan_block", launch, args![from, y]);
    assert_eq!(run.read::<i32>(y, 600), running(&x, 300));
    run.launch("scan_warp", 3, 192, args![from, y]);
    assert_eq!(run.read::<i32>(y, 576), running(&x[..576], 32));
}

pub(crate) fn kept_elements_stay_in_order_within_a_warp(machine: &Machine) {
    let run = Run::new(machine, "compute_75/scan");
    let x = Random(9).vec(500, |bits| bits as i32);
    let (from, y, kept) = (run.upload(&x), run.room::<i32>(500), run.upload(&[0u32]));
    run.launch("compact", 4, 128, args![from, y, kept, 1000i32, 500u32]);
    let mut expected: Vec<i32> = x.iter().copied().filter(|x| *x > 1000).collect();
    let count = run.read::<u32>(kept, 1)[0] as usize;
    let mut found = run.read::<i32>(y, count);
    for warp in x.chunks(32) {
        let kept: Vec<i32> = warp.iter().copied().filter(|x| *x > 1000).collect();
        assert!(kept.is_empty() || found.windows(kept.len()).any(|window| window == kept));
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

pub(crate) fn tiles_of_eight_add_up(machine: &Machine) {
    for run in Run::each(machine, "cooperative") {
        let x = Random(10).vec(128, |bits| bits as i32 >> 8);
        let (from, sums) = (run.upload(&x), run.room::<i32>(16));
        run.launch("tile_sums", 2, 64, args![from, sums]);
        assert_eq!(run.read::<i32>(sums, 16), x.chunks(8).map(|tile| tile.iter().sum()).collect::<Vec<i32>>());
    }
}

pub(crate) fn all_blocks_of_a_grid_wait_for_each_other(machine: &Machine) {
    for run in Run::each(machine, "cooperative") {
        let x = Random(11).vec(128, |bits| bits as i32);
        let (place, other) = (run.upload(&x), run.room::<i32>(128));
        run.shaped("grid_rotate_add", Shape { cooperative: true, ..Shape::row(4, 32) }, args![place, other, 6u32]);
        let step = |x: &[i32]| (0..128).map(|i| x[i].wrapping_add(x[(i + 1) % 128])).collect::<Vec<_>>();
        assert_eq!(run.read::<i32>(place, 128), (0..6).fold(x, |x, _| step(&x)));
    }
}
