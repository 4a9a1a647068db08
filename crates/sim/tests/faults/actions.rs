//! Actions of a fault rule on the calls that it matches.

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_sim::fault::{Calls, Class, Plan, Rule};
use warploom_sim::{LogKind, Mode, Order};
use warploom_sys::Function;
use warploom_sys::types::CUresult;
use warploom_testkit::events::observe;
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call};

use crate::{context, injected, machine, stream};

#[test]
fn a_call_that_fails_before_its_effect_has_none() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Class::Alloc).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY)))?;
    let (mut before, mut after, mut total, mut memory) = (0, 0, 0, 7);
    call!(driver.cuMemGetInfo_v2(&mut before, &mut total))?;
    answers!(driver.cuMemAlloc_v2(&mut memory, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemGetInfo_v2(&mut after, &mut total))?;
    assert_eq!((before, memory), (after, 7), "nothing taken, nothing written");
    drop(scope);
    let log = injected(&machine);
    assert_eq!(log.len(), 1);
    assert_eq!((log[0].function, log[0].code), (Function::cuMemAlloc_v2, CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    assert!(log[0].reason.contains("class alloc"), "{}", log[0]);
    Ok(())
}

#[test]
fn a_call_that_fails_after_its_effect_has_had_it() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let _scope = machine.inject(Plan::new().rule(Rule::on(Class::Alloc).fail_after(CUresult::CUDA_ERROR_UNKNOWN)))?;
    let mut memory = 0;
    answers!(driver.cuMemAlloc_v2(&mut memory, 64), CUDA_ERROR_UNKNOWN);
    assert_ne!(memory, 0);
    call!(driver.cuMemFree_v2(memory))?;
    Ok(())
}

#[test]
fn a_subscriber_that_panics_changes_no_answer() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let rule = Rule::on(Class::Alloc).nth(1).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let _scope = machine.inject(Plan::new().rule(rule))?;
    let mut memory = 0;
    observe(
        |_| panic!("a subscriber panics"),
        || -> TestResult {
            answers!(driver.cuMemAlloc_v2(&mut memory, 64), CUDA_ERROR_OUT_OF_MEMORY);
            call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
            answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
            Ok(call!(driver.cuMemFree_v2(memory))?)
        },
    )
}

#[test]
fn a_failure_of_its_own_is_not_replaced() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _scope = machine.inject(Plan::new().rule(Rule::on(Calls::all()).fail_after(CUresult::CUDA_ERROR_UNKNOWN)))?;
    answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuInit(0), CUDA_ERROR_UNKNOWN);
    Ok(())
}

#[test]
fn a_poisoned_context_answers_the_code_and_others_do_not() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = machine("pcie-pair", *mode)?;
        let other = context(&driver, 1)?;
        let _poisoned = context(&driver, 0)?;
        let on_poisoned = stream(&driver)?;
        let scope = machine.inject(
            Plan::new().rule(Rule::on(Function::cuCtxSynchronize).nth(2).poison(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)),
        )?;
        call!(driver.cuCtxSynchronize())?;
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(scope.fired_count(), 1);
        drop(scope);
        // It outlives the plan.
        answers!(driver.cuStreamSynchronize(on_poisoned), CUDA_ERROR_ILLEGAL_ADDRESS);
        answers!(driver.cuMemAlloc_v2(&mut 0, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
        call!(driver.cuCtxSetCurrent(other))?;
        call!(driver.cuCtxSynchronize())?;
    }
    Ok(())
}

#[test]
fn there_may_be_no_context_to_poison() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _scope =
        machine.inject(Plan::new().rule(Rule::on(Calls::all()).poison(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)))?;
    call!(driver.cuInit(0))?;
    assert!(injected(&machine)[0].reason.contains("no context"));
    Ok(())
}

#[test]
fn a_delay_passes_in_virtual_time_and_takes_none_where_there_is_no_real_time() -> TestResult {
    let hour = Duration::from_secs(3600);
    let (machine, driver) = machine("h200", Mode::Deterministic(Order::Eager))?;
    let _primary = Primary::of(&driver, 0)?;
    let (stream, mut start, mut end, mut milliseconds) = (stream(&driver)?, null_mut(), null_mut(), 0.0);
    call!(driver.cuEventCreate(&mut start, 0))?;
    call!(driver.cuEventCreate(&mut end, 0))?;
    let began = Instant::now();
    let scope = machine.inject(Plan::new().rule(Rule::on(Function::cuEventRecord).nth(2).delay(hour)))?;
    call!(driver.cuEventRecord(start, stream))?;
    call!(driver.cuEventRecord(end, stream))?;
    call!(driver.cuEventSynchronize(end))?;
    call!(driver.cuEventElapsedTime(&mut milliseconds, start, end))?;
    assert!((3_600_000.0..3_600_001.0).contains(&milliseconds), "{milliseconds}");
    assert!(began.elapsed() < hour);
    assert_eq!(scope.fired_count(), 1);
    Ok(())
}

#[test]
fn a_delay_holds_the_thread_up_where_time_is_real() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Threads)?;
    let time = Duration::from_millis(20);
    let _scope = machine.inject(Plan::new().rule(Rule::on(Function::cuInit).delay(time)))?;
    let began = Instant::now();
    call!(driver.cuInit(0))?;
    assert!(began.elapsed() >= time);
    assert_eq!(injected(&machine)[0].kind, LogKind::Injected);
    Ok(())
}
