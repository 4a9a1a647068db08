//! Failing tests fail, with a message that names all of it: each test here runs a wrong one.
#![expect(unsafe_code, reason = "calls C functions with pointers to variables of the test")]

use std::ptr::null_mut;
use std::sync::Mutex;

use warploom::{Comparison, DevicePool, Driver, Result, StreamWord};
use warploom_driver::Driver as Calls;
use warploom_test::sim::fault::{Class, Plan, Rule};
use warploom_test::sim::{FindingKind, LogKind};
use warploom_test::sweep::{Failing, Problem};
use warploom_test::sys::types::CUresult;
use warploom_test::{Case, Cause, Failure, Faults, Level, Orders, RunOrder, TestReturn};

/// The failure of a case that must have one.
fn failure<D: From<Calls>, R: TestReturn>(case: &Case, body: impl Fn(&D) -> R) -> Box<Failure> {
    case.try_run(body).expect_err("the test is wrong")
}

/// Reads on another stream the bytes that were written, without a wait for the second write.
fn forgets_to_wait(driver: &Driver) -> Result<()> {
    let context = driver.device(0)?.context()?;
    let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
    let mut buffer = pool.zeroed::<u8>(64, &stream)?;
    buffer.download(&other)?;
    buffer.fill(1, &stream)?;
    buffer.download(&other).map(drop)
}

#[test]
fn a_race_fails_in_every_order_and_names_both_calls_with_their_lines() {
    for (orders, first) in [(Orders::All, RunOrder::Eager), (Orders::Threads, RunOrder::Threads)] {
        let failure = failure(&Case::new().orders(orders).name("tests::forgets"), forgets_to_wait);
        assert!(matches!(failure.cause, Cause::Found), "{failure}");
        assert_eq!(failure.order, Some(first));
        assert!(matches!(failure.findings[0].kind, FindingKind::Race { .. }));
        let text = failure.to_string();
        assert!(text.starts_with(&format!("tests::forgets failed on h200 in order {first}\n")), "{text}");
        assert!(text.contains("finding 1 of 1: race: "), "{text}");
        assert!(text.contains("missing: record an event"), "{text}");
        assert_eq!(text.matches("failures.rs:").count(), 3, "fill, download and allocation: {text}");
        assert!(!text.contains("warploom_test::"), "no frames of the runner: {text}");
        assert!(!text.contains("    warploom::"), "no frames of the library: {text}");
        assert!(!text.contains("warploom/src/"), "no inlined frames of it either: {text}");
        assert!(
            text.ends_with(&format!("\nreproduce: WARPLOOM_TEST_SEED={first} cargo test tests::forgets")),
            "{text}"
        );
    }
}

#[test]
fn an_error_is_shown_behind_the_order_it_came_in() {
    let failure = failure(&Case::new().name("wrong"), |driver: &Driver| driver.device(7).map(drop));
    let Cause::Returned(error) = &failure.cause else { panic!("{failure}") };
    let expected = format!("wrong failed on h200 in order eager\nerror: {error}\n");
    assert!(failure.to_string().starts_with(&expected), "{failure}");
}

#[test]
fn refused_calls_are_in_the_log() {
    let body = |driver: &Calls| {
        // SAFETY: the number is no device, and the context is written to a variable.
        unsafe { driver.cuCtxCreate_v2(&mut null_mut(), 0, 9) }
    };
    let failure = failure(&Case::new(), body);
    assert_eq!(failure.log.last().map(|entry| entry.kind), Some(LogKind::Refused));
    let text = failure.to_string();
    assert!(text.contains("\nlog of the machine:\n  cuCtxCreate_v2: CUDA_ERROR_INVALID_DEVICE (101): "), "{text}");
}

#[test]
fn the_seed_that_fails_is_the_one_that_is_named() {
    // Which of two streams is done first is a matter of the order.
    let seen = Mutex::new(Vec::new());
    let body = |driver: &Driver| {
        let context = driver.device(0)?.context()?;
        let (first, second, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
        let (mut a, mut b) = (pool.zeroed::<u8>(64, &first)?, pool.zeroed::<u8>(64, &second)?);
        a.fill(1, &first)?;
        b.fill(1, &second)?;
        let is_done = (first.is_idle()?, second.is_idle()?);
        seen.lock().unwrap().push(is_done);
        if is_done == (false, true) {
            Err("the second is first".into())
        } else {
            Ok::<_, Box<dyn std::error::Error>>(())
        }
    };
    let case = Case::new().orders(Orders::Deterministic).seeds(64).name("order");
    let failure = failure(&case, body);
    let Some(RunOrder::Seed(seed)) = failure.order else { panic!("{failure}") };
    let text = failure.to_string();
    assert!(text.starts_with(&format!("order failed on h200 with seed {seed}\nerror: the second is first")), "{text}");
    assert!(text.ends_with(&format!("reproduce: WARPLOOM_TEST_SEED={seed} cargo test order")), "{text}");
    assert_eq!(seen.lock().unwrap().len() as u64, 2 + seed, "the first that fails is the last that ran");
}

#[test]
fn a_panic_keeps_its_message_and_shows_the_findings() {
    let body = |driver: &Driver| {
        forgets_to_wait(driver).unwrap();
        panic!("as asked");
    };
    let failure = failure::<Driver, ()>(&Case::new(), body);
    assert!(matches!(&failure.cause, Cause::Panicked { message, .. } if message == "as asked"), "{failure}");
    assert_eq!(failure.findings.len(), 1);
    let raised = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| failure.raise())).unwrap_err();
    assert_eq!(raised.downcast_ref::<&str>(), Some(&"as asked"));
}

/// Leaves a context, memory and a stream.
fn leaves_everything(driver: &Calls) -> warploom_driver::Result<()> {
    // SAFETY: each pointer is to a variable.
    unsafe {
        driver.cuCtxCreate_v2(&mut null_mut(), 0, 0)?;
        driver.cuMemAlloc_v2(&mut 0, 64)?;
        driver.cuStreamCreate(&mut null_mut(), 1)
    }
}

#[test]
fn leaks_fail_with_the_calls_that_made_them() {
    let failure = failure(&Case::new().name("leaky"), leaves_everything);
    assert!(matches!(failure.cause, Cause::Found), "{failure}");
    assert_eq!((failure.findings.len(), failure.leaks.len()), (0, 3), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("leak 1 of 3: leak: "), "{text}");
    assert!(text.contains("made by cuStreamCreate (call"), "{text}");
}

#[test]
fn memory_gone_with_its_context_is_a_leak() {
    let body = |driver: &Calls| {
        let mut context = null_mut();
        // SAFETY: each pointer is to a variable, and the context is destroyed once.
        unsafe {
            driver.cuCtxCreate_v2(&mut context, 0, 0)?;
            driver.cuMemAlloc_v2(&mut 0, 64)?;
            driver.cuCtxDestroy_v2(context)
        }
    };
    let failure = failure(&Case::new(), body);
    assert_eq!(failure.leaks.len(), 1, "{failure}");
    assert!(matches!(failure.leaks[0].kind, FindingKind::Leak { .. }));
}

#[test]
fn findings_and_leaks_that_are_only_reported_do_not_fail() {
    let case = Case::new().seeds(0).check(Level::Report).leaks(Level::Report);
    let passed = case.try_run(forgets_to_wait).unwrap();
    assert_eq!(passed.reported.len(), 3, "one in each order");
    assert_eq!(case.try_run(leaves_everything).unwrap().reported.len(), 9);
    let reported = |case: &Case| case.try_run(leaves_everything).unwrap().reported.len();
    assert_eq!(reported(&case.clone().leaks(Level::Off)), 0);
    assert_eq!(reported(&case.clone().check(Level::Off)), 9, "leaks are found without other checks");
    assert!(case.check(Level::Off).try_run(forgets_to_wait).unwrap().reported.is_empty());
}

#[test]
fn a_finding_that_is_allowed_is_none() {
    let case = Case::new().allow(|finding| matches!(finding.kind, FindingKind::Race { .. }));
    assert_eq!(case.try_run(forgets_to_wait).unwrap().orders.len(), 7);
}

/// Swallows the failure of an allocation.
fn swallows(driver: &Driver) -> Result<()> {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    match pool.zeroed::<u8>(64, &stream) {
        Ok(buffer) => buffer.download(&stream).map(drop),
        Err(_) => Ok(()),
    }
}

#[test]
fn a_sweep_finds_a_swallowed_error_and_names_the_run_that_shows_it() {
    let case = Case::new().seeds(0).faults(Faults::Sweep).name("swallows");
    let failure = failure(&case, swallows);
    let Cause::Sweep(report) = &failure.cause else { panic!("{failure}") };
    let first = &report.failures[0];
    assert_eq!((first.failing, &first.problem), (Failing::Once, &Problem::Swallowed));
    let text = failure.to_string();
    assert!(text.starts_with("swallows failed on h200 when a driver call failed\nsweep: "), "{text}");
    let line = format!("\nreproduce: WARPLOOM_TEST_FAULT={}:once cargo test swallows", first.call);
    assert!(text.ends_with(&line), "{text}");
    let tolerated = case.tolerates("cuMemAllocFromPoolAsync").tolerates("cuMemset*");
    assert!(tolerated.try_run(swallows).is_ok());
}

#[test]
fn a_plan_that_never_acts_fails() {
    let plan = Plan::new().rule(Rule::on(Class::Graph).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let failure = failure(&Case::new().faults(plan), |driver: &Driver| driver.devices().map(drop));
    assert!(matches!(failure.cause, Cause::PlanUnused), "{failure}");
    assert!(failure.to_string().contains("no rule of the plan acted"), "{failure}");
}

#[test]
fn an_unknown_machine_or_call_is_named_with_the_known_ones() {
    let body = |_: &Driver| panic!("nothing to run on");
    let text = failure::<Driver, ()>(&Case::new().machine("dgx-h1000"), body).to_string();
    assert!(text.contains("setup: unknown preset \"dgx-h1000\", did you mean \"dgx-h100\"?"), "{text}");
    let text = failure::<Driver, ()>(&Case::new().tolerates("cuMemAlok"), body).to_string();
    assert!(text.contains("did you mean \"cuMemAlloc\"?"), "{text}");
    let text = failure::<Driver, ()>(&Case::new().topology_file("no.toml"), body).to_string();
    assert!(text.contains("no.toml"), "{text}");
}

#[test]
fn a_deadlock_is_an_error_and_no_hang() {
    let body = |driver: &Driver| {
        let context = driver.device(0)?.context()?;
        let (stream, word) = (context.stream()?, StreamWord::new(&context, 0_u32)?);
        word.wait(Comparison::Equal(1), &stream)?;
        stream.synchronize()
    };
    let case = Case::new().orders(Orders::Deterministic).patience(std::time::Duration::from_millis(50));
    let failure = failure(&case, body);
    assert!(failure.log.iter().any(|entry| entry.kind == LogKind::Deadlock), "{failure}");
}
