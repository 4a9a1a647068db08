//! Host time of an operation: through the driver's function table, with warploom, and with cudarc.
//!
//! All three find the driver by name, so that it is the same: the system's, or a simulated one by way of
//! `LD_LIBRARY_PATH`. Operations and timing are those of warploom's own benchmark; the third contender is
//! here.

#[path = "../../../crates/warploom/benches/host_overhead/graphs.rs"]
mod graphs;
#[path = "../../../crates/warploom/benches/host_overhead/launches.rs"]
mod launches;
#[path = "../../../crates/warploom/benches/host_overhead/measure.rs"]
mod measure;
#[path = "../../../crates/warploom/benches/host_overhead/operations.rs"]
mod operations;
mod theirs;

use crate::measure::{Outcome, compare};
use crate::operations::Bench;
use crate::theirs::Theirs;

fn main() -> Outcome {
    let driver = warploom::Driver::load()?;
    println!("{}, driver {}", driver.description(), driver.version());
    let (bench, theirs) = (Bench::new(&driver)?, Theirs::new()?);
    let mut rows = bench.rows()?;
    for row in &mut rows {
        row.works.push(theirs.work(row.name));
    }
    compare(&["table", "warploom", "cudarc"], rows, || bench.settle())
}
