//! Host-side cost of each operation: through the driver's bare table, and with warploom.
//!
//! `cargo bench -p warploom --bench host_overhead` runs on the system's driver, or on a simulated machine
//! where there is none; with `-- NAME` it runs only the operations with that in their names.
//! `clients/bench-cudarc` times cudarc in the same run.
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod graphs;
mod launches;
mod measure;
mod operations;

use warploom::Driver;
use warploom_sim::{Machine, Mode, Order};

use crate::measure::{Outcome, compare};
use crate::operations::Bench;

fn main() -> Outcome {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        // Work runs where it is waited for, so that the host's side is timed and nothing else.
        Err(_) => Driver::open(&Machine::builder().mode(Mode::Deterministic(Order::Lazy)).start()?)?,
    };
    println!("{}, driver {}", driver.description(), driver.version());
    let bench = Bench::new(&driver)?;
    compare(&["table", "warploom"], bench.rows()?, || bench.settle())
}
