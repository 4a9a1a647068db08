use super::inputs::Random;
use crate::machine::{Machine, Run, args};

/// The sums up to each element.
fn running(x: &[i32]) -> Vec<i32> {
    let add = |sum: &mut i32, value: &i32| {
        *sum = sum.wrapping_add(*value);
        Some(*sum)
    };
    x.iter().scan(0, add).collect()
}

pub(crate) fn blocks_sort_and_sum_with_the_library(machine: &Machine) {
    let run = Run::new(machine, "compute_75/primitives");
    let mut x = Random(61).vec(512, |bits| bits as i32);
    let from = run.upload(&x);
    let (sorted, sums, total) = (run.room::<i32>(512), run.room::<i32>(512), run.room::<i32>(1));
    run.launch("primitives_of_blocks", 1, 128, args![from, sorted, sums, total]);
    x.sort_unstable();
    assert_eq!(run.read::<i32>(sorted, 512), x);
    assert_eq!(run.read::<i32>(sums, 512), running(&x));
    assert_eq!(run.read::<i32>(total, 1)[0], running(&x)[511]);
}

pub(crate) fn warps_sum_with_the_library(machine: &Machine) {
    let run = Run::new(machine, "compute_75/primitives");
    let x = Random(62).vec(128, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(256));
    run.launch("primitives_of_warps", 1, 128, args![from, y]);
    let found = run.read::<i32>(y, 256);
    for warp in 0..4 {
        let sums = running(&x[warp * 32..][..32]);
        assert_eq!(found[warp * 32], sums[31]);
        assert_eq!(found[128 + warp * 32..][..32], [&[0], &sums[..31]].concat());
    }
}
