//! Contexts: retained while held, current only while a call needs it.

use std::ptr::null_mut;

use warploom::sys::types::CUcontext;
use warploom::{Devices, Driver};
use warploom_sim::{Mode, topology::Topology};
use warploom_testkit::{TestResult, call, driver_tests, open};

fn current(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuCtxGetCurrent(&mut context))?;
    Ok(context)
}

fn is_active(driver: &Driver) -> TestResult<bool> {
    let (mut flags, mut active) = (0, 0);
    call!(driver.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
    Ok(active != 0)
}

driver_tests! {
    fn no_call_leaves_a_context_current(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        stream.record()?.synchronize()?;
        context.synchronize()?;
        drop(stream);
        assert!(current(driver)?.is_null());
    }

    fn a_context_that_was_current_is_current_again(driver) {
        let context = driver.device(0)?.context()?;
        call!(driver.cuCtxSetCurrent(context.as_raw()))?;
        context.stream()?.record()?.synchronize()?;
        assert_eq!(current(driver)?, context.as_raw());
        call!(driver.cuCtxSetCurrent(null_mut()))?;
    }

    fn the_primary_context_is_the_same_for_everyone(driver) {
        let device = driver.device(0)?;
        assert_eq!(device.context()?, device.context()?);
    }

    fn a_context_is_active_while_anything_made_from_it_is_held(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let event = stream.record()?;
        drop(context);
        drop(stream);
        assert!(is_active(driver)?);
        event.synchronize()?;
        drop(event);
        assert!(!is_active(driver)?);
    }

    fn priorities_run_from_the_least_down_to_the_greatest(driver) {
        let range = driver.device(0)?.context()?.priority_range()?;
        assert!(range.greatest < range.least, "{range}");
        assert!(range.contains(range.least) && range.contains(range.greatest));
        assert!(!range.contains(range.least + 1) && !range.contains(range.greatest - 1));
        assert!(current(driver)?.is_null());
    }
}

#[test]
fn another_context_that_was_current_is_current_again() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (first, second) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    assert_ne!(first, second);
    call!(driver.cuCtxSetCurrent(first.as_raw()))?;
    second.stream()?.record()?.synchronize()?;
    assert_eq!(current(&driver)?, first.as_raw());
    Ok(())
}
