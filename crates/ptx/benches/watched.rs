//! Cost of race detection: the same kernels without checks, with each alone and with all, in nanoseconds per
//! instruction of a warp.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use warploom_ptx::{Grid, Host, Launch, Memory, Program, Step, VecMemory, Watched, Watches};

/// The fastest counts: on a machine that others use as well, some rounds have a processor for themselves.
const ROUNDS: usize = 40;
const FUEL: u64 = 1 << 60;

/// Text, kernel, grid, block, and the arguments as words.
type Row = (&'static str, &'static str, [u32; 3], [u32; 3], Vec<u32>);

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<18}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}", "kernel", "off", "barriers", "shared", "global", "all", "ratio");
    let memory = VecMemory::new(32 << 20);
    let n = 1 << 16;
    let [x, y, z] = [(); 3].map(|()| {
        let address = memory.reserve(4 << 20);
        [address as u32, (address >> 32) as u32]
    });
    let rows: [Row; 6] = [
        ("vector", "saxpy", [n / 256, 1, 1], [256, 1, 1], [&[0, 0], &x[..], &y[..], &[n]].concat()),
        ("stencil", "jacobi", [8, 32, 1], [32, 8, 1], [&x[..], &y[..], &[256, 256]].concat()),
        ("matmul", "matmul_tiled", [4, 4, 1], [16, 16, 1], [&x[..], &y[..], &z[..], &[64]].concat()),
        ("reduce", "reduce_shuffle", [8, 1, 1], [256, 1, 1], [&x[..], &y[..], &[n]].concat()),
        ("nbody", "nbody", [4, 1, 1], [64, 1, 1], [&x[..], &y[..], &z[..], &[0, 0, 256]].concat()),
        ("histogram", "histogram_shared", [8, 1, 1], [256, 1, 1], [&x[..], &y[..], &[n]].concat()),
    ];
    for row in rows {
        measure(&memory, &row)?;
    }
    Ok(())
}

fn measure(memory: &VecMemory, (text, kernel, grid, block, words): &Row) -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/ptx/compute_75").join(text).with_extension("ptx");
    let program = memory.place(&Program::from_text(&fs::read_to_string(path)?)?);
    let entry = program.kernel(kernel).ok_or("there is no such kernel")?;
    let arguments: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch { grid: *grid, block: *block, arguments: &arguments, ..Launch::default() };
    let none = Watches { shared_races: false, global_races: false, unwritten_shared: false, barriers: false };
    let plain = fastest(|| run(Grid::new(entry, launch, memory).map_err(|error| error.to_string())?))?;
    let mut cells = vec![plain];
    for watches in [
        Watches { barriers: true, ..none },
        Watches { shared_races: true, unwritten_shared: true, ..none },
        Watches { global_races: true, ..none },
        Watches::ALL,
    ] {
        cells.push(fastest(|| {
            let watched = Watched::new(entry, &launch, watches, memory);
            run(Grid::new(entry, launch, &watched).map_err(|error| error.to_string())?)
        })?);
    }
    let all = cells[4];
    let cells: String = cells.iter().map(|cell| format!("{cell:>9.1}")).collect();
    println!("{kernel:<18}{cells}{:>8.1}", all / plain);
    Ok(())
}

/// Runs a kernel, and says how many instructions of warps it took.
fn run<M: Memory + Host>(mut grid: Grid<M>) -> Result<u64, String> {
    match grid.step(FUEL) {
        Step::Done => Ok(grid.instructions()),
        other => Err(format!("{other:?}")),
    }
}

/// Nanoseconds per instruction in the fastest of a few rounds.
fn fastest(mut run: impl FnMut() -> Result<u64, String>) -> Result<f64, String> {
    let mut best = (Duration::MAX, 1);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let instructions = run()?;
        best = best.min((start.elapsed(), instructions));
    }
    Ok(best.0.as_nanos() as f64 / best.1 as f64)
}
