//! Work that fails after the call that enqueued it has succeeded.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_driver::Driver;
use warploom_sim::fault::{Plan, Rule};
use warploom_sim::{Machine, Mode, Order};
use warploom_sys::types::{CUresult, CUstream};
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call};

use crate::{injected, machine, named, stream};

const CODE: CUresult = CUresult::CUDA_ERROR_ECC_UNCORRECTABLE;

fn failing(machine: &Machine, name: &str) -> TestResult<warploom_sim::fault::FaultScope> {
    Ok(machine.inject(Plan::new().rule(Rule::on(named(name)?).nth(1).fail_work(CODE)))?)
}

#[test]
fn a_later_wait_reports_work_that_failed() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = machine("h200", *mode)?;
        let _primary = Primary::of(&driver, 0)?;
        let (stream, mut memory) = (stream(&driver)?, 0);
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
        call!(driver.cuMemsetD8_v2(memory, 1, 64))?;
        let _scope = failing(&machine, "cuMemsetD8Async")?;
        call!(driver.cuMemsetD8Async(memory, 2, 64, stream))?;
        answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_ECC_UNCORRECTABLE);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ECC_UNCORRECTABLE);
        assert_eq!(injected(&machine).len(), 1, "{mode:?}");
    }
    Ok(())
}

/// Ops that only do bookkeeping, and those that a call can often do without.
#[test]
fn bookkeeping_fails_as_well() -> TestResult {
    type Enqueue = fn(&Driver, CUstream) -> TestResult;
    let cases: [(&str, Enqueue); 4] = [
        ("cuEventRecord", |driver, stream| {
            let mut event = null_mut();
            call!(driver.cuEventCreate(&mut event, 0))?;
            Ok(call!(driver.cuEventRecord(event, stream))?)
        }),
        ("cuStreamWaitEvent", |driver, stream| {
            let mut event = null_mut();
            call!(driver.cuEventCreate(&mut event, 0))?;
            call!(driver.cuEventRecord(event, stream))?;
            Ok(call!(driver.cuStreamWaitEvent(stream, event, 0))?)
        }),
        ("cuMemAllocAsync", |driver, stream| Ok(call!(driver.cuMemAllocAsync(&mut 0, 64, stream))?)),
        ("cuMemFreeAsync", |driver, stream| {
            let mut memory = 0;
            call!(driver.cuMemAllocAsync(&mut memory, 64, stream))?;
            Ok(call!(driver.cuMemFreeAsync(memory, stream))?)
        }),
    ];
    for (name, enqueue) in cases {
        for mode in ASYNCHRONOUS {
            let (machine, driver) = machine("h200", *mode)?;
            let _primary = Primary::of(&driver, 0)?;
            let stream = stream(&driver)?;
            let scope = failing(&machine, name)?;
            enqueue(&driver, stream)?;
            answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_ECC_UNCORRECTABLE);
            assert_eq!(scope.fired_count(), 1, "{name} {mode:?}");
        }
    }
    Ok(())
}

#[test]
fn a_synchronous_copy_reports_its_own_failure_and_copies_nothing() -> TestResult {
    for mode in ASYNCHRONOUS.iter().copied().chain([Mode::Sync]) {
        let (machine, driver) = machine("h200", mode)?;
        let _primary = Primary::of(&driver, 0)?;
        let (mut memory, mut bytes) = (0, [7_u8; 4]);
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
        let _scope = failing(&machine, "cuMemcpyDtoH")?;
        answers!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 4), CUDA_ERROR_ECC_UNCORRECTABLE);
        assert_eq!(bytes, [7; 4], "{mode:?}");
    }
    Ok(())
}

static CALLS: AtomicU32 = AtomicU32::new(0);
#[expect(unsafe_code, reason = "what a driver calls back")]
unsafe extern "C" fn count(_data: *mut c_void) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_host_function_that_fails_is_not_called() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = machine("h200", *mode)?;
        let _primary = Primary::of(&driver, 0)?;
        let stream = stream(&driver)?;
        let _scope = failing(&machine, "cuLaunchHostFunc")?;
        call!(driver.cuLaunchHostFunc(stream, Some(count), null_mut()))?;
        answers!(driver.cuStreamSynchronize(stream), CUDA_ERROR_ECC_UNCORRECTABLE);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0, "{mode:?}");
    }
    Ok(())
}

#[test]
fn work_of_other_threads_and_of_later_calls_does_not_fail() -> TestResult {
    let (machine, driver) = machine("pcie-pair", Mode::Deterministic(Order::Lazy))?;
    let first = Primary::of(&driver, 0)?;
    let (on_first, mut memory) = (stream(&driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
    let second = Primary::of(&driver, 1)?;
    let (on_second, mut other) = (stream(&driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut other, 64))?;
    let _scope = failing(&machine, "cuMemsetD8Async")?;
    first.make_current()?;
    call!(driver.cuMemsetD8Async(memory, 2, 64, on_first))?;
    second.make_current()?;
    call!(driver.cuMemsetD8Async(other, 2, 64, on_second))?;
    call!(driver.cuStreamSynchronize(on_second))?;
    answers!(driver.cuStreamSynchronize(on_first), CUDA_ERROR_ECC_UNCORRECTABLE);
    // A device that has faulted refuses to go quietly; the machine ends it.
    std::mem::forget((first, second));
    Ok(())
}

#[test]
fn a_call_that_enqueues_nothing_is_said_to() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _scope = failing(&machine, "cuInit")?;
    call!(driver.cuInit(0))?;
    assert!(injected(&machine).iter().any(|entry| entry.reason.contains("enqueued nothing")));
    Ok(())
}

#[test]
fn a_call_that_fails_itself_leaves_later_work_alone() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let (stream, mut memory) = (stream(&driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
    let first = || Ok::<_, warploom_sim::fault::FaultError>(Rule::on(named("cuMemsetD8Async")?).nth(1));
    let plan = Plan::new().rule(first()?.fail_work(CODE)).rule(first()?.fail(CUresult::CUDA_ERROR_UNKNOWN));
    let _scope = machine.inject(plan)?;
    answers!(driver.cuMemsetD8Async(memory, 2, 64, stream), CUDA_ERROR_UNKNOWN);
    call!(driver.cuMemsetD8Async(memory, 2, 64, stream))?;
    call!(driver.cuStreamSynchronize(stream))?;
    Ok(())
}
