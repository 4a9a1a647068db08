//! A memory pool: freed memory stays in it, and the next allocation is cheap.
//!
//! ```sh
//! cargo run -p warploom --example pool
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::{DevicePool, Driver};
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
    pool.set_release_threshold(64 << 20)?; // so much may stay when the program waits for the stream

    for round in 0..3_u8 {
        let mut buffer = pool.allocate::<u8>(8 << 20, &stream)?; // in the order of the stream
        buffer.fill(round, &stream)?;
        drop(buffer); // freed behind the fill; the host does not wait
    }
    stream.synchronize()?;

    let statistics = pool.statistics()?;
    assert_eq!((statistics.used, statistics.used_high), (0, 8 << 20), "one buffer at a time");
    assert!(statistics.reserved > 0, "the pool has kept its memory");
    println!("three buffers of 8 MiB in {} MiB of the device", statistics.reserved_high >> 20);

    pool.trim(0)?; // gives all of it back
    assert_eq!(pool.statistics()?.reserved, 0);
    Ok(())
}
