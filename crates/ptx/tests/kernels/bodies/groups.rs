use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

/// Elements of a block.
const N: usize = 128;

/// The value of `result` for each element: it gets the element's group of `size`, and the index in that.
fn of_each<T: Copy>(x: &[T], size: usize, result: impl Fn(&[T], usize) -> T) -> Vec<T> {
    (0..x.len()).map(|i| result(&x[i / size * size..][..size], i % size)).collect()
}

fn added(values: &[i32]) -> i32 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

pub(crate) fn groups_reduce_and_scan_integers(machine: &Machine) {
    for run in Run::each(machine, "groups") {
        let x = Random(41).vec(N, |bits| bits as i32);
        let (from, y) = (run.upload(&x), run.room::<i32>(5 * N));
        run.launch("group_integers", 1, N as u32, args![from, y]);
        let expected = [
            of_each(&x, 32, |warp, _| added(warp)),
            of_each(&x, 8, |eight, _| *eight.iter().max().expect("eight")),
            of_each(&x, 8, |eight, _| eight.iter().fold(0, |all, value| all ^ value)),
            of_each(&x, 32, |warp, place| added(&warp[..=place])),
            of_each(&x, 8, |eight, place| added(&eight[..place])),
        ];
        assert_eq!(run.read::<i32>(y, 5 * N), expected.concat());
    }
}

pub(crate) fn groups_reduce_floats(machine: &Machine) {
    for run in Run::each(machine, "groups") {
        // Sums are exact in any order.
        let x = Random(42).vec(N, |bits| f32::from(bits as i16) / 8.0);
        let (from, y, z) = (run.upload(&x), run.room::<f32>(2 * N), run.room::<f64>(N));
        run.launch("group_floats", 1, N as u32, args![from, y, z]);
        let sums = of_each(&x, 32, |warp, _| warp.iter().sum());
        let least = of_each(&x, 8, |eight, _| eight.iter().copied().fold(f32::INFINITY, f32::min));
        assert_eq!(run.read::<f32>(y, 2 * N), [sums, least].concat());
        let sums = of_each(&x, 16, |sixteen, _| sixteen.iter().sum());
        assert_eq!(run.read::<f64>(z, N), sums.into_iter().map(f64::from).collect::<Vec<_>>());
    }
}

pub(crate) fn threads_that_are_alike_find_each_other(machine: &Machine) {
    for run in Run::each(machine, "groups") {
        let x = Random(43).vec(N, |bits| (bits % 8) as i32);
        let (from, y) = (run.upload(&x), run.room::<i32>(3 * N));
        run.launch("group_partitions", 1, N as u32, args![from, y]);
        let odd = of_each(&x, 32, |warp, place| {
            let sum: i32 = warp.iter().filter(|value| *value % 2 == 1).sum();
            let rank = warp[..place].iter().filter(|value| *value % 2 == 1).count();
            if warp[place] % 2 == 1 { sum * 100 + rank as i32 } else { 0 }
        });
        let alike = of_each(&x, 16, |tile, place| tile.iter().filter(|value| *value % 3 == tile[place] % 3).sum());
        let side = of_each(&x, 16, |tile, place| {
            let like = |value: &&i32| (**value > 3) == (tile[place] > 3);
            (tile.iter().filter(like).count() * 100 + tile[..place].iter().filter(like).count()) as i32
        });
        assert_eq!(run.read::<i32>(y, 3 * N), [odd, alike, side].concat());
    }
}

pub(crate) fn groups_copy_beside_their_threads(machine: &Machine) {
    for run in Run::each(machine, "groups") {
        let x = Random(44).vec(N, |bits| bits as i32);
        let (from, y) = (run.upload(&x), run.room::<i32>(3 * N));
        let shape = Shape { grid: [1; 3], block: [N as u32, 1, 1], dynamic_shared: 4 * N as u32, cooperative: false };
        run.shaped("group_copies", shape, args![from, y]);
        let turned = |by: usize| (0..N).map(|i| x[i ^ by]).collect::<Vec<_>>();
        assert_eq!(run.read::<i32>(y, 3 * N), [turned(127), turned(1), turned(4)].concat());
    }
}

pub(crate) fn one_thread_of_a_group_is_enough(machine: &Machine) {
    for run in Run::each(machine, "groups") {
        let (counts, y) = (run.upload(&[0i32; 2]), run.room::<i32>(3 * N));
        run.launch("group_elections", 3, N as u32, args![counts, y]);
        assert_eq!(run.read::<i32>(counts, 2), [3, 12]);
        let mut found: Vec<i32> = run.read::<i32>(y, 3 * N).chunks(32).map(|warp| warp[0]).collect();
        assert!(run.read::<i32>(y, 3 * N).chunks(32).all(|warp| warp.iter().all(|value| *value == warp[0])));
        found.sort_unstable();
        assert_eq!(found, (0..12).collect::<Vec<_>>());
    }
}
