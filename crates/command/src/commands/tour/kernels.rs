//! A kernel on every device: each draws its part of one picture.
#![expect(unsafe_code, reason = "launches a kernel")]

use std::ops::Range;

use warploom::{Buffer, DevicePool, Driver, LaunchConfig, Library, Stream, TypedKernel};

use super::StepResult;
use crate::report::{Band, Check, Findings};

const MANDELBROT: &str = include_str!("mandelbrot.ptx");
const COLUMNS: u32 = 72;
const ROWS: usize = 22;
const LIMIT: u32 = 200;
const LEFT: f32 = -2.2;
const TOP: f32 = -1.15;
/// The distance between pixels; a character cell of a terminal is about twice as high as wide.
const ACROSS: f32 = 0.045;
const DOWN: f32 = 0.109;

/// Steps of each pixel; the corner; from pixel to pixel; the most steps.
type Mandelbrot = (&'static mut [u32], f32, f32, f32, f32, u32);

/// A part of the picture that a device is drawing.
struct Part {
    device: u32,
    rows: Range<usize>,
    steps: Buffer<u32>,
    stream: Stream,
}

pub(super) fn visit(driver: &Driver) -> StepResult {
    let library = Library::from_ptx(driver, MANDELBROT)?;
    let kernel: TypedKernel<Mandelbrot> = library.kernel("mandelbrot")?.typed()?;
    let devices = driver.devices()?;
    let (count, rows) = (devices.len(), ROWS.max(devices.len()));
    let mut parts = Vec::with_capacity(count);
    for (index, device) in devices.iter().enumerate() {
        let context = device.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let rows = index * rows / count..(index + 1) * rows / count;
        let mut steps = pool.allocate(rows.len() * COLUMNS as usize, &stream)?;
        let shape = LaunchConfig::new(u32::try_from(rows.len())?, COLUMNS);
        // SAFETY: a thread for each pixel, of which it writes the number of steps.
        unsafe { kernel.launch(&stream, &shape, (&mut steps, LEFT, top(&rows), ACROSS, DOWN, LIMIT)) }?;
        parts.push(Part { device: device.ordinal(), rows, steps, stream });
    }
    let (mut bands, mut same) = (Vec::with_capacity(count), true);
    for part in &parts {
        let steps = part.steps.download(&part.stream)?;
        same &= steps == expected(&part.rows);
        bands.push(Band { device: part.device, rows: steps.chunks(COLUMNS as usize).map(drawn).collect() });
    }
    let checks = vec![Check::new("every pixel is what the host computes for it", same)];
    Ok((Findings::Kernels { kernel: kernel.name().to_owned(), pixels: rows * COLUMNS as usize, bands }, checks))
}

fn top(rows: &Range<usize>) -> f32 {
    TOP + rows.start as f32 * DOWN
}

/// The result of the kernel, computed in Rust.
fn expected(rows: &Range<usize>) -> Vec<u32> {
    let mut all = Vec::new();
    for row in 0..rows.len() {
        for column in 0..COLUMNS {
            let c = (LEFT + column as f32 * ACROSS, top(rows) + row as f32 * DOWN);
            let (mut x, mut y, mut steps) = (0.0_f32, 0.0_f32, 0);
            while steps < LIMIT && x * x + y * y <= 4.0 {
                (x, y) = ((x * x - y * y) + c.0, (x * y + x * y) + c.1);
                steps += 1;
            }
            all.push(steps);
        }
    }
    all
}

/// A row of pixels in characters, the darker the more steps.
fn drawn(steps: &[u32]) -> String {
    let shade = |steps: &u32| match *steps {
        LIMIT.. => '@',
        24.. => '%',
        12.. => '*',
        7.. => '+',
        5.. => ':',
        4.. => '.',
        _ => ' ',
    };
    steps.iter().map(shade).collect::<String>().trim_end().to_owned()
}
