//! Profiler ranges.
#![expect(unsafe_code, reason = "resets a device, with nothing in it that is used")]

use warploom::{ContextError, Driver, Error, Function, Result};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sweep::Sweep;
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, driver_tests, open};

driver_tests! {
    fn the_profiler_runs_from_the_first_range_of_a_context_to_the_last(driver) {
        let context = driver.device(0)?.context()?;
        let calls = driver.count_calls();
        let made = || (calls.count(Function::cuProfilerStart), calls.count(Function::cuProfilerStop));
        let first = context.profile()?;
        let second = context.profile()?;
        assert_eq!(made(), (1, 0));
        drop(first);
        assert_eq!(made(), (1, 0), "the second still records");
        second.end()?;
        assert_eq!(made(), (1, 1));
        drop(context.profile()?);
        assert_eq!(made(), (2, 2));
        assert_eq!(driver.current_context()?, None);
    }
}

#[test]
fn a_failed_start_begins_no_range_and_a_failed_stop_is_an_error_of_end() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let failing = |name| -> TestResult<_> {
        let rule = Rule::on(Calls::named(name)?).fail(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        Ok(machine.inject(Plan::new().rule(rule))?)
    };
    {
        let _failing = failing("cuProfilerStart")?;
        assert!(context.profile().is_err());
    }
    let range = context.profile()?;
    {
        let _failing = failing("cuProfilerStop")?;
        assert!(range.end().is_err());
    }
    let calls = driver.count_calls();
    drop(context.profile()?);
    assert_eq!((calls.count(Function::cuProfilerStart), calls.count(Function::cuProfilerStop)), (1, 1));
    Ok(())
}

#[test]
fn a_range_of_a_context_that_was_reset_ends_without_the_driver() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let range = context.profile()?;
    // SAFETY: nothing but the context was made on the device.
    unsafe { driver.device(0)?.reset_context() }?;
    let calls = driver.count_calls();
    range.end()?;
    assert_eq!(calls.count(Function::cuProfilerStop), 0);
    let refused = context.profile().map(drop);
    assert!(matches!(refused, Err(Error::Context(ContextError::Stale { .. }))), "{refused:?}");
    Ok(())
}

#[test]
fn ranges_leave_nothing_behind_whichever_call_fails() -> TestResult {
    let sweep = Sweep::new(Topology::preset("h200")?).after_effect(true);
    sweep
        .tolerates(Calls::named("cuCtxSetCurrent")?)
        .run(|_: &Machine, driver: &Driver| -> Result<()> { driver.device(0)?.context()?.profile()?.end() });
    Ok(())
}
