//! Managed memory: one address for host and device, borrowed by the host when the device is done.
//!
//! ```sh
//! cargo run -p warploom --example managed
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "launches a kernel")]

use std::error::Error;

use warploom::{Driver, Host, LaunchConfig, ManagedMemory};
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
    let device = driver.device(0)?;
    let context = device.context()?;
    let stream = context.stream()?;
    let scale = context.load(include_str!("scale.ptx"))?.kernel("scale")?;

    let mut table = ManagedMemory::new(&context)?.allocate::<f32>(1 << 16)?;
    table.host_mut()?.fill(1.5); // written by the host
    table.prefetch(&device, &stream)?; // moved before it is needed
    let (shape, count) = (LaunchConfig::cover(table.len(), 256), table.len() as u32);
    // SAFETY: the kernel reads and writes `count` values, and there are as many.
    unsafe { scale.launch(&stream, &shape, (2.0_f32, &mut table, count)) }?;
    table.prefetch(Host::Any, &stream)?;

    let values = table.host()?; // waits for the stream; writes are refused while it is borrowed
    assert!(values.iter().all(|value| *value == 3.0));
    println!("{} values were scaled by the device, and read without a copy", values.len());
    Ok(())
}
