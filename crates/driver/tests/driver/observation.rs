//! Counters, recorders and tracing.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};
use warploom_driver::sys::types::CUresult;
use warploom_driver::{Function, Result};

use crate::fake;

/// C.1: calls are counted by function.
#[test]
fn a_counter_counts_calls_by_function() -> Result<()> {
    let driver = fake::driver()?;
    driver.initialize()?;
    let counter = driver.count_calls();
    fake::allocate(&driver, 1)?;
    fake::allocate(&driver, 1)?;
    fake::query(&driver)?;
    assert_eq!((counter.count(Function::cuMemAlloc_v2), counter.count(Function::cuInit), counter.total()), (2, 0, 3));
    assert_eq!(counter.by_function(), [(Function::cuEventQuery, 1), (Function::cuMemAlloc_v2, 2)]);
    assert_eq!(format!("{counter:?}"), "{cuEventQuery: 1, cuMemAlloc_v2: 2}");
    counter.reset();
    assert_eq!((counter.total(), counter.by_function()), (0, vec![]));
    Ok(())
}

#[test]
fn a_failed_call_counts() -> Result<()> {
    let driver = fake::driver()?;
    let counter = driver.count_calls();
    fake::STATUS.set(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    fake::allocate(&driver, 1).expect_err("there is no memory");
    assert_eq!(counter.total(), 1);
    Ok(())
}

#[test]
fn nested_counters_each_count_for_themselves() -> Result<()> {
    let driver = fake::driver()?;
    let outer = driver.count_calls();
    fake::query(&driver)?;
    let inner = driver.count_calls();
    fake::query(&driver)?;
    assert_eq!((outer.total(), inner.total()), (2, 1));
    drop(inner);
    fake::query(&driver)?;
    assert_eq!(outer.total(), 3);
    Ok(())
}

#[test]
fn counters_may_end_in_any_order() -> Result<()> {
    let driver = fake::driver()?;
    let (first, second) = (driver.count_calls(), driver.count_calls());
    drop(first);
    fake::query(&driver)?;
    assert_eq!(second.total(), 1);
    Ok(())
}

#[test]
fn another_thread_is_not_counted() -> Result<()> {
    let driver = fake::driver()?;
    let counter = driver.count_calls();
    let theirs = std::thread::scope(|scope| {
        let thread = scope.spawn(|| -> Result<u64> {
            fake::query(&driver)?;
            let counter = driver.count_calls();
            fake::query(&driver)?;
            Ok(counter.total())
        });
        thread.join().expect("no panic")
    })?;
    fake::query(&driver)?;
    assert_eq!((counter.total(), theirs), (1, 1));
    Ok(())
}

#[test]
fn another_driver_is_not_counted() -> Result<()> {
    let (driver, other) = (fake::driver()?, fake::driver()?);
    let (counter, _others) = (driver.count_calls(), other.count_calls());
    fake::query(&other)?;
    assert_eq!(counter.total(), 0);
    fake::query(&driver.clone())?;
    assert_eq!(counter.total(), 1);
    Ok(())
}

#[test]
fn a_counter_keeps_its_driver_alive() -> Result<()> {
    let alive = Arc::new(());
    let driver = warploom_driver::Driver::open(fake::source(Arc::clone(&alive)))?;
    let counter = driver.count_calls();
    drop(driver);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(counter);
    assert_eq!(Arc::strong_count(&alive), 1);
    Ok(())
}

#[test]
fn a_driver_without_watchers_is_unobserved() -> Result<()> {
    let driver = fake::driver()?;
    let observed = || format!("{driver:?}").contains("observed: true");
    assert!(!observed());
    let (counter, recorder) = (driver.count_calls(), driver.record_calls());
    drop(counter);
    assert!(observed());
    drop(recorder);
    assert!(!observed());
    driver.set_tracing(true);
    driver.set_tracing(true);
    assert!(observed());
    driver.set_tracing(false);
    assert!(!observed());
    Ok(())
}

#[test]
fn a_recorder_keeps_calls_with_their_status_in_order() -> Result<()> {
    let driver = fake::driver()?;
    let recorder = driver.record_calls();
    driver.initialize()?;
    fake::STATUS.set(CUresult::CUDA_ERROR_NOT_READY);
    fake::query(&driver).expect_err("not ready");
    let expected =
        [(Function::cuInit, CUresult::CUDA_SUCCESS), (Function::cuEventQuery, CUresult::CUDA_ERROR_NOT_READY)];
    assert_eq!(recorder.calls(), expected);
    assert_eq!(format!("{recorder:?}"), "[(cuInit, CUresult(0)), (cuEventQuery, CUresult(600))]");
    assert_eq!(recorder.take(), expected);
    assert_eq!(recorder.calls(), []);
    Ok(())
}

#[test]
fn a_call_made_inside_a_call_is_observed_first() -> Result<()> {
    let driver = fake::driver()?;
    let recorder = driver.record_calls();
    fake::query_from_a_callback(&driver)?;
    let functions: Vec<_> = recorder.calls().into_iter().map(|(function, _)| function).collect();
    assert_eq!(functions, [Function::cuEventQuery, Function::cuLaunchHostFunc]);
    Ok(())
}

/// Keeps each event as one line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_u64(&mut self, field: &Field, _value: u64) {
        self.0 += &format!(" {}", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let level: &Level = event.metadata().level();
        let mut line = Line(format!("{level} {}", event.metadata().target()));
        event.record(&mut line);
        self.0.lock().expect("no test panics with the lock").push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn a_traced_driver_reports_each_call_until_told_not_to() -> Result<()> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || -> Result<()> {
        let driver = fake::driver()?;
        driver.initialize()?;
        driver.set_tracing(true);
        assert!(driver.is_traced());
        fake::query(&driver)?;
        fake::STATUS.set(CUresult::CUDA_ERROR_NOT_READY);
        fake::query(&driver).expect_err("not ready");
        fake::STATUS.set(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        fake::allocate(&driver, 1).expect_err("no memory");
        driver.set_tracing(false);
        assert!(!driver.is_traced());
        fake::query(&driver).expect_err("no memory");
        Ok(())
    })?;
    assert_eq!(
        *lines.0.lock().unwrap(),
        [
            "TRACE warploom::driver function=\"cuEventQuery\" status=CUDA_SUCCESS (0) duration_ns",
            "TRACE warploom::driver function=\"cuEventQuery\" status=CUDA_ERROR_NOT_READY (600) duration_ns",
            "DEBUG warploom::driver function=\"cuMemAlloc_v2\" status=CUDA_ERROR_OUT_OF_MEMORY (2) duration_ns",
        ]
    );
    Ok(())
}

#[test]
fn a_counted_driver_is_not_traced() -> Result<()> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        let driver = fake::driver()?;
        let _counter = driver.count_calls();
        fake::query(&driver)
    })?;
    assert!(lines.0.lock().unwrap().is_empty());
    Ok(())
}
