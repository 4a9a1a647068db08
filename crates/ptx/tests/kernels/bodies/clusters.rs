use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn blocks_have_the_shape_that_a_kernel_requires_and_are_clusters_of_their_own(machine: &Machine) {
    let run = Run::new(machine, "compute_90/clusters");
    let y = run.room::<u32>(256);
    let launch = Shape { grid: [2, 1, 1], block: [64, 2, 1], ..Shape::default() };
    run.shaped("exact_block", launch, args![y]);
    assert_eq!(run.read::<u32>(y, 256), (0..256).collect::<Vec<_>>());
    run.launch("cluster_ranks", 2, 64, args![y]);
    assert_eq!(run.read::<u32>(y, 128), [0; 128]);
}

pub(crate) fn bulk_copies_are_counted_by_bytes(machine: &Machine) {
    let run = Run::new(machine, "compute_90/async90");
    let x = Random(2).vec(512, |bits| bits as i32 >> 1);
    let (from, y) = (run.upload(&x), run.room::<i32>(512));
    run.launch("bulk_copy", 2, 256, args![from, y]);
    assert_eq!(run.read::<i32>(y, 512), x.iter().map(|x| x.wrapping_mul(2)).collect::<Vec<_>>());
}

pub(crate) fn neighbours_of_a_cluster_read_each_other(machine: &Machine) {
    let run = Run::new(machine, "compute_90/async90");
    let x = Random(3).vec(256, |bits| bits as i32);
    let (from, y) = (run.upload(&x), run.room::<i32>(256));
    run.launch("cluster_neighbours", 4, 64, args![from, y]);
    assert_eq!(run.read::<i32>(y, 256), (0..256).map(|i| x[i ^ 64]).collect::<Vec<_>>());
}

pub(crate) fn kernels_may_let_the_next_one_start_early(machine: &Machine) {
    let run = Run::new(machine, "compute_90/async90");
    let x = Random(1).vec(256, |bits| bits as i32 >> 1);
    let (from, y) = (run.upload(&x), run.room::<i32>(256));
    run.launch("early_launch", 4, 64, args![from, y]);
    run.launch("early_launch", 4, 64, args![y, from]);
    assert_eq!(run.read::<i32>(from, 256), x.iter().map(|x| x + 2).collect::<Vec<_>>());
}
