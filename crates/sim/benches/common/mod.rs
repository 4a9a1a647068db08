//! Helpers that several benchmarks share.

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Machine, MachineBuilder};
use warploom_testkit::{Primary, TestResult};

/// A started machine, its driver, and the primary context of device 0, current on this thread.
pub(crate) fn start(builder: MachineBuilder) -> TestResult<(Machine, Driver, Primary)> {
    let machine = builder.start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let primary = Primary::of(&driver, 0)?;
    Ok((machine, driver, primary))
}

/// Resident memory of the process, in bytes.
pub(crate) fn resident() -> TestResult<f64> {
    let status = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = status.split_whitespace().nth(1).unwrap_or("0").parse()?;
    Ok(pages * 4096.0)
}
