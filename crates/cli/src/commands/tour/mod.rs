//! `warploom tour`: the library in use, with every result checked.
//!
//! A step that fails is reported, and the tour goes on: the next one may well work.

mod barrier;
mod cache;
mod capture;
mod copies;
mod fault;
mod graphs;
mod journey;
mod kernels;
mod lifetimes;
mod managed;
mod memory;
mod ordering;
mod orders;
mod pool;
#[cfg(unix)]
mod processes;
mod races;
mod resources;
mod what_if;

use warploom::{DevicePool, Driver, Result, Stream};

use super::devices;
use crate::choice::Opened;
use crate::report::{Check, Findings, Step, Tour};

/// The findings of a step and its checks.
type StepResult = Result<(Findings, Vec<Check>), Box<dyn std::error::Error>>;

pub(crate) fn report(opened: &Opened) -> Tour {
    let driver = &opened.driver;
    let calls = driver.count_calls();
    let devices = step("Devices", list(opened));
    let several = matches!(&devices.findings, Some(Findings::Devices(report)) if report.devices.len() > 1);
    let mut steps = vec![
        devices,
        step("Memory", memory::visit(driver)),
        step("Streams and events", ordering::visit(driver, opened.machine.is_some())),
        step("Copies", copies::visit(driver)),
        step("Memory pools", pool::visit(driver)),
        step("A budget, and who keeps the books", resources::visit(driver)),
        step("A cache of memory", cache::visit(driver)),
        step("Dropped too early, kept too long", lifetimes::visit(driver)),
    ];
    if managed::is_shared(driver).unwrap_or(false) {
        steps.push(step("Managed memory", managed::visit(driver)));
    }
    if several {
        steps.push(step("Several devices", journey::visit(driver)));
    }
    #[cfg(unix)]
    if processes::are_possible(driver) {
        steps.push(step("Several processes", processes::visit(driver)));
    }
    steps.push(step("A kernel on every device", kernels::visit(driver)));
    steps.push(step("Captured, and kept", capture::visit(driver)));
    if graphs::has_conditions(driver) {
        steps.push(step("Graphs", graphs::visit(driver)));
    }
    steps.push(step("Errors are values", fault::visit(driver)));
    if let Some(machine) = &opened.machine {
        steps.push(step("The same program in any order", orders::visit(machine.topology())));
        steps.push(step("A forgotten wait", races::visit(machine.topology())));
        steps.push(step("A forgotten barrier", barrier::visit(machine.topology())));
        steps.push(step("What if a call fails?", what_if::visit(machine.topology())));
    }
    let passed = steps.iter().all(Step::passed);
    Tour { driver: opened.report.clone(), steps, driver_calls: calls.total(), passed }
}

/// The part of a worker of the tour, if this process is one: its success.
#[cfg(unix)]
pub(crate) fn work(opened: &Opened) -> Option<Result<(), Box<dyn std::error::Error>>> {
    processes::work(&opened.driver)
}

/// There are no workers.
#[cfg(not(unix))]
pub(crate) fn work(_opened: &Opened) -> Option<Result<(), Box<dyn std::error::Error>>> {
    None
}

fn step(name: &'static str, result: StepResult) -> Step {
    match result {
        Ok((findings, checks)) => Step { name, findings: Some(findings), checks, error: None },
        Err(error) => Step { name, findings: None, checks: Vec::new(), error: Some(error.to_string()) },
    }
}

fn list(opened: &Opened) -> StepResult {
    Ok((Findings::Devices(devices::report(opened)?), Vec::new()))
}

/// The first device in use, with a stream and a pool.
fn first_device(driver: &Driver) -> Result<(Stream, DevicePool)> {
    let context = driver.device(0)?.context()?;
    Ok((context.stream()?, DevicePool::new(&context)?))
}

/// Bytes without a pattern that a mistake could hide in.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}
