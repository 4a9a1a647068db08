//! Fault sweeps over commands: the same command once for each of its driver calls, with that call failing.

use std::ffi::OsString;

use serde::Serialize;
use warploom::Function;
use warploom::sys::types::CUresult;
use warploom_sim::MachineBuilder;
use warploom_sim::fault::{Calls, Plan, Rule};

use crate::choice::{Choice, MachineName, Opened};
use crate::failure::Failure;

/// Runs a command on an H200 with every driver call failing in turn, and returns the number of calls; of the
/// queries of device attributes, every sixteenth. The command returns its results, or `None` if it reported the
/// failure. Results must be those of a run without a failure, and an error must leave nothing behind.
pub(super) fn sweep<T: Serialize>(
    machine: impl Fn() -> MachineBuilder,
    command: impl Fn(&Opened) -> Result<Option<T>, Failure>,
) -> Result<u64, Failure> {
    let open = || Choice::Machine(MachineName::from(OsString::from("h200"))).open_on(machine());
    let expected = serde_json::to_string(&command(&open()?)?)?;
    let mut calls = 0;
    loop {
        let opened = open()?;
        let Some(machine) = &opened.machine else { return Ok(calls) };
        let before = machine.census();
        let rule = Rule::on(Calls::all()).nth(calls + 1).fail(CUresult::CUDA_ERROR_UNKNOWN);
        let scope = machine.inject(Plan::new().rule(rule))?;
        let done = command(&opened);
        let Some(failed) = scope.fired().pop() else { return Ok(calls) };
        let name = failed.function.name();
        // The properties of a device are queries in a row, all alike.
        calls += if failed.function == Function::cuDeviceGetAttribute { 16 } else { 1 };
        match done {
            // A call of a drop, whose failure a hook gets.
            Ok(results @ Some(_)) => assert_eq!(serde_json::to_string(&results)?, expected, "call {calls}, {name}"),
            Ok(None) | Err(_) if gives_back(failed.function) => {}
            Ok(None) | Err(_) => assert_eq!(machine.census(), before, "call {calls}, {name}"),
        }
    }
}

/// `true` if a function frees or destroys an object, or is called on the way to that: its failure may leave the
/// object behind.
fn gives_back(function: Function) -> bool {
    const WORDS: [&str; 6] = ["Free", "Destroy", "Release", "Unload", "CtxSetCurrent", "CtxGetCurrent"];
    WORDS.iter().any(|word| function.name().contains(word))
}
