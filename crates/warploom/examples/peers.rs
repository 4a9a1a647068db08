//! Memory of one device that the others read: the set of peers of a pool.
//!
//! ```sh
//! cargo run -p warploom --example peers
//! ```
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::{DevicePool, Driver, LiveSet};
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
    let owner = devices[0].context()?;
    let (stream, pool) = (owner.stream()?, DevicePool::new(&owner)?);
    let weights = pool.upload(&[1.5_f32; 256], &stream)?;
    stream.synchronize()?; // the other devices must not read before the weights are there

    let mut able = Vec::new();
    for device in &devices[1..] {
        if device.can_access(&devices[0])? {
            able.push(device.clone());
        }
    }
    pool.peers().assign(&able)?; // exactly these, with one driver call
    assert_eq!(pool.peers().len()?, able.len());

    for device in &able {
        let context = device.context()?;
        let stream = context.stream()?;
        let mut copy = DevicePool::new(&context)?.allocate::<f32>(256, &stream)?;
        weights.copy_to(&mut copy, &stream)?; // the peer fetches
        assert_eq!(copy.download(&stream)?, [1.5; 256]);
    }
    println!("{} of {} other devices have read the weights of device 0", able.len(), devices.len() - 1);
    Ok(())
}
