//! Probe of a machine that must still be usable.
#![expect(unsafe_code, reason = "calls driver functions with pointers to variables of its own")]

use std::ptr::null_mut;

use warploom_driver::{Driver, Error};
use warploom_sys::types::CUresult;

use super::report::Failing;

/// Calls a driver function.
macro_rules! call {
    ($driver:ident . $function:ident ( $($argument:expr),* $(,)? )) => {
        // SAFETY: pointers are to variables of the calling function, which it has for the whole call, and
        // memory is used only while it is allocated.
        unsafe { $driver.$function($($argument),*) }
    };
}

type Answer = Result<(), Error>;

/// Uses each device a little. A device may answer a code instead if it always answers that one: then it is
/// poisoned, and cleanly. Where all calls had failed from some point on, a capture may be left that could not
/// be ended, and forbids the use.
pub(super) fn probe(driver: &Driver, devices: usize, failing: Failing) -> Result<(), String> {
    for device in 0..i32::try_from(devices).unwrap_or(i32::MAX) {
        if let Err(error) = use_device(driver, device) {
            let code = error.code().ok_or_else(|| error.to_string())?;
            if failing == Failing::FromHere && code == CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED {
                continue;
            }
            if let Some(other) = answers_otherwise(driver, device, code) {
                return Err(format!(
                    "device {device} is neither usable nor cleanly poisoned: {error}, but then {other}"
                ));
            }
        }
    }
    Ok(())
}

/// Allocates, fills, copies, waits and frees in the primary context, and leaves everything as it was.
fn use_device(driver: &Driver, device: i32) -> Answer {
    let mut context = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, device))?;
    let pushed = call!(driver.cuCtxPushCurrent_v2(context));
    let used = pushed.and_then(|()| {
        let used = use_context(driver);
        let popped = call!(driver.cuCtxPopCurrent_v2(null_mut()));
        used.and(popped)
    });
    let released = call!(driver.cuDevicePrimaryCtxRelease_v2(device));
    used.and(released)
}

fn use_context(driver: &Driver) -> Answer {
    let (mut memory, mut bytes) = (0, [0_u8; 16]);
    call!(driver.cuMemAlloc_v2(&mut memory, bytes.len()))?;
    let used = call!(driver.cuMemsetD8_v2(memory, 7, bytes.len()))
        .and_then(|()| call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, bytes.len())))
        .and_then(|()| call!(driver.cuCtxSynchronize()));
    let freed = call!(driver.cuMemFree_v2(memory));
    used.and(freed)?;
    assert_eq!(bytes, [7; 16], "a simulator that copies wrongly is a bug in warploom");
    Ok(())
}

/// The first answer of a device that is not this code.
fn answers_otherwise(driver: &Driver, device: i32, code: CUresult) -> Option<String> {
    let mut context = null_mut();
    let mut answers = Vec::new();
    let retained = call!(driver.cuDevicePrimaryCtxRetain(&mut context, device));
    if retained.is_ok() {
        // A poisoned context can still be retained and made current; it is what is done in it that fails.
        let current = call!(driver.cuCtxPushCurrent_v2(context));
        answers.push(call!(driver.cuMemAlloc_v2(&mut 0, 16)));
        answers.push(call!(driver.cuCtxSynchronize()));
        answers.push(call!(driver.cuEventCreate(&mut null_mut(), 0)));
        if current.is_ok() {
            answers.extend(call!(driver.cuCtxPopCurrent_v2(null_mut())).err().map(Err));
        }
        answers.extend(call!(driver.cuDevicePrimaryCtxRelease_v2(device)).err().map(Err));
    } else {
        answers.push(retained);
        answers.push(call!(driver.cuCtxCreate_v2(&mut context, 0, device)));
    }
    answers.into_iter().find_map(|answer| match answer {
        Ok(()) => Some("a later call succeeds".to_owned()),
        Err(error) => (error.code() != Some(code)).then(|| error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use warploom_sim::fault::{Plan, Rule};
    use warploom_sim::topology::Topology;
    use warploom_sim::{Machine, Mode};
    use warploom_sys::Function;

    use super::*;

    type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

    fn machine() -> TestResult<(Machine, Driver)> {
        let machine = Machine::builder().topology(Topology::preset("pcie-pair")?).mode(Mode::Sync).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        Ok((machine, driver))
    }

    #[test]
    fn a_machine_that_works_is_left_as_it_was() -> TestResult {
        let (machine, driver) = machine()?;
        let before = machine.census();
        probe(&driver, 2, Failing::Once)?;
        assert!(machine.census().since(&before).is_empty());
        Ok(())
    }

    #[test]
    fn a_poisoned_device_passes_and_one_that_fails_now_and_then_does_not() -> TestResult {
        let (machine, driver) = machine()?;
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 1))?;
        call!(driver.cuCtxSetCurrent(context))?;
        let code = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
        let poison = machine.inject(Plan::new().rule(Rule::on(Function::cuCtxSynchronize).poison(code)))?;
        assert!(call!(driver.cuCtxSynchronize()).is_err());
        drop(poison);
        probe(&driver, 2, Failing::Once)?;
        let once = Plan::new().rule(Rule::on(Function::cuMemAlloc_v2).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        let _scope = machine.inject(once)?;
        let error = probe(&driver, 2, Failing::Once).expect_err("the second allocation succeeds");
        assert!(error.contains("neither usable nor cleanly poisoned"), "{error}");
        Ok(())
    }
}
