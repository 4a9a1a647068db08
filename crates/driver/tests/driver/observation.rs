//! Counters, recorders and tracing.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};
use warploom_driver::sys::types::CUresult;
use warploom_driver::user_code::Mutex;
use warploom_driver::{Driver, Function, Result};

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
        self.0.lock().push(line.0);
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
        *lines.0.lock(),
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
    assert!(lines.0.lock().is_empty());
    Ok(())
}

/// A subscriber that calls a function for each event.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync + 'static> Subscriber for Calls<F> {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        (self.0)();
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Panics when it is dropped, even if that is because of a panic.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Bomb);
    }
}

#[test]
fn a_panic_of_a_subscriber_ends_in_the_call_which_is_counted() -> Result<()> {
    let driver = fake::driver()?;
    driver.set_tracing(true);
    let (counter, recorder) = (driver.count_calls(), driver.record_calls());
    let call = || tracing::subscriber::with_default(Calls(|| panic_any(Bomb)), || fake::query(&driver));
    for _ in 0..2 {
        // The test runner does not survive such a payload.
        catch_unwind(AssertUnwindSafe(call)).map_err(std::mem::forget).expect("the panic ends in the call")?;
    }
    assert_eq!((counter.total(), recorder.calls().len()), (2, 2));
    Ok(())
}

#[test]
fn an_event_waits_until_its_thread_holds_no_mutex() -> Result<()> {
    let (mutex, driver) = (Arc::new(Mutex::new(())), fake::driver()?);
    let (inner, events) = (Arc::clone(&mutex), Arc::new(AtomicU32::new(0)));
    let seen = Arc::clone(&events);
    let subscriber = Calls(move || {
        // A second guard of the same thread would wait for ever.
        drop(inner.lock());
        seen.fetch_add(1, Ordering::Relaxed);
    });
    let (send, received) = channel();
    thread::spawn(move || {
        let done = tracing::subscriber::with_default(subscriber, || -> Result<_> {
            driver.set_tracing(true);
            let (outer, other) = (mutex.lock(), Mutex::new(()));
            let guard = other.lock();
            fake::query(&driver)?;
            drop(guard);
            fake::query(&driver)?;
            let while_held = events.load(Ordering::Relaxed);
            drop(outer);
            Ok((while_held, events.load(Ordering::Relaxed)))
        });
        send.send(done)
    });
    let counts = received.recv_timeout(Duration::from_secs(20)).expect("no thread waits for itself");
    assert_eq!(counts?, (0, 2));
    Ok(())
}

/// A writer that makes a call whenever something is written.
struct Writer(Driver);

impl std::fmt::Write for Writer {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        fake::query(&self.0).map_err(|_| std::fmt::Error)
    }
}

#[test]
fn a_recorder_is_shown_by_a_writer_that_makes_calls() -> Result<()> {
    let driver = fake::driver()?;
    let recorder = driver.record_calls();
    fake::query(&driver)?;
    std::fmt::write(&mut Writer(driver), format_args!("{recorder:?}")).expect("the fake succeeds");
    assert!(recorder.calls().len() > 1);
    Ok(())
}
