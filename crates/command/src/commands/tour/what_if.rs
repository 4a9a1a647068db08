//! Fault sweep: the same program once for each of its driver calls, with that call failing.

use warploom::sys::types::CUresult;
use warploom::{DevicePool, Driver, Function, Result};
use warploom_sim::Machine;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;

use super::StepResult;
use crate::report::{Check, Findings};

pub(super) fn visit(topology: &Topology) -> StepResult {
    let (mut calls, mut errors, mut unheard, mut left_over, mut first) = (0, 0, 0, 0, None);
    loop {
        let machine = Machine::builder().topology(topology.clone()).start()?;
        let driver = Driver::open(&machine)?;
        let before = machine.census();
        let rule = Rule::on(Calls::all()).nth(calls + 1).fail(CUresult::CUDA_ERROR_UNKNOWN);
        let scope = machine.inject(Plan::new().rule(rule))?;
        let result = run(&driver);
        let Some(failed) = scope.fired().pop() else { break };
        calls += 1;
        match result {
            Err(error) => {
                errors += 1;
                left_over += u64::from(machine.census() != before);
                first.get_or_insert_with(|| error.to_string());
            }
            // A destroy or free that fails leaves its resource behind, and only the log can report it.
            Ok(_) => unheard += u64::from(!gives_back(failed.function)),
        }
    }
    let checks = vec![
        Check::new("every failure came back as an error, but for those while things were given back", unheard == 0),
        Check::new("and none of the errors left anything behind", left_over == 0),
    ];
    Ok((Findings::WhatIf { calls, errors, first: first.unwrap_or_default() }, checks))
}

/// `true` if a function ends something, puts back what was current, or asks what a pool that ends has
/// granted.
fn gives_back(function: Function) -> bool {
    ["Free", "Destroy", "Release", "SetCurrent", "PoolGetAccess"].iter().any(|word| function.name().contains(word))
}

/// Everything a program needs to send bytes to a device and back.
fn run(driver: &Driver) -> Result<Vec<u8>> {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let sent = pool.upload(b"there", &stream)?;
    let mut copy = pool.zeroed(sent.len(), &stream)?;
    sent.copy_to(&mut copy, &stream)?;
    copy.download(&stream)
}
