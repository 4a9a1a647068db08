//! Sweeps of programs with one mistake each, and of their correct twins.

use std::cell::Cell;
use std::ptr::null_mut;

use warploom_testkit::driver::{Driver, Function};
use warploom_testkit::sim::fault::{Calls, Class};
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::sweep::{Failing, Problem, Sweep, SweepReport, sweep, try_sweep};
use warploom_testkit::sys::types::{CUcontext, CUdeviceptr, CUresult, CUstream};
use warploom_testkit::{TestResult, call};

fn h200() -> TestResult<Topology> {
    Ok(Topology::preset("h200")?)
}

/// A context that destroys itself, and puts back what was current.
struct Context<'a> {
    driver: &'a Driver,
    raw: CUcontext,
}

impl<'a> Context<'a> {
    fn new(driver: &'a Driver) -> TestResult<Self> {
        let mut raw = null_mut();
        call!(driver.cuCtxCreate_v2(&mut raw, 0, 0))?;
        Ok(Self { driver, raw })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        // A drop of a context cannot return the error.
        call!(driver.cuCtxDestroy_v2(self.raw)).unwrap_or_default();
    }
}

/// Memory that frees itself.
struct Memory<'a> {
    driver: &'a Driver,
    raw: CUdeviceptr,
}

impl<'a> Memory<'a> {
    fn new(driver: &'a Driver) -> TestResult<Self> {
        let mut raw = 0;
        call!(driver.cuMemAlloc_v2(&mut raw, 64))?;
        Ok(Self { driver, raw })
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        let driver = self.driver;
        call!(driver.cuMemFree_v2(self.raw)).unwrap_or_default();
    }
}

fn problems(report: &SweepReport, call: u64, failing: Failing) -> Vec<&Problem> {
    let here = report.failures.iter().filter(|failure| failure.call == call && failure.failing == failing);
    here.map(|failure| &failure.problem).collect()
}

/// Allocates two pieces; if there is no second, the first is forgotten.
fn two_pieces_without_rollback(_: &Machine, driver: &Driver) -> TestResult {
    let _context = Context::new(driver)?;
    let (mut first, mut second) = (0, 0);
    call!(driver.cuMemAlloc_v2(&mut first, 64))?;
    call!(driver.cuMemAlloc_v2(&mut second, 64))?;
    let freed = call!(driver.cuMemFree_v2(second));
    call!(driver.cuMemFree_v2(first)).and(freed)?;
    Ok(())
}

fn two_pieces(_: &Machine, driver: &Driver) -> TestResult {
    let _context = Context::new(driver)?;
    let (_first, _second) = (Memory::new(driver)?, Memory::new(driver)?);
    Ok(())
}

#[test]
fn a_missing_rollback_is_found() -> TestResult {
    let report = try_sweep(h200()?, two_pieces_without_rollback)?;
    assert_eq!(
        report.calls,
        ["cuCtxCreate_v2", "cuMemAlloc_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemFree_v2", "cuCtxDestroy_v2"]
    );
    assert_eq!(report.runs, 1 + 2 * 6);
    assert_eq!(report.failures.len(), 1, "{report}");
    let failure = &report.failures[0];
    assert_eq!((failure.call, failure.function.as_str(), failure.failing), (3, "cuMemAlloc_v2", Failing::Once));
    assert_eq!(failure.code, "CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_eq!(failure.problem, Problem::LeftOver("1 device allocation gone with its context".to_owned()));
    Ok(())
}

#[test]
fn with_the_rollback_a_sweep_is_quiet_in_every_mode() -> TestResult {
    for mode in [Mode::Threads, Mode::Sync, Mode::Deterministic(Order::Lazy), Mode::Deterministic(Order::Seeded(3))] {
        let report = Sweep::new(h200()?).mode(mode).after_effect(true).run(two_pieces);
        assert_eq!(report.runs, 1 + 3 * 6);
    }
    Ok(())
}

#[test]
#[should_panic(expected = "left over: 1 device allocation gone with its context")]
fn a_sweep_panics_with_its_report() {
    sweep(Topology::preset("h200").expect("a preset"), two_pieces_without_rollback);
}

#[test]
fn a_panic_in_a_destructor_is_found() -> TestResult {
    struct Careless<'a>(&'a Driver, CUstream);
    impl Drop for Careless<'_> {
        fn drop(&mut self) {
            let driver = self.0;
            call!(driver.cuStreamDestroy_v2(self.1)).expect("a stream can be destroyed");
        }
    }
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        let careless = Careless(driver, stream);
        call!(driver.cuStreamSynchronize(careless.1))?;
        Ok(())
    };
    let report = try_sweep(h200()?, scenario)?;
    let at_destroy = problems(&report, 4, Failing::Once);
    assert!(
        matches!(at_destroy[..], [Problem::Panicked(message)] if message.starts_with("a stream can be destroyed")),
        "{report}"
    );
    assert!(report.failures.iter().all(|failure| matches!(failure.problem, Problem::Panicked(_))), "{report}");
    Ok(())
}

#[test]
fn a_use_of_a_dead_handle_is_found() -> TestResult {
    // On failure the stream is destroyed, and then once more by its owner.
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        let waited = call!(driver.cuStreamSynchronize(stream));
        if waited.is_err() {
            call!(driver.cuStreamDestroy_v2(stream))?;
        }
        call!(driver.cuStreamDestroy_v2(stream))?;
        Ok(waited?)
    };
    let report = try_sweep(h200()?, scenario)?;
    assert_eq!(report.failures.len(), 1, "{report}");
    assert!(
        matches!(problems(&report, 3, Failing::Once)[..], [Problem::DeadHandle(what)] if what.contains("has been destroyed")),
        "{report}"
    );
    Ok(())
}

#[test]
fn a_double_free_is_found_also_when_everything_fails_from_there() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let context = Context::new(driver)?;
        let memory = Memory::new(driver)?;
        let filled = call!(driver.cuMemsetD8_v2(memory.raw, 0, 64));
        if filled.is_err() {
            call!(driver.cuMemFree_v2(memory.raw)).unwrap_or_default();
        }
        drop(memory);
        drop(context);
        Ok(filled?)
    };
    let report = try_sweep(h200()?, scenario)?;
    assert_eq!(report.failures.len(), 1, "where both frees fail nothing is freed twice: {report}");
    assert!(matches!(problems(&report, 3, Failing::Once)[..], [Problem::DeadHandle(_)]), "{report}");
    Ok(())
}

#[test]
fn a_swallowed_error_is_found_unless_it_is_tolerated() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        let memory = Memory::new(driver)?;
        call!(driver.cuMemsetD8_v2(memory.raw, 0, 64)).unwrap_or_default();
        Ok(())
    };
    let report = try_sweep(h200()?, scenario)?;
    assert_eq!(report.failures.len(), 2, "{report}");
    for failing in [Failing::Once, Failing::FromHere] {
        assert_eq!(problems(&report, 3, failing), [&Problem::Swallowed]);
    }
    Sweep::new(h200()?).tolerates(Class::Fill).run(scenario);
    Ok(())
}

#[test]
fn a_race_that_a_failed_wait_leads_to_is_found() -> TestResult {
    // Goes on as if the streams had been ordered.
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        let memory = Memory::new(driver)?;
        let (mut first, mut second, mut event) = (null_mut(), null_mut(), null_mut());
        let made = call!(driver.cuStreamCreate(&mut first, 1))
            .and_then(|()| call!(driver.cuStreamCreate(&mut second, 1)))
            .and_then(|()| call!(driver.cuEventCreate(&mut event, 2)))
            .and_then(|()| call!(driver.cuMemsetD8Async(memory.raw, 1, 64, first)))
            .and_then(|()| call!(driver.cuEventRecord(event, first)));
        made?;
        let waits = call!(driver.cuStreamWaitEvent(second, event, 0));
        call!(driver.cuMemsetD8Async(memory.raw, 2, 64, second))?;
        call!(driver.cuCtxSynchronize())?;
        Ok(waits?)
    };
    let report = try_sweep(h200()?, scenario)?;
    assert_eq!(report.failures.len(), 1, "{report}");
    assert!(
        matches!(problems(&report, 8, Failing::Once)[..], [Problem::Found(what)] if what.starts_with("race")),
        "{report}"
    );
    Ok(())
}

#[test]
fn a_context_that_stays_current_is_found() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        let used = call!(driver.cuCtxPushCurrent_v2(context)).and_then(|()| call!(driver.cuCtxSynchronize()));
        let popped = if used.is_ok() { call!(driver.cuCtxPopCurrent_v2(null_mut())) } else { Ok(()) };
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        Ok(used.and(popped)?)
    };
    let report = try_sweep(h200()?, scenario)?;
    assert_eq!(report.failures.len(), 1, "{report}");
    assert_eq!(problems(&report, 3, Failing::Once), [&Problem::LeftOver("other current contexts".to_owned())]);
    Ok(())
}

#[test]
fn an_error_after_the_effect_must_not_be_answered_by_doing_it_again() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let context = Context::new(driver)?;
        let mut memory = 0;
        call!(driver.cuMemAlloc_v2(&mut memory, 64))?;
        let freed = call!(driver.cuMemFree_v2(memory)).or_else(|_| call!(driver.cuMemFree_v2(memory)));
        drop(context);
        Ok(freed?)
    };
    assert!(try_sweep(h200()?, scenario)?.failures.is_empty());
    let report = Sweep::new(h200()?).after_effect(true).try_run(scenario)?;
    assert!(matches!(problems(&report, 3, Failing::AfterEffect)[..], [Problem::DeadHandle(_)]), "{report}");
    assert_eq!(report.failures.len(), 1, "{report}");
    Ok(())
}

#[test]
fn a_scenario_that_fails_or_leaks_by_itself_is_not_swept() -> TestResult {
    let fails = try_sweep(h200()?, |_: &Machine, _: &Driver| Err("no"))?;
    assert_eq!(fails.failures[0].problem, Problem::FailsAnyway("no".to_owned()));
    let leaks = |_: &Machine, driver: &Driver| call!(driver.cuDevicePrimaryCtxRetain(&mut null_mut(), 0));
    let leaks = try_sweep(h200()?, leaks)?;
    assert_eq!(leaks.runs, 1);
    assert_eq!(leaks.failures[0].problem, Problem::LeftOver("1 retained primary context".to_owned()));
    Ok(())
}

#[test]
fn resources_always_left_to_the_context_are_no_leak() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        call!(driver.cuStreamCreate(&mut null_mut(), 1))?;
        call!(driver.cuEventCreate(&mut null_mut(), 0))?;
        Ok(())
    };
    Sweep::new(h200()?).after_effect(true).run(scenario);
    Ok(())
}

#[test]
fn a_scenario_that_is_not_the_same_every_time_is_told_so() -> TestResult {
    let runs = Cell::new(0);
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        runs.set(runs.get() + 1);
        if runs.get() == 1 {
            call!(driver.cuInit(0))?;
        }
        Ok(())
    };
    let report = try_sweep(h200()?, scenario)?;
    assert!(report.failures.iter().all(|failure| failure.problem == Problem::NotReached), "{report}");
    assert_eq!(report.failures.len(), 2);
    Ok(())
}

#[test]
fn one_run_can_be_had_alone_and_with_chosen_codes() -> TestResult {
    let codes = |function: Function| match function {
        Function::cuMemAlloc_v2 => vec![CUresult::CUDA_ERROR_OUT_OF_MEMORY, CUresult::CUDA_ERROR_INVALID_VALUE],
        _ => vec![CUresult::CUDA_ERROR_UNKNOWN],
    };
    let report = Sweep::new(h200()?).codes(codes).only(3, Failing::Once).try_run(two_pieces_without_rollback)?;
    assert_eq!(report.runs, 3);
    let codes: Vec<_> = report.failures.iter().map(|failure| failure.code.as_str()).collect();
    assert_eq!(codes, ["CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_INVALID_VALUE (1)"]);
    Ok(())
}

#[test]
fn a_report_is_a_table_for_people_and_data_for_programs() -> TestResult {
    let report = try_sweep(h200()?, two_pieces_without_rollback)?;
    let text = report.to_string();
    assert!(text.starts_with("sweep: 6 calls, 13 runs in "), "{text}");
    let line = text.lines().find(|line| line.contains("cuMemAlloc_v2")).ok_or("there is a line for it")?;
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>().join(" "),
        "3 cuMemAlloc_v2 once CUDA_ERROR_OUT_OF_MEMORY (2) left over: 1 device allocation gone with its context"
    );
    assert!(text.contains(".only(3, Failing::Once)"), "{text}");
    let json = serde_json::to_value(&report)?;
    assert_eq!(json["failures"][0]["call"], 3);
    assert_eq!(json["failures"][0]["problem"]["kind"], "left_over");
    assert_eq!(json["calls"][0], "cuCtxCreate_v2");
    Ok(())
}

/// Prints what a sweep costs; nothing is asserted about it.
#[test]
#[expect(clippy::print_stderr, reason = "a measurement is for reading")]
fn a_scenario_of_a_hundred_calls_is_swept_whole() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        let _context = Context::new(driver)?;
        let pieces = (0..33).map(|_| Memory::new(driver)).collect::<TestResult<Vec<_>>>()?;
        for piece in &pieces[..32] {
            call!(driver.cuMemsetD8_v2(piece.raw, 1, 64))?;
        }
        Ok(())
    };
    let report = Sweep::new(h200()?).run(scenario);
    assert_eq!((report.calls.len(), report.runs), (100, 201));
    eprintln!("{report}");
    Ok(())
}

#[test]
fn everything_may_fail_and_a_tolerant_scenario_is_content() -> TestResult {
    let scenario = |_: &Machine, driver: &Driver| -> TestResult {
        call!(driver.cuDeviceGetCount(&mut 0)).unwrap_or_default();
        Ok(())
    };
    Sweep::new(h200()?).tolerates(Calls::all()).after_effect(true).run(scenario);
    Ok(())
}
