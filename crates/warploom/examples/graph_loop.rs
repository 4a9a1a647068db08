//! A graph that is built once and launched in a loop, each time with another argument.
//!
//! ```sh
//! cargo run -p warploom --example graph_loop
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]
#![expect(unsafe_code, reason = "adds a kernel to a graph")]

use std::error::Error;

use warploom::{DevicePool, Driver, GraphDef, LaunchConfig};
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
    let scale = context.load(include_str!("scale.ptx"))?.kernel("scale")?;
    let (mut x, mut y) = (pool.zeroed::<f32>(1024, &stream)?, pool.zeroed::<f32>(1024, &stream)?);
    let shape = LaunchConfig::cover(1024, 128);

    let graph = GraphDef::new(&context)?;
    let fill = graph.entry().fill(&mut x, 1.5)?;
    // SAFETY: the kernel reads and writes 1024 values, and there are as many.
    let step = unsafe { fill.then().kernel(&scale, &shape, (1.0_f32, &mut x, 1024_u32)) }?;
    step.then().copy(&x, &mut y)?;
    let exec = graph.instantiate()?; // keeps the buffers and the kernel

    for round in 1..=4_u8 {
        // SAFETY: as above.
        unsafe { exec.node(&step).set_arguments((f32::from(round), &mut x, 1024_u32)) }?;
        exec.launch(&stream)?; // three operations, one driver call
    }
    assert_eq!(y.download(&stream)?, [6.0; 1024]);
    println!("4 launches of {} nodes; the last result is 6", graph.nodes()?.len());
    Ok(())
}
