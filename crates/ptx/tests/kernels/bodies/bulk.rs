use super::inputs::Random;
use crate::machine::{Machine, Run, args};

fn ints(count: usize, seed: u64) -> Vec<i32> {
    Random(seed).vec(count, |bits| bits as i32)
}

pub(crate) fn tiles_are_fetched_ahead_of_those_that_add_them(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    for tiles in [1, 2, 7] {
        let x = ints(3 * tiles * 256, 1);
        let (from, y) = (run.upload(&x), run.upload(&[0i32; 3]));
        run.launch("bulk_pipeline", 3, 288, args![from, y, tiles as u32]);
        let sum = |block: &[i32]| block.iter().fold(0i32, |sum, x| sum.wrapping_add(*x));
        assert_eq!(run.read::<i32>(y, 3), x.chunks(tiles * 256).map(sum).collect::<Vec<_>>(), "{tiles} tiles");
    }
}

pub(crate) fn shared_memory_is_sent_in_groups(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    let x = ints(1024, 2);
    let (from, y) = (run.upload(&x), run.room::<i32>(1024));
    run.launch("bulk_store", 4, 256, args![from, y]);
    assert_eq!(run.read::<i32>(y, 1024), x.iter().map(|x| x.wrapping_add(1)).collect::<Vec<_>>());
}

pub(crate) fn one_copy_reaches_both_blocks_of_a_cluster(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    let x = ints(1024, 3);
    let (from, y) = (run.upload(&x), run.room::<i32>(2048));
    run.launch("bulk_multicast", 4, 256, args![from, y]);
    let expected: Vec<i32> = (0..4).flat_map(|block| x[block / 2 * 512..][..512].to_vec()).collect();
    assert_eq!(run.read::<i32>(y, 2048), expected);
}

pub(crate) fn blocks_of_a_cluster_exchange_and_add_tiles(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    let x = ints(1024, 4);
    let (from, y) = (run.upload(&x), run.room::<i32>(2048));
    run.launch("bulk_exchange", 4, 256, args![from, y, 1024u32]);
    let other: Vec<i32> = (0..1024).map(|i| x[i ^ 256]).collect();
    let sums: Vec<i32> = x.iter().zip(&other).map(|(x, other)| x.wrapping_add(*other)).collect();
    assert_eq!(run.read::<i32>(y, 2048), [other, sums].concat());
}

pub(crate) fn counts_of_blocks_are_added_as_a_whole(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    let x = Random(5).vec(3000, |bits| bits as u8);
    let (from, y, z) = (run.upload(&x), run.upload(&[1u32; 256]), run.upload(&[0.25f32; 256]));
    run.launch("bulk_histogram", 3, 256, args![from, y, z, 3000u32]);
    let count = |value: usize| x.iter().filter(|x| usize::from(**x) == value).count() as u32;
    assert_eq!(run.read::<u32>(y, 256), (0..256).map(|value| count(value) + 1).collect::<Vec<_>>());
    let sums: Vec<f32> = (0..256).map(|value| 0.25 + 1.5 * value as f32).collect();
    assert_eq!(run.read::<f32>(z, 256), sums);
}

pub(crate) fn registers_are_stored_and_added_in_the_other_block(machine: &Machine) {
    let run = Run::new(machine, "compute_90/bulk");
    let x = ints(512, 6);
    let (from, y, sums) = (run.upload(&x), run.room::<i32>(512), run.room::<u32>(2));
    run.launch("async_stores", 2, 64, args![from, y, sums]);
    assert_eq!(run.read::<i32>(y, 512), [&x[256..], &x[..256]].concat());
    let sum = |part: &[i32]| part.iter().fold(0u32, |sum, x| sum.wrapping_add(x.cast_unsigned()));
    assert_eq!(run.read::<u32>(sums, 2), [sum(&x[256..]), sum(&x[..256])]);
}
