//! Speed of kernels: nanoseconds per instruction of a warp and per thread, next to a plain loop over the
//! same data.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use warploom_ptx::{Grid, Launch, Program, Step, VecMemory};

/// Rounds are short, so that some of them have a core for themselves on a machine that others use as well.
const ROUNDS: usize = 100;
const ENOUGH: Duration = Duration::from_millis(500);
const FUEL: u64 = 1 << 60;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<18}{:>12}{:>12}{:>12}{:>14}", "kernel", "warp instr.", "ns/instr.", "ns/thread", "plain ns/thr.");
    let memory = VecMemory::new(24 << 20).reached_directly();
    let n = 1u32 << 16;
    let (x, y, z) = (memory.reserve(4 << 20), memory.reserve(4 << 20), memory.reserve(4 << 20));

    let (from, mut to) = (vec![1.5f32; n as usize], vec![0.5f32; n as usize]);
    let plain = || black_box(&mut to).iter_mut().zip(black_box(&from)).for_each(|(y, x)| *y += 2.5 * x);
    let bytes = Arguments::default().word(2.5f32.to_bits()).long(x).long(y).word(n);
    measure("vector", "saxpy", &memory, [n / 256, 1, 1], [256, 1, 1], &bytes, plain)?;

    let (width, mut next) = (256usize, vec![0f32; 1 << 16]);
    let plain = || {
        let from = black_box(&from);
        for row in 1..width - 1 {
            for i in row * width + 1..(row + 1) * width - 1 {
                next[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
            }
        }
        black_box(&mut next);
    };
    let bytes = Arguments::default().long(x).long(y).word(256).word(256);
    measure("stencil", "jacobi", &memory, [8, 32, 1], [32, 8, 1], &bytes, plain)?;

    let side = 128u32;
    let plain = || {
        black_box((0..side * side).map(|i| escape(i % side, i / side)).sum::<u32>());
    };
    let floats = [-2f32, -1.5, 3.0 / side as f32].map(f32::to_bits);
    let bytes = Arguments::default().long(x).word(side).word(side).word(floats[0]).word(floats[1]).word(floats[2]);
    measure("mandelbrot", "mandelbrot", &memory, [8, 8, 1], [16, 16, 1], &bytes.word(200), plain)?;

    let size = 64usize;
    let mut product = vec![0f32; size * size];
    let plain = || multiply(black_box(&from), &mut product, size);
    let bytes = Arguments::default().long(x).long(y).long(z).word(size as u32);
    measure("matmul", "matmul_tiled", &memory, [4, 4, 1], [16, 16, 1], &bytes, plain)?;

    let numbers = vec![3i32; n as usize];
    let plain = || {
        black_box(black_box(&numbers).iter().fold(0i32, |sum, x| sum.wrapping_add(*x)));
    };
    let bytes = Arguments::default().long(x).long(y).word(n);
    measure("reduce", "reduce_shuffle", &memory, [8, 1, 1], [256, 1, 1], &bytes, plain)?;

    let bytes = Arguments::default().long(x).long(y).long(z).word(0.01f32.to_bits()).word(1f32.to_bits()).word(512);
    let bodies: Vec<[f32; 4]> = (0..512).map(|i| [i as f32, 0.5 * i as f32, 0.25 * i as f32, 1.5]).collect();
    let mut velocities = vec![[0f32; 3]; bodies.len()];
    let plain = || attract(black_box(&bodies), black_box(&mut velocities));
    measure("nbody", "nbody", &memory, [8, 1, 1], [64, 1, 1], &bytes, plain)?;

    let letters = vec![7u8; n as usize];
    let mut counts = [0u32; 256];
    let plain = || black_box(&letters).iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let bytes = Arguments::default().long(x).long(y).word(n);
    measure("histogram", "histogram_shared", &memory, [8, 1, 1], [256, 1, 1], &bytes, plain)
}

/// Arguments, each aligned to its size.
#[derive(Clone, Default)]
struct Arguments(Vec<u8>);

impl Arguments {
    fn word(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn long(mut self, value: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(value.to_le_bytes());
        self
    }
}

fn escape(px: u32, py: u32) -> u32 {
    let (cx, cy) = (px as f32 * (3.0 / 128.0) - 2.0, py as f32 * (3.0 / 128.0) - 1.5);
    let (mut x, mut y, mut count) = (0f32, 0f32, 0);
    while count < 200 && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + cx, 2.0 * (x * y) + cy);
        count += 1;
    }
    count
}

/// Velocities after a step of 0.01 in which bodies attract each other.
fn attract(bodies: &[[f32; 4]], velocities: &mut [[f32; 3]]) {
    for (here, velocity) in bodies.iter().zip(velocities) {
        let mut pull = [0f32; 3];
        for other in bodies {
            let [x, y, z] = [other[0] - here[0], other[1] - here[1], other[2] - here[2]];
            let inverse = 1.0 / (x * x + y * y + z * z + 1.0).sqrt();
            let scale = other[3] * inverse * inverse * inverse;
            pull = [pull[0] + x * scale, pull[1] + y * scale, pull[2] + z * scale];
        }
        velocity.iter_mut().zip(pull).for_each(|(velocity, pull)| *velocity += 0.01 * pull);
    }
}

fn multiply(from: &[f32], product: &mut [f32], size: usize) {
    product.fill(0.0);
    for row in 0..size {
        for k in 0..size {
            let factor = from[row * size + k];
            for column in 0..size {
                product[row * size + column] += factor * from[k * size + column];
            }
        }
    }
    black_box(product);
}

fn measure(
    text: &str,
    kernel: &str,
    memory: &VecMemory,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: &Arguments,
    plain: impl FnMut(),
) -> Result<(), Box<dyn Error>> {
    // As with every benchmark: names, or parts of them, choose what is measured.
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if !asked.is_empty() && !asked.iter().any(|part| kernel.contains(part.as_str())) {
        return Ok(());
    }
    let plain = fastest(plain);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx/compute_75").join(text).with_extension("ptx");
    let program = memory.place(&Program::from_text(&fs::read_to_string(path)?)?);
    let entry = program.kernel(kernel).ok_or("there is no such kernel")?;
    let launch = Launch { grid, block, arguments: &arguments.0, resident: 1, ..Launch::default() };
    let threads: f64 = grid.iter().chain(&block).map(|size| f64::from(*size)).product();
    let mut instructions = 0;
    let mut failed = None;
    let took = fastest(|| {
        let outcome = Grid::new(entry, launch, memory).map(|mut grid| {
            let step = grid.step(FUEL);
            (step, grid.instructions())
        });
        match outcome {
            Ok((Step::Done, count)) => instructions = count,
            Ok((step, _)) => failed = Some(format!("{step:?}")),
            Err(error) => failed = Some(error.to_string()),
        }
    });
    if let Some(failed) = failed {
        return Err(failed.into());
    }
    let nanoseconds = took.as_secs_f64() * 1e9;
    println!(
        "{kernel:<18}{instructions:>12}{:>12.1}{:>12.2}{:>14.2}",
        nanoseconds / instructions as f64,
        nanoseconds / threads,
        plain.as_secs_f64() * 1e9 / threads,
    );
    Ok(())
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let begun = Instant::now();
    (0..ROUNDS).map(time).take_while(|_| begun.elapsed() < ENOUGH).min().unwrap_or_default()
}
