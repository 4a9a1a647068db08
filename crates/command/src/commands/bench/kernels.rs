//! Times and rates of a few kernels, with their results checked.
#![expect(unsafe_code, reason = "launches kernels")]

use std::time::Instant;

use warploom::{DevicePool, LaunchConfig, Library, Result, Stream};

use super::{Bench, median};
use crate::human::Progress;
use crate::report::KernelTime;

/// The kernels; kernels.cu is their source.
pub(super) const TEXT: &str = include_str!("kernels.ptx");

/// Sizes of the inputs: a vector, the side of a matrix, the side of a picture, and rounds.
struct Sizes {
    vector: u32,
    matrix: u32,
    picture: u32,
    rounds: usize,
}

/// A simulated machine interprets the kernels, and its time is the same every time.
fn sizes(bench: &Bench) -> Sizes {
    match (bench.is_simulated(), bench.quick) {
        (true, false) => Sizes { vector: 1 << 20, matrix: 128, picture: 256, rounds: 3 },
        (true, true) => Sizes { vector: 1 << 16, matrix: 64, picture: 64, rounds: 1 },
        (false, false) => Sizes { vector: 1 << 26, matrix: 2048, picture: 4096, rounds: 21 },
        (false, true) => Sizes { vector: 1 << 22, matrix: 512, picture: 1024, rounds: 5 },
    }
}

/// Most steps of a pixel.
const LIMIT: u32 = 200;

pub(super) fn measure(bench: &Bench, progress: &mut Progress) -> Result<Vec<KernelTime>> {
    let Sizes { vector, matrix, picture, rounds } = sizes(bench);
    let context = bench.driver().device(0)?.context()?;
    let (stream, pool, library) = (context.stream()?, DevicePool::new(&context)?, context.load(TEXT)?);
    let site = Site { stream, pool, library, rounds };
    progress.start("kernels", 4);
    let mut all = Vec::new();
    let kernels: [(Measurement, u32); 4] =
        [(Site::saxpy, vector), (Site::sum, vector), (Site::matmul, matrix), (Site::mandelbrot, picture)];
    for (kernel, size) in kernels {
        all.push(kernel(&site, size)?);
        progress.step();
    }
    Ok(all)
}

/// The measurement of a kernel with an input of this size.
type Measurement = fn(&Site, u32) -> Result<KernelTime>;

struct Site {
    stream: Stream,
    pool: DevicePool,
    library: Library,
    rounds: usize,
}

impl Site {
    /// Medians of the times of a launch on the device and on the host, in milliseconds. One launch beforehand
    /// warms up.
    fn time(&self, mut launch: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
        let (mut device, mut host) = (Vec::new(), Vec::new());
        for round in 0..=self.rounds {
            let began = Instant::now();
            let start = self.stream.record_timed()?;
            launch()?;
            let end = self.stream.record_timed()?;
            end.synchronize()?;
            if round > 0 {
                host.push(began.elapsed().as_secs_f64() * 1e3);
                device.push(end.elapsed_ms(&start)?.into());
            }
        }
        Ok((median(device).0, median(host).0))
    }

    fn saxpy(&self, n: u32) -> Result<KernelTime> {
        let kernel = self.library.kernel("saxpy")?;
        let x = self.pool.upload(&vec![1.0_f32; n as usize], &self.stream)?;
        let mut y = self.pool.zeroed::<f32>(n as usize, &self.stream)?;
        let shape = LaunchConfig::cover(n as usize, 256);
        // SAFETY: both have n values, which the kernel reads and writes by index below n.
        let (milliseconds, host_milliseconds) =
            self.time(|| unsafe { kernel.launch(&self.stream, &shape, (1.0_f32, &x, &mut y, n)) })?;
        let expected = (self.rounds + 1) as f32;
        Ok(KernelTime {
            kernel: "saxpy",
            size: format!("{n} values"),
            milliseconds,
            host_milliseconds,
            // Two values are read, and one is written.
            rate: 12.0 * f64::from(n) / milliseconds / 1e6,
            unit: "GB/s",
            correct: y.download(&self.stream)?.iter().all(|value| *value == expected),
        })
    }

    fn sum(&self, n: u32) -> Result<KernelTime> {
        let kernel = self.library.kernel("sum")?;
        let x = self.pool.upload(&vec![1_i32; n as usize], &self.stream)?;
        let mut total = self.pool.zeroed::<i32>(1, &self.stream)?;
        let shape = LaunchConfig::cover(n as usize / 16, 256);
        // SAFETY: x has n values, which the kernel reads, and it adds to one total.
        let (milliseconds, host_milliseconds) =
            self.time(|| unsafe { kernel.launch(&self.stream, &shape, (&x, &mut total, n)) })?;
        let expected = (n as i32).wrapping_mul(self.rounds as i32 + 1);
        Ok(KernelTime {
            kernel: "sum",
            size: format!("{n} values"),
            milliseconds,
            host_milliseconds,
            rate: 4.0 * f64::from(n) / milliseconds / 1e6,
            unit: "GB/s",
            correct: total.download(&self.stream)? == [expected],
        })
    }

    fn matmul(&self, n: u32) -> Result<KernelTime> {
        let kernel = self.library.kernel("matmul")?;
        let len = n as usize * n as usize;
        let a = self.pool.upload(&vec![1.0_f32; len], &self.stream)?;
        let b = self.pool.upload(&vec![2.0_f32; len], &self.stream)?;
        let mut c = self.pool.zeroed::<f32>(len, &self.stream)?;
        let shape = LaunchConfig::new((n / 16, n / 16), (16, 16));
        // SAFETY: all have n rows of n values, and n is a multiple of the tile.
        let (milliseconds, host_milliseconds) =
            self.time(|| unsafe { kernel.launch(&self.stream, &shape, (&a, &b, &mut c, n)) })?;
        let expected = 2.0 * n as f32;
        Ok(KernelTime {
            kernel: "matmul",
            size: format!("{n}×{n}"),
            milliseconds,
            host_milliseconds,
            rate: 2.0 * f64::from(n).powi(3) / milliseconds / 1e6,
            unit: "GFLOP/s",
            correct: c.download(&self.stream)?.iter().all(|value| *value == expected),
        })
    }

    fn mandelbrot(&self, side: u32) -> Result<KernelTime> {
        let kernel = self.library.kernel("mandelbrot")?;
        let pixels = side as usize * side as usize;
        let mut steps = self.pool.zeroed::<u32>(pixels, &self.stream)?;
        let shape = LaunchConfig::cover(pixels, 128);
        // SAFETY: a thread for each pixel, of which it writes the number of steps.
        let (milliseconds, host_milliseconds) =
            self.time(|| unsafe { kernel.launch(&self.stream, &shape, (&mut steps, side, LIMIT)) })?;
        let steps = steps.download(&self.stream)?;
        let middle = steps[pixels / 2 + side as usize / 2];
        Ok(KernelTime {
            kernel: "mandelbrot",
            size: format!("{side}×{side} pixels"),
            milliseconds,
            host_milliseconds,
            rate: pixels as f64 / milliseconds / 1e3,
            unit: "Mpixel/s",
            // The corner is outside of the set, and the pixel near -0.75 in it.
            correct: steps[0] < 4 && middle == LIMIT,
        })
    }
}
