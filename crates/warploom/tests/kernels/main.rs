//! Kernels: libraries, arguments, launches and refusals.

mod arguments;
mod budgets;
mod configs;
mod launches;
mod libraries;
mod lifetimes;
mod occupancy;
mod parameters;
mod sweeps;

use warploom::{Context, DevicePool, Driver, Kernel, Library, Result, Stream, TypedKernel};

/// Sums of vectors.
const VECTOR: &str = include_str!("../../../ptx/kernels/ptx/compute_75/vector.ptx");
/// Variables and shared memory.
const MEMORY: &str = include_str!("../../../ptx/kernels/ptx/compute_75/memory.ptx");
/// Structs as arguments.
const CALLS: &str = include_str!("../../../ptx/kernels/ptx/compute_75/calls.ptx");

/// The text, in a version that drivers from 12.3 on read; some of these kernels need it.
fn readable(ptx: &str) -> String {
    ptx.replacen(".version 9.4", ".version 8.3", 1)
}

/// The parameters of `saxpy`: `y[i] = a * x[i] + y[i]` for `i < n`.
type Saxpy = (f32, &'static [f32], &'static mut [f32], u32);

struct Bench {
    context: Context,
    stream: Stream,
    pool: DevicePool,
    library: Library,
}

impl Bench {
    fn with(driver: &Driver, ptx: &str) -> Result<Bench> {
        let context = driver.device(0)?.context()?;
        let (stream, pool, library) = (context.stream()?, DevicePool::new(&context)?, context.load(&readable(ptx))?);
        Ok(Bench { context, stream, pool, library })
    }

    fn new(driver: &Driver) -> Result<Bench> {
        Bench::with(driver, VECTOR)
    }

    fn kernel(&self, name: &str) -> Result<Kernel> {
        self.library.kernel(name)
    }

    fn saxpy(&self) -> Result<TypedKernel<Saxpy>> {
        self.kernel("saxpy")?.typed()
    }
}
