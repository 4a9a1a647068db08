//! Adaptors on top of resources.

use std::cell::RefCell;
use std::rc::Rc;

use warploom::{
    Counted, DeviceMemory, DevicePool, Error, Limited, Logged, MemoryError, OrderedResource, PinnedBuffer,
    PinnedMemory, SynchronousResource,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::events::{self, SeenEvent};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, budget, driver_tests, open};

driver_tests! {
    fn a_limit_is_checked_before_the_driver_is_called_and_names_the_rest(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let limited = Limited::ordered(&DevicePool::new(&context)?, 1000);
        let first = limited.allocate::<u64>(100, &stream)?;
        let refused = Error::Memory(MemoryError::OverLimit { asked: 201, used: 800, limit: 1000 });
        budget(driver, &[], || assert_eq!(limited.allocate::<u8>(201, &stream).map(drop), Err(refused.clone())));
        assert!(refused.is_out_of_memory());
        let second = limited.allocate::<u8>(200, &stream)?;
        assert_eq!((limited.used(), limited.limit()), (1000, 1000));
        drop(first);
        assert_eq!(limited.used(), 200);
        drop(second);
        limited.allocate::<u8>(1000, &stream)?;
        assert_eq!(limited.used(), 0);
    }

    fn counts_are_of_requested_bytes(driver) {
        let counted = Counted::synchronous(&DeviceMemory::new(&driver.device(0)?.context()?));
        let kept = counted.allocate::<u32>(10)?;
        drop(counted.allocate::<u8>(60)?);
        assert!(counted.allocate::<u8>(1 << 60).is_err());
        let counts = counted.counts();
        assert_eq!((counts.live, counts.live_bytes, counts.peak_bytes), (1, 40, 100));
        assert_eq!((counts.allocations, counts.allocated_bytes, counts.failures), (2, 100, 1));
        counted.reset_peak();
        assert_eq!(counted.counts().peak_bytes, 40);
        drop(kept);
        assert_eq!((counted.counts().live, counted.counts().live_bytes), (0, 0));
    }

    fn adaptors_stack_and_page_locked_memory_stays_so(driver) {
        let context = driver.device(0)?.context()?;
        let counted = Counted::synchronous(&PinnedMemory::new(&context));
        let limited = Limited::synchronous(&counted, 100);
        let pinned = PinnedBuffer::copied(&[1_u8, 2, 3], &limited)?;
        assert_eq!((counted.counts().live_bytes, limited.used(), &pinned[..]), (3, 3, &[1, 2, 3][..]));
        assert!(PinnedBuffer::<u8>::zeroed(98, &limited).is_err_and(|error| error.is_out_of_memory()));
    }
}

#[test]
fn memory_that_could_not_be_freed_still_counts() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Eager))?;
    let context = driver.device(0)?.context()?;
    let counted = Counted::synchronous(&DeviceMemory::new(&context));
    let limited = Limited::synchronous(&counted, 100);
    let buffer = limited.allocate::<u8>(60)?;
    let rule = Rule::on(Calls::named("cuMemFree*")?).fail(CUresult::CUDA_ERROR_UNKNOWN);
    let scope = machine.inject(Plan::new().rule(rule))?;
    assert!(buffer.close().is_err());
    drop(scope);
    assert_eq!((limited.used(), counted.counts().live, counted.counts().failures), (60, 1, 1));
    Ok(())
}

#[test]
fn a_limit_holds_for_threads_that_allocate_at_once() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let counted = Counted::ordered(&DevicePool::new(&context)?);
    let limited = Limited::ordered(&counted, 1000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| -> warploom::Result<()> {
                let stream = context.stream()?;
                let mut kept = Vec::new();
                for at in 0..200 {
                    match limited.allocate::<u8>(150, &stream) {
                        Ok(buffer) => kept.push(buffer),
                        Err(error) => assert!(error.is_out_of_memory(), "{error}"),
                    }
                    if at % 3 == 2 {
                        kept.clear();
                    }
                }
                Ok(())
            });
        }
    });
    let counts = counted.counts();
    assert!(counts.peak_bytes <= 1000 && counts.live == 0 && limited.used() == 0, "{counts:?}");
    Ok(())
}

#[test]
fn every_call_is_logged_by_the_name_of_the_resource() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let log = Rc::new(RefCell::new(Vec::new()));
    let lines = Rc::clone(&log);
    let observer = move |event: &SeenEvent| {
        if event.target == "warploom::memory" {
            lines.borrow_mut().push(event.to_string());
        }
    };
    let context = driver.device(0)?.context()?;
    let address = events::observe(observer, || -> warploom::Result<_> {
        let logged = Logged::synchronous(&Limited::synchronous(&DeviceMemory::new(&context), 10), "weights");
        let buffer = logged.allocate::<u8>(8)?;
        assert!(logged.allocate::<u8>(3).is_err());
        Ok(buffer.as_raw())
    })?;
    let refused = Error::Memory(MemoryError::OverLimit { asked: 3, used: 8, limit: 10 });
    let expected = [
        format!("DEBUG allocated resource=\"weights\" bytes=8 address={address}"),
        format!("WARN not allocated resource=\"weights\" bytes=3 error={refused}"),
        format!("DEBUG freed resource=\"weights\" bytes=8 address={address}"),
    ];
    assert_eq!(*log.borrow(), expected);
    Ok(())
}
