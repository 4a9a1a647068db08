use super::inputs::Random;
use super::shape::Shape;
use crate::machine::{Machine, Run, args};

pub(crate) fn jacobi_takes_the_mean_of_four_neighbours(machine: &Machine) {
    let run = Run::new(machine, "compute_75/stencil");
    let (width, height) = (50usize, 30usize);
    let from = Random(1).vec(width * height, |bits| (bits as i32) as f32 / 1e3);
    let (x, y) = (run.upload(&from), run.room::<f32>(width * height));
    let launch = Shape { grid: [4, 4, 1], block: [16, 8, 1], ..Shape::default() };
    run.shaped("jacobi", launch, args![x, y, width as u32, height as u32]);
    for (i, found) in run.read::<f32>(y, width * height).into_iter().enumerate() {
        let (px, py) = (i % width, i / width);
        let edge = px == 0 || py == 0 || px == width - 1 || py == height - 1;
        let mean = || 0.25 * (((from[i - 1] + from[i + 1]) + from[i - width]) + from[i + width]);
        assert_eq!(found, if edge { from[i] } else { mean() });
    }
}

pub(crate) fn a_row_of_seven_is_summed_over_the_edges_of_blocks(machine: &Machine) {
    let run = Run::new(machine, "compute_75/stencil");
    let from = Random(2).vec(700, |bits| bits as i32 >> 4);
    let (x, y) = (run.upload(&from), run.room::<i32>(700));
    run.launch("stencil_1d", 3, 256, args![x, y, 700u32]);
    let at = |i: i32| usize::try_from(i).ok().and_then(|i| from.get(i)).copied().unwrap_or(0);
    let expected: Vec<i32> = (0..700).map(|i| (-3..=3).map(|k| at(i + k)).fold(0i32, i32::wrapping_add)).collect();
    assert_eq!(run.read::<i32>(y, 700), expected);
}

pub(crate) fn heat_flows_in_three_dimensions(machine: &Machine) {
    let run = Run::new(machine, "compute_75/stencil");
    let (nx, ny, nz) = (9usize, 7, 5);
    let from = Random(3).vec(nx * ny * nz, |bits| f64::from(bits as i16) / 7.0);
    let (x, y) = (run.upload(&from), run.room::<f64>(nx * ny * nz));
    let launch = Shape { grid: [2, 2, 5], block: [8, 4, 1], ..Shape::default() };
    run.shaped("heat_3d", launch, args![x, y, 0.1f64, nx as i32, ny as i32, nz as i32]);
    for (i, found) in run.read::<f64>(y, nx * ny * nz).into_iter().enumerate() {
        let (px, py, pz) = (i % nx, i / nx % ny, i / nx / ny);
        let inside = px > 0 && py > 0 && pz > 0 && px < nx - 1 && py < ny - 1 && pz < nz - 1;
        let here = from[i];
        let next = || {
            let plane = nx * ny;
            let around = from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx] + from[i - plane] + from[i + plane];
            0.1f64.mul_add((-6.0f64).mul_add(here, around), here)
        };
        assert_eq!(found, if inside { next() } else { here });
    }
}

pub(crate) fn bodies_attract_each_other(machine: &Machine) {
    let run = Run::new(machine, "compute_75/nbody");
    let n = 128;
    let bodies = Random(4).vec(4 * n, |bits| f32::from(bits as u8) / 16.0);
    let speeds = Random(5).vec(4 * n, |bits| f32::from(bits as i8) / 64.0);
    let (from, to, velocity) = (run.upload(&bodies), run.room::<f32>(4 * n), run.upload(&speeds));
    run.launch("nbody", 2, 64, args![from, to, velocity, 0.01f32, 0.5f32, n as u32]);
    let (places, after) = (run.read::<f32>(to, 4 * n), run.read::<f32>(velocity, 4 * n));
    for i in 0..n {
        let mut pull = [0f64; 3];
        for k in 0..n {
            let d: Vec<f64> =
                (0..3).map(|axis| f64::from(bodies[4 * k + axis]) - f64::from(bodies[4 * i + axis])).collect();
            let square = d.iter().map(|d| d * d).sum::<f64>() + 0.5;
            let scale = f64::from(bodies[4 * k + 3]) / (square * square.sqrt());
            (0..3).for_each(|axis| pull[axis] += d[axis] * scale);
        }
        for axis in 0..3 {
            let v = f64::from(speeds[4 * i + axis]) + 0.01 * pull[axis];
            let place = f64::from(bodies[4 * i + axis]) + 0.01 * v;
            assert!((f64::from(after[4 * i + axis]) - v).abs() < 1e-4 * (1.0 + v.abs()));
            assert!((f64::from(places[4 * i + axis]) - place).abs() < 1e-4 * (1.0 + place.abs()));
        }
    }
}

pub(crate) fn rows_are_normalised(machine: &Machine) {
    let run = Run::new(machine, "compute_75/softmax");
    let (rows, columns) = (3usize, 200usize);
    let x = Random(6).vec(rows * columns, |bits| f32::from(bits as i8) / 20.0);
    let (from, y) = (run.upload(&x), run.room::<f32>(rows * columns));
    run.launch("softmax_rows", rows as u32, 128, args![from, y, columns as u32]);
    let found = run.read::<f32>(y, rows * columns);
    for (row, found) in x.chunks(columns).zip(found.chunks(columns)) {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let sum: f64 = row.iter().map(|x| f64::from(x - largest).exp()).sum();
        for (x, found) in row.iter().zip(found) {
            let expected = f64::from(x - largest).exp() / sum;
            assert!((f64::from(*found) - expected).abs() <= 1e-5 * expected, "{found} {expected}");
        }
    }
    run.launch("normalize_rows", rows as u32, 32, args![from, y, columns as u32, 1e-3f32]);
    let found = run.read::<f32>(y, rows * columns);
    for (row, found) in x.chunks(columns).zip(found.chunks(columns)) {
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / columns as f64;
        let squares = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / columns as f64;
        let scale = 1.0 / (squares - mean * mean + 1e-3).sqrt();
        for (x, found) in row.iter().zip(found) {
            assert!((f64::from(*found) - (f64::from(*x) - mean) * scale).abs() < 1e-4);
        }
    }
}
