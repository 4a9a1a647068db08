//! A value goes around a ring of devices, without events and without waits of the host.
//!
//! ```sh
//! cargo run -p warploom --example mesh_ring
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::{DevicePool, Driver, Mesh, Topology};
use warploom_sim::Machine;

type Outcome = Result<(), Box<dyn Error>>;

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(_) => Driver::open(&Machine::preset("hgx-a100-4")?)?, // no driver here: a simulated machine
    };
    run(&driver)
}

pub(crate) fn run(driver: &Driver) -> Outcome {
    let devices = driver.devices()?;
    let contexts = devices.iter().map(|device| device.context()).collect::<Result<Vec<_>, _>>()?;
    let streams = contexts.iter().map(|context| context.stream()).collect::<Result<Vec<_>, _>>()?;
    let pools = contexts.iter().map(DevicePool::new).collect::<Result<Vec<_>, _>>()?;
    let (mesh, report) = Mesh::open(&Topology::probe(&devices)?, &contexts, &pools.iter().collect::<Vec<_>>())?;
    assert!(report.failures().next().is_none());

    let count = devices.len();
    let mut parts = Vec::new();
    for (device, pool) in pools.iter().enumerate() {
        parts.push(pool.upload(&[u32::try_from(device)?; 1024], &streams[device])?);
    }
    // After as many steps as there are devices, each value is where it began.
    for _ in 0..count {
        let mut next = Vec::new();
        for device in 0..count {
            let mut received = pools[device].allocate::<u32>(1024, &streams[device])?;
            let from = &parts[(device + count - 1) % count];
            mesh.copy(from, &mut received, &streams[device])?; // ordered behind the work on both buffers
            next.push(received);
        }
        parts = next; // the old ones are freed when their copies are done
    }
    for (device, part) in parts.iter().enumerate() {
        assert_eq!(part.download(&streams[device])?, [u32::try_from(device)?; 1024]);
    }
    println!("{} copies around a ring of {count}", count * count);
    Ok(())
}
