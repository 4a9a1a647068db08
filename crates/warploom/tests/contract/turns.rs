//! Threads that change the same state of the driver take turns (C.6).

use std::time::Duration;

use warploom::{Function, Result};
use warploom_sim::Machine;
use warploom_sim::fault::{Plan, Rule};
use warploom_testkit::TestResult;

/// C.6: two threads remove the one element that a set has, the second while the first is between its read and its
/// write, by `write`. It has to wait for the first, and has nothing to remove then.
pub(super) fn changes_take_turns(
    machine: &Machine,
    write: Function,
    first: impl FnOnce() -> Result<bool> + Send,
    second: impl FnOnce() -> Result<bool>,
) -> TestResult {
    let name = "first";
    // Long enough for the second change, if nothing holds it up.
    let rule = Rule::on(write).on_thread_named(name).delay(Duration::from_millis(100));
    let writes = machine.inject(Plan::new().rule(rule))?;
    let removed = std::thread::scope(|scope| -> TestResult<_> {
        let first = std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, first)?;
        while writes.fired_count() == 0 && !first.is_finished() {
            std::thread::yield_now();
        }
        let second = second()?;
        Ok((first.join().map_err(|_| "the first thread panicked")??, second))
    })?;
    assert_eq!(removed, (true, false));
    Ok(())
}
