//! The kernels as plain loops that a compiler sees whole.

pub(crate) fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

pub(crate) fn jacobi(from: &[f32], to: &mut [f32], width: usize) {
    for row in 1..width - 1 {
        for i in row * width + 1..(row + 1) * width - 1 {
            to[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
        }
    }
}

pub(crate) fn mandelbrot(side: u32) -> u32 {
    let scale = 3.0 / side as f32;
    let escape = |i: u32| {
        let (cx, cy) = ((i % side) as f32 * scale - 2.0, (i / side) as f32 * scale - 1.5);
        let (mut x, mut y, mut count) = (0.0_f32, 0.0_f32, 0_u32);
        while count < 200 && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * (x * y) + cy);
            count += 1;
        }
        count
    };
    (0..side * side).map(escape).fold(0, u32::wrapping_add)
}

pub(crate) fn multiply(from: &[f32], product: &mut [f32], size: usize) {
    product.fill(0.0);
    for row in 0..size {
        for k in 0..size {
            let factor = from[row * size + k];
            for column in 0..size {
                product[row * size + column] += factor * from[k * size + column];
            }
        }
    }
}

/// Bodies are four numbers each: where they are, and their mass.
pub(crate) fn attract(bodies: &[f32], velocities: &mut [f32], step: f32, softening: f32) {
    for (here, velocity) in bodies.as_chunks::<4>().0.iter().zip(velocities.as_chunks_mut::<4>().0) {
        let mut pull = [0.0; 3];
        for other in bodies.as_chunks::<4>().0 {
            let apart = [other[0] - here[0], other[1] - here[1], other[2] - here[2]];
            let square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2] + softening;
            let inverse = 1.0 / square.sqrt();
            let scale = other[3] * inverse * inverse * inverse;
            pull.iter_mut().zip(apart).for_each(|(pull, apart)| *pull += apart * scale);
        }
        velocity.iter_mut().zip(pull).for_each(|(velocity, pull)| *velocity += step * pull);
    }
}

pub(crate) fn count(bytes: &[u8], counts: &mut [u32; 256]) {
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
}
