//! A function that is tested on a simulated machine, with the bug that the test finds.
//!
//! ```sh
//! cargo run -p warploom --example testing
//! ```
//!
//! In a test of your own, `#[warploom_test::test(machine = "hgx-a100-4", seeds = 8)]` does the same.
#![expect(clippy::print_stdout, reason = "an example says what it did")]

use std::error::Error;

use warploom::{DevicePool, Driver, Result};
use warploom_test::{Case, Cause};

#[cfg_attr(test, expect(dead_code, reason = "a test calls `run` itself"))]
fn main() -> std::result::Result<(), Box<dyn Error>> {
    run()
}

/// The function under test: draws a frame on one stream, and reads it on another.
fn draw(driver: &Driver, waits: bool) -> Result<Vec<u8>> {
    let context = driver.device(0)?.context()?;
    let (draw, read) = (context.stream()?, context.stream()?);
    let mut frame = DevicePool::new(&context)?.zeroed::<u8>(640, &draw)?;
    frame.download(&read)?;
    frame.fill(7, &draw)?;
    if waits {
        read.wait_for(&draw)?;
    }
    frame.download(&read)
}

pub(crate) fn run() -> std::result::Result<(), Box<dyn Error>> {
    let case = Case::new().machine("hgx-a100-4").seeds(8).name("draw");
    let wrong = |driver: &Driver| draw(driver, false).map(drop);
    let Err(failure) = case.try_run(wrong) else { return Err("the race was not found".into()) };
    assert!(matches!(failure.cause, Cause::Found) && failure.findings.len() == 1);
    println!("without the wait:\n{failure}\n");

    let right = |driver: &Driver| draw(driver, true).map(|frame| assert_eq!(frame, [7; 640]));
    let Ok(passed) = case.try_run(right) else { return Err("the fixed function fails".into()) };
    println!("with the wait: passed in {} orders of work", passed.orders.len());
    Ok(())
}
