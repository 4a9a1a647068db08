//! Cost and speed of copies by a mesh.
//!
//! `cargo bench -p warploom --bench p2p`. On simulated machines: how much of the modelled links copies reach,
//! in virtual time, and how many driver calls they are. On the system's driver, or a simulated machine where
//! there is none: what a copy on one device costs the host, and how fast it is, next to the driver's own
//! function.
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod links;
#[path = "../host_overhead/measure.rs"]
mod measure;
mod same_device;

use crate::measure::Outcome;

fn main() -> Outcome {
    links::report("dgx-h100")?;
    same_device::report()
}
