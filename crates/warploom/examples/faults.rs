//! Driver errors in your own tests: one that is planned, and every one in turn.
//!
//! ```sh
//! cargo run -p warploom --example faults
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::sys::types::CUresult;
use warploom::{Buffer, DevicePool, Driver, Result, Stream};
use warploom_sim::fault::{Class, Plan, Rule};
use warploom_test::{Case, Faults};

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> std::result::Result<(), Box<dyn Error>> {
    run()
}

/// The function under test: takes as large a buffer as there is memory for.
fn as_large_as_possible(pool: &DevicePool, stream: &Stream, mut bytes: usize) -> Result<Buffer<u8>> {
    loop {
        match pool.zeroed(bytes, stream) {
            Err(error) if error.is_out_of_memory() && bytes > 1 => bytes /= 2,
            other => return other,
        }
    }
}

pub(crate) fn run() -> std::result::Result<(), Box<dyn Error>> {
    // The first two allocations find no memory.
    let full = Plan::new().rule(Rule::on(Class::Alloc).times(2).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    Case::new().faults(full).run(|driver: &Driver| -> Result<()> {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        assert_eq!(as_large_as_possible(&pool, &stream, 4096)?.len(), 1024);
        Ok(())
    });
    println!("a full device: a quarter of the size after two failures");

    // Each driver call fails once; errors must reach the caller, and nothing may leak.
    let swept = Case::new().faults(Faults::Sweep).try_run(|driver: &Driver| -> Result<()> {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        pool.upload(&[1_u8; 64], &stream)?.download(&stream).map(drop)
    });
    let report = swept.ok().and_then(|passed| passed.sweep).ok_or("an error was swallowed")?;
    println!("{} driver calls failed in turn, in {} runs", report.calls.len(), report.runs);
    Ok(())
}
