//! A kernel on two vectors: y = 2x + y.
//!
//! ```sh
//! cargo run -p warploom --example saxpy
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "launches a kernel")]

use std::error::Error;

use warploom::{DevicePool, Driver, LaunchConfig};
use warploom_sim::Machine;

type Outcome = Result<(), Box<dyn Error>>;

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(_) => Driver::open(&Machine::preset("h200")?)?, // no driver here: a simulated machine
    };
    run(&driver)
}

pub(crate) fn run(driver: &Driver) -> Outcome {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let saxpy = context.load(include_str!("saxpy.ptx"))?.kernel("saxpy")?;

    let host: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let x = pool.upload(&host, &stream)?;
    let mut y = pool.upload(&vec![1.0_f32; host.len()], &stream)?;
    let (shape, count) = (LaunchConfig::cover(x.len(), 256), x.len() as u32);
    // SAFETY: the kernel reads `count` values of x and y, writes as many of y, and both have that many.
    unsafe { saxpy.launch(&stream, &shape, (2.0_f32, &x, &mut y, count)) }?;

    let result = y.download(&stream)?; // waits for the stream
    assert!(result.iter().zip(&host).all(|(y, x)| *y == 2.0 * x + 1.0));
    println!("{} values on {}; the last is {}", result.len(), context.device().name()?, result[999]);
    Ok(())
}
