use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn tiles_in_shared_memory_multiply_matrices(machine: &Machine) {
    let run = Run::new(machine, "compute_75/matmul");
    let n = 48usize;
    let (a, b) =
        (Random(1).vec(n * n, |bits| f32::from(bits as i8) / 3.0), Random(2).vec(n * n, |bits| f32::from(bits as i8)));
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<f32>(n * n));
    let launch = Shape { grid: [3, 3, 1], block: [16, 16, 1], ..Shape::default() };
    run.shaped("matmul_tiled", launch, args![x, y, z, n as u32]);
    let found = run.read::<f32>(z, n * n);
    for (i, found) in found.into_iter().enumerate() {
        let expected = (0..n).fold(0f32, |sum, k| a[i / n * n + k].mul_add(b[k * n + i % n], sum));
        assert_eq!(found, expected);
    }
}

pub(crate) fn shared_memory_of_the_launch_multiplies_matrices(machine: &Machine) {
    let run = Run::new(machine, "compute_75/matmul");
    let n = 32usize;
    let (a, b) =
        (Random(3).vec(n * n, |bits| f64::from(bits as i16) / 3.0), Random(4).vec(n * n, |bits| f64::from(bits as i8)));
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<f64>(n * n));
    let launch = Shape { grid: [2, 2, 1], block: [16, 16, 1], dynamic_shared: 4096, ..Shape::default() };
    run.shaped("matmul_dynamic", launch, args![x, y, z, n as u32]);
    for (i, found) in run.read::<f64>(z, n * n).into_iter().enumerate() {
        assert_eq!(found, (0..n).fold(0f64, |sum, k| a[i / n * n + k].mul_add(b[k * n + i % n], sum)));
    }
}

pub(crate) fn integers_wrap_and_sizes_may_be_odd(machine: &Machine) {
    let run = Run::new(machine, "compute_75/matmul");
    let n = 19usize;
    let (a, b) = (Random(5).vec(n * n, |bits| bits as i32), Random(6).vec(n * n, |bits| bits as i32));
    let (x, y, z) = (run.upload(&a), run.upload(&b), run.room::<i32>(n * n));
    let launch = Shape { grid: [3, 5, 1], block: [7, 4, 1], ..Shape::default() };
    run.shaped("matmul_i32", launch, args![x, y, z, n as u32]);
    for (i, found) in run.read::<i32>(z, n * n).into_iter().enumerate() {
        let product = |k: usize| a[i / n * n + k].wrapping_mul(b[k * n + i % n]);
        assert_eq!(found, (0..n).map(product).fold(0, i32::wrapping_add));
    }
}

pub(crate) fn transposes_go_through_a_padded_tile(machine: &Machine) {
    let run = Run::new(machine, "compute_75/transpose");
    let (rows, columns) = (70usize, 45usize);
    let from = Random(7).vec(rows * columns, |bits| bits as u32 as f32);
    let (x, y) = (run.upload(&from), run.room::<f32>(rows * columns));
    let launch = Shape { grid: [2, 3, 1], block: [32, 8, 1], ..Shape::default() };
    run.shaped("transpose_tiled", launch, args![x, y, rows as u32, columns as u32]);
    let found = run.read::<f32>(y, rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            assert_eq!(found[column * rows + row], from[row * columns + column]);
        }
    }

    let from = Random(8).vec(8 * 6 * 4, |bits| bits as u16);
    let (x, y) = (run.upload(&from), run.room::<u16>(8 * 6 * 4));
    let launch = Shape { grid: [2, 3, 2], block: [4, 2, 2], ..Shape::default() };
    run.shaped("rotate_3d", launch, args![x, y]);
    let found = run.read::<u16>(y, 8 * 6 * 4);
    for (i, value) in from.iter().enumerate() {
        let (px, py, pz) = (i % 8, i / 8 % 6, i / 48);
        assert_eq!(found[(px * 4 + pz) * 6 + py], *value);
    }
}
