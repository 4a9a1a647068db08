//! Calls that a fault rule matches.

use std::ptr::null_mut;

use warploom_sim::Mode;
use warploom_sim::fault::{Calls, Class, FaultError, Plan, Rule};
use warploom_sys::Function;
use warploom_sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, answers, call};

use crate::{context, machine, named, stream};

const OUT: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

#[test]
fn a_function_a_glob_and_a_class_meet_their_calls_and_no_others() -> TestResult {
    for calls in [Calls::from(Function::cuMemAlloc_v2), named("cuMemAlloc")?, named("cuMemAl*")?, Class::Alloc.into()] {
        let (machine, driver) = machine("h200", Mode::Sync)?;
        let _primary = Primary::of(&driver, 0)?;
        let scope = machine.inject(Plan::new().rule(Rule::on(calls.clone()).fail(OUT)))?;
        let (mut free, mut total, mut memory) = (0, 0, 0);
        call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
        answers!(driver.cuMemAlloc_v2(&mut memory, 64), CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(scope.fired().len(), 1, "{calls}");
        assert_eq!(scope.calls(), 2, "{calls}");
        drop(scope);
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
    }
    Ok(())
}

#[test]
fn every_call_means_every_call_also_one_that_would_be_refused() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Calls::all()).fail(CUresult::CUDA_ERROR_UNKNOWN)))?;
    answers!(driver.cuInit(0), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuGraphCreate(null_mut(), 0), CUDA_ERROR_UNKNOWN);
    let functions: Vec<Function> = scope.fired().iter().map(|fired| fired.function).collect();
    assert_eq!(functions, [Function::cuInit, Function::cuCtxSynchronize, Function::cuGraphCreate]);
    Ok(())
}

#[test]
fn only_the_third_match_fails() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Class::Alloc).nth(3).fail(OUT)))?;
    let mut memory = 0;
    call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
    call!(driver.cuMemFree_v2(memory))?;
    call!(driver.cuMemAllocManaged(&mut memory, 64, 1))?;
    answers!(driver.cuMemAlloc_v2(&mut memory, 64), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
    let fired = scope.fired();
    assert_eq!(fired.len(), 1);
    assert_eq!((fired[0].call, fired[0].function, fired[0].rule), (4, Function::cuMemAlloc_v2, Some(0)));
    Ok(())
}

#[test]
fn from_a_match_on_all_later_ones_fail() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Class::Init).from(2).times(2).fail(OUT)))?;
    call!(driver.cuInit(0))?;
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuInit(0))?;
    assert_eq!(scope.fired_count(), 2);
    Ok(())
}

#[test]
fn a_scope_for_this_thread_leaves_other_threads_alone() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let scope = machine.inject_on_this_thread(Plan::new().rule(Rule::on(Class::Init).fail(OUT)))?;
    let elsewhere = std::thread::scope(|threads| threads.spawn(|| driver.initialize()).join());
    assert!(elsewhere.is_ok_and(|result| result.is_ok()));
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_eq!(scope.calls(), 1, "the other thread's calls are not counted");
    Ok(())
}

#[test]
fn a_rule_for_a_thread_meets_that_thread_alone() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let plan = Plan::new()
        .rule(Rule::on(Class::Init).on_this_thread().fail(OUT))
        .rule(Rule::on(Class::Init).on_thread_named("a worker with a long name").fail(CUresult::CUDA_ERROR_UNKNOWN));
    let _scope = machine.inject(plan)?;
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    let on = |name: &str| -> TestResult<Option<CUresult>> {
        let driver = driver.clone();
        let worker = std::thread::Builder::new().name(name.to_owned()).spawn(move || driver.initialize())?;
        let result = worker.join().map_err(|_| "it does not panic")?;
        Ok(result.err().and_then(|error| error.code()))
    };
    assert_eq!(on("a worker with a long name")?, Some(CUresult::CUDA_ERROR_UNKNOWN));
    assert_eq!(on("a worker with another name")?, None);
    Ok(())
}

/// A thread that Rust knows no name of has the one that the system knows, here its maker's, cut to 15 bytes.
#[test]
#[cfg(target_os = "linux")]
fn a_thread_without_a_name_in_rust_is_known_by_the_systems() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _scope =
        machine.inject(Plan::new().rule(Rule::on(Class::Init).on_thread_named("a thread of a client").fail(OUT)))?;
    let code_in_a_child = |name: &str| -> TestResult<Option<CUresult>> {
        let driver = driver.clone();
        let maker = std::thread::Builder::new().name(name.to_owned());
        let maker = maker.spawn(move || std::thread::spawn(move || driver.initialize()).join())?;
        let result = maker.join().and_then(|child| child).map_err(|_| "neither panics")?;
        Ok(result.err().and_then(|error| error.code()))
    };
    assert_eq!(code_in_a_child("a thread of a client")?, Some(OUT));
    assert_eq!(code_in_a_child("another thread of a client")?, None);
    Ok(())
}

#[test]
fn a_rule_for_a_device_meets_what_names_it_and_what_is_current_on_it() -> TestResult {
    let (machine, driver) = machine("pcie-pair", Mode::Sync)?;
    let first = context(&driver, 0)?;
    let (on_first, mut at_first) = (stream(&driver)?, 0);
    call!(driver.cuMemAlloc_v2(&mut at_first, 64))?;
    let second = context(&driver, 1)?;
    let (on_second, mut at_second, mut pool) = (stream(&driver)?, 0, null_mut());
    call!(driver.cuMemAlloc_v2(&mut at_second, 64))?;
    call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 1))?;
    let plan = Plan::new().rule(Rule::on(Calls::all()).on_device(1).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let scope = machine.inject(plan)?;

    // The second device's context is current.
    let (mut free, mut total, mut name, mut count, mut bytes) = (0, 0, [0; 64], 0, 0_u64);
    answers!(driver.cuMemGetInfo_v2(&mut free, &mut total), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuStreamSynchronize(on_second), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuStreamSynchronize(null_mut()), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuMemsetD8_v2(at_second, 1, 64), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuDeviceGetName(name.as_mut_ptr(), 64, 1), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuMemPoolTrimTo(pool, 0), CUDA_ERROR_UNKNOWN);
    answers!(driver.cuMemcpyPeer(at_first, first, at_second, second, 64), CUDA_ERROR_UNKNOWN);
    call!(driver.cuStreamSynchronize(on_first))?;
    call!(driver.cuDeviceGetName(name.as_mut_ptr(), 64, 0))?;
    call!(driver.cuDeviceGetCount(&mut count))?;
    call!(driver.cuInit(0))?;
    call!(driver.cuCtxSetCurrent(first))?;
    call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
    call!(driver.cuCtxGetId(first, &mut bytes))?;
    answers!(driver.cuCtxGetId(second, &mut bytes), CUDA_ERROR_UNKNOWN);
    assert_eq!(scope.fired_count(), 9);
    Ok(())
}

#[test]
fn a_rule_for_a_context_tells_two_contexts_of_a_device_apart() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let (first, second) = (context(&driver, 0)?, context(&driver, 0)?);
    let mut event = null_mut();
    call!(driver.cuEventCreate(&mut event, 0))?;
    let mut id = 0;
    call!(driver.cuCtxGetId(second, &mut id))?;
    let rules = [Rule::on(Calls::all()).on_context(second), Rule::on(Calls::all()).on_context_id(id)];
    for rule in rules {
        let _scope = machine.inject(Plan::new().rule(rule.fail(CUresult::CUDA_ERROR_UNKNOWN)))?;
        answers!(driver.cuEventQuery(event), CUDA_ERROR_UNKNOWN);
        answers!(driver.cuCtxGetId(second, &mut id), CUDA_ERROR_UNKNOWN);
        call!(driver.cuCtxGetId(first, &mut id))?;
    }
    Ok(())
}

#[test]
fn plans_do_not_disturb_each_other_and_end_with_their_scopes() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let outer = machine.inject(Plan::new().rule(Rule::on(Function::cuInit).nth(2).fail(OUT)))?;
    let inner =
        machine.inject(Plan::new().rule(Rule::on(Function::cuInit).nth(1).fail(CUresult::CUDA_ERROR_UNKNOWN)))?;
    answers!(driver.cuInit(0), CUDA_ERROR_UNKNOWN);
    drop(inner);
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_eq!(outer.fired()[0].call, 2);
    drop(outer);
    call!(driver.cuInit(0))?;
    Ok(())
}

#[test]
fn the_first_answer_of_a_plan_counts_and_every_rule_counts_its_matches() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let plan = Plan::new()
        .rule(Rule::on(Class::Init).nth(1).fail(OUT))
        .rule(Rule::on(Class::Init).from(1).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let scope = machine.inject(plan)?;
    answers!(driver.cuInit(0), CUDA_ERROR_OUT_OF_MEMORY);
    answers!(driver.cuInit(0), CUDA_ERROR_UNKNOWN);
    let rules: Vec<_> = scope.fired().iter().map(|fired| (fired.call, fired.rule)).collect();
    assert_eq!(rules, [(1, Some(0)), (1, Some(1)), (2, Some(1))]);
    Ok(())
}

#[test]
fn a_plan_that_cannot_happen_is_refused() -> TestResult {
    let (machine, _driver) = machine("h200", Mode::Sync)?;
    let refused = |plan: Plan| machine.inject(plan).map(|_| ()).expect_err("it is refused");
    assert_eq!(
        refused(Plan::new().rule(Rule::on(Calls::all()).on_device(1).fail(OUT))),
        FaultError::NoSuchDevice { device: 1, count: 1 }
    );
    assert_eq!(
        refused(Plan::new().rule(Rule::on(Calls::all()).nth(0).fail(OUT))),
        FaultError::Zero { what: "nth or from" }
    );
    Ok(())
}
