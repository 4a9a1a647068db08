//! Launches: as calls through the bare table, and with warploom. The kernels do nothing, so that the host's
//! side is timed.
#![expect(unsafe_code, reason = "calls through the bare table, and launches kernels")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom::sys::types::CUlaunchConfig;
use warploom::{Kernel, LaunchConfig, TypedKernel};

use crate::measure::{Outcome, Row, Work, repeat};
use crate::operations::{Bench, function, success};

/// Kernels that do nothing.
pub(crate) const TEXT: &str = include_str!("launches.ptx");

/// A number, two pieces of memory, a number.
type Four = (f32, &'static [u8], &'static mut [u8], u32);

/// Eight pieces of memory, of which the last is written; eight numbers.
type Sixteen = (
    &'static [u8],
    &'static [u8],
    &'static [u8],
    &'static [u8],
    &'static [u8],
    &'static [u8],
    &'static [u8],
    &'static mut [u8],
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
);

/// Blocks, and threads of each.
pub(crate) const SHAPE: (u32, u32) = (1, 32);

impl Bench {
    pub(crate) fn launches(&self) -> Outcome<Vec<Row<'_>>> {
        Ok(vec![self.launch_none()?, self.launch_four()?, self.launch_sixteen()?])
    }

    fn kernel(&self, name: &str) -> Outcome<Kernel> {
        Ok(self.library.kernel(name)?)
    }

    /// A launch through the table; the values stay where they are.
    fn launch_raw(&self, kernel: &Kernel, values: Vec<u64>) -> Outcome<Work<'_>> {
        let launch = function!(self.driver, cuLaunchKernelEx);
        let (kernel, function) = (kernel.clone(), kernel.as_raw().cast());
        let config = CUlaunchConfig {
            gridDimX: SHAPE.0,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: SHAPE.1,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.stream.as_raw(),
            attrs: null_mut(),
            numAttrs: 0,
        };
        let mut addresses: Vec<*mut c_void> =
            values.iter().map(|value| (&raw const *value).cast_mut().cast()).collect();
        Ok(repeat(move || {
            // Held, and never moved, while they are pointed at.
            let (_kernel, _values) = (&kernel, &values);
            // SAFETY: the kernel takes as many values, none wider than these, and does nothing with them; the
            // bench keeps the stream alive.
            success(unsafe { launch(&raw const config, function, addresses.as_mut_ptr(), null_mut()) })
        }))
    }

    fn launch_none(&self) -> Outcome<Row<'_>> {
        let kernel: TypedKernel<()> = self.kernel("none")?.typed()?;
        let (raw, shape) = (self.launch_raw(&kernel, Vec::new())?, LaunchConfig::new(SHAPE.0, SHAPE.1));
        // SAFETY: the kernel does nothing.
        let ours = repeat(move || unsafe { kernel.launch(&self.stream, &shape, ()) });
        Ok(Row::new("launch with no arguments", raw, ours))
    }

    fn launch_four(&self) -> Outcome<Row<'_>> {
        let kernel: TypedKernel<Four> = self.kernel("four")?.typed()?;
        let (from, to) = (self.from.as_raw(), self.to.borrow().as_raw());
        let raw = self.launch_raw(&kernel, vec![1.0_f32.to_bits().into(), from, to, 7])?;
        let shape = LaunchConfig::new(SHAPE.0, SHAPE.1);
        let ours = repeat(move || {
            let to = &mut *self.to.borrow_mut();
            // SAFETY: the kernel does nothing.
            unsafe { kernel.launch(&self.stream, &shape, (1.0, &self.from, to, 7)) }
        });
        Ok(Row::new("launch with 4 arguments", raw, ours))
    }

    fn launch_sixteen(&self) -> Outcome<Row<'_>> {
        let kernel: TypedKernel<Sixteen> = self.kernel("sixteen")?.typed()?;
        let (from, to) = (self.from.as_raw(), self.to.borrow().as_raw());
        let values = [[from; 7].as_slice(), &[to], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        let (raw, shape) = (self.launch_raw(&kernel, values)?, LaunchConfig::new(SHAPE.0, SHAPE.1));
        let ours = repeat(move || {
            let (x, y) = (&self.from, &mut *self.to.borrow_mut());
            // SAFETY: the kernel does nothing.
            unsafe { kernel.launch(&self.stream, &shape, (x, x, x, x, x, x, x, y, 1, 2, 3, 4, 5, 6, 7, 8)) }
        });
        Ok(Row::new("launch with 16 arguments", raw, ours))
    }
}
