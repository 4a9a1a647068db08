//! Faults on demand: which calls a plan meets, and what it does to them.

mod actions;
mod budgets;
mod devices;
mod selection;
mod startup;
mod work;

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sim::fault::{Calls, FaultError};
use warploom_sim::topology::Topology;
use warploom_sim::{LogEntry, LogKind, Machine, Mode};
use warploom_sys::types::{CUcontext, CUstream};
use warploom_testkit::{TestResult, call, open};

fn machine(preset: &str, mode: Mode) -> TestResult<(Machine, Driver)> {
    open(Topology::preset(preset)?, mode)
}

fn named(name: &str) -> Result<Calls, FaultError> {
    Calls::named(name)
}

/// A context of a device, current on this thread.
fn context(driver: &Driver, device: i32) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxCreate_v2(&mut context, 0, device))?;
    Ok(context)
}

/// A stream that does not wait for the default stream, in the current context.
fn stream(driver: &Driver) -> TestResult<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    Ok(stream)
}

/// The faults in a machine's log.
fn injected(machine: &Machine) -> Vec<LogEntry> {
    machine.log().into_iter().filter(|entry| entry.kind == LogKind::Injected).collect()
}
