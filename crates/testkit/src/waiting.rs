//! Calls that have to wait, made on a thread of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use warploom_sim::Machine;
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sys::Function;

use crate::TestResult;

/// The longest time until the thread has come to the wait.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time in which a wait for the wrong work would end by itself. A right one lasts until it is opened, however
/// slow the machine is.
const GRACE: Duration = Duration::from_millis(20);

/// Makes a call on another thread, and returns its result. The call has to enter `function`, which is how it waits
/// in the driver, and to return after `open` alone. `check` runs meanwhile.
///
/// # Errors
///
/// The error of `check`, and an error if the call returned without entering `function`, or before `open`.
pub fn while_waiting<R: Send>(
    machine: &Machine,
    function: Function,
    call: impl FnOnce() -> R + Send,
    check: impl FnOnce() -> TestResult,
    open: impl FnOnce(),
) -> TestResult<R> {
    let name = "while_waiting";
    let entered = machine.inject(Plan::new().rule(Rule::on(Calls::from(function)).on_thread_named(name)))?;
    let (is_open, deadline) = (AtomicBool::new(false), Instant::now() + PATIENCE);
    thread::scope(|scope| {
        let waiting = thread::Builder::new()
            .name(name.to_owned())
            .spawn_scoped(scope, || (call(), is_open.load(Ordering::SeqCst)))?;
        while entered.fired_count() == 0 && !waiting.is_finished() && Instant::now() < deadline {
            thread::yield_now();
        }
        let has_entered = entered.fired_count() > 0;
        thread::sleep(GRACE);
        let checked = if has_entered && !waiting.is_finished() { check() } else { Ok(()) };
        is_open.store(true, Ordering::SeqCst);
        open();
        let (result, was_open) = waiting.join().map_err(|_| "the call panicked")?;
        match (has_entered, was_open) {
            (false, _) => Err(format!("the call did not wait in {}", function.name()).into()),
            (true, false) => {
                Err(format!("the call returned before the work that {} is to wait for", function.name()).into())
            }
            (true, true) => checked.map(|()| result),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gate, Primary, Stream, call, open};
    use warploom_sim::{Mode, topology::Topology};

    fn gated(waits_for: usize) -> TestResult<TestResult<()>> {
        let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
        let _primary = Primary::of(&driver, 0)?;
        let (streams, gate) = ([Stream::new(&driver)?, Stream::new(&driver)?], Gate::new(&driver)?);
        gate.hold(streams[0].raw)?;
        let stream = streams.get(waits_for).map(|stream| stream.raw.addr());
        let wait = || {
            let Some(stream) = stream else { return Ok(()) };
            call!(driver.cuStreamSynchronize(std::ptr::without_provenance_mut(stream)))
        };
        let waited = while_waiting(&machine, Function::cuStreamSynchronize, wait, || Ok(()), || gate.open());
        Ok(waited.and_then(|result| Ok(result?)))
    }

    #[test]
    fn a_call_that_does_not_wait_or_waits_for_other_work_is_an_error() -> TestResult {
        gated(0)??;
        assert_eq!(
            gated(1)?.unwrap_err().to_string(),
            "the call returned before the work that cuStreamSynchronize is to wait for"
        );
        assert_eq!(gated(2)?.unwrap_err().to_string(), "the call did not wait in cuStreamSynchronize");
        Ok(())
    }
}
