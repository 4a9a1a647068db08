//! Leak reports list live objects, and nothing else.
#![expect(
    unsafe_code,
    reason = "takes over a stream, a context and memory that others made, and a resource of one's own"
)]

use std::sync::Arc;

use warploom::leaks::{Kind, Leaks, Total};
use warploom::sys::types::CUdeviceptr;
use warploom::{
    Buffer, Context, ContextOptions, Counted, DeviceMemory, DevicePool, Driver, Library, Limited, ManagedMemory,
    OrderedResource, PinnedMemory, Result, Stream, StreamOrdered,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, budget, driver_tests, open};

/// Number and bytes of the live resources of each kind.
fn totals(leaks: &Leaks) -> Vec<(Kind, usize, usize)> {
    leaks.report().totals().into_iter().map(|Total { kind, count, bytes, .. }| (kind, count, bytes)).collect()
}

fn memory(resource: &'static str) -> Kind {
    Kind::Memory { resource }
}

driver_tests! {
    fn everything_is_listed_while_it_is_alive_and_not_when_it_is_gone(driver) {
        let leaks = Leaks::track(driver);
        assert!(leaks.report().is_empty());
        let context = driver.device(0)?.context()?;
        assert_eq!(totals(&leaks), [(Kind::Context, 1, 0)]);
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let event = stream.record()?;
        let timed = stream.record_timed()?;
        assert_eq!(
            totals(&leaks),
            [(Kind::Context, 1, 0), (Kind::Pool, 1, 0), (Kind::Stream, 1, 0), (Kind::Event, 2, 0)]
        );
        let (first, second) = (pool.allocate::<u32>(25, &stream)?, pool.zeroed::<u8>(50, &stream)?);
        assert_eq!(totals(&leaks).last(), Some(&(memory("DevicePool"), 2, 150)));
        drop((event, first));
        second.close()?;
        assert_eq!(
            totals(&leaks),
            [(Kind::Context, 1, 0), (Kind::Pool, 1, 0), (Kind::Stream, 1, 0), (Kind::Event, 1, 0)]
        );
        drop((timed, pool));
        stream.close()?;
        context.close()?;
        leaks.assert_none();
    }

    fn a_library_is_listed_until_its_last_kernel_goes(driver) {
        let leaks = Leaks::track(driver);
        let library = Library::from_ptx(driver, include_str!("../examples/scale.ptx"))?;
        let kernel = library.kernel("scale")?;
        let handle = library.as_raw().addr();
        library.close()?;
        let report = leaks.report();
        assert_eq!(report.to_string(), "1 thing is alive\nwhat     device  count  bytes\nlibrary       -      1      -");
        assert_eq!(report.alive()[0].to_string(), format!("library at {handle:#x}"));
        drop(kernel);
        leaks.assert_none();
    }

    fn memory_is_listed_by_where_it_came_from_through_adaptors_too(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let leaks = Leaks::track(driver);
        let plain = DeviceMemory::new(&context).allocate::<u8>(1)?;
        let pinned = PinnedMemory::new(&context).buffer::<u8>(2)?;
        let managed = ManagedMemory::new(&context)?.allocate::<u8>(3)?;
        let counted = Counted::ordered(&Limited::ordered(&pool, 100)).allocate::<u8>(4, &stream)?;
        let of_default = DevicePool::default_of(&context)?.allocate::<u8>(5, &stream)?;
        let expected = [
            (memory("DeviceMemory"), 1, 1),
            (memory("DevicePool"), 2, 9),
            (memory("ManagedMemory"), 1, 3),
            (memory("PinnedMemory"), 1, 2),
        ];
        assert_eq!(totals(&leaks), expected);
        assert_eq!(leaks.report().bytes(), 15);
        drop((plain, pinned, managed, counted, of_default));
        leaks.assert_none();
    }

    fn a_holder_keeps_an_object_on_the_list(driver) {
        let leaks = Leaks::track(driver);
        let buffer = {
            let context = driver.device(0)?.context()?;
            let stream = context.stream()?;
            DevicePool::new(&context)?.zeroed::<u8>(64, &stream)?
        };
        let kinds: Vec<Kind> = totals(&leaks).into_iter().map(|(kind, ..)| kind).collect();
        assert_eq!(kinds, [Kind::Context, Kind::Pool, Kind::Stream, memory("DevicePool")]);
        let report = leaks.report();
        let of_memory = report.alive().iter().find(|alive| alive.kind.is_memory()).ok_or("is alive")?;
        assert_eq!((of_memory.handle, of_memory.bytes, of_memory.device), (buffer.as_raw(), 64, Some(0)));
        drop(buffer);
        leaks.assert_none();
    }

    fn each_tracker_lists_objects_made_after_itself(driver) {
        let before = driver.device(0)?.context()?;
        let outer = Leaks::track(driver);
        let first = before.stream()?;
        let inner = Leaks::track_with_backtraces(driver);
        let second = before.stream()?;
        assert_eq!((outer.report().len(), inner.report().len()), (2, 1));
        drop(inner);
        assert_eq!(outer.report().len(), 2);
        drop((first, second));
        outer.assert_none();
        drop(outer);
        let untracked = before.stream()?;
        let later = Leaks::track(driver);
        drop(untracked);
        later.assert_none();
    }

    fn objects_that_outlive_their_tracker_are_forgotten(driver) {
        let context = driver.device(0)?.context()?;
        let first = Leaks::track(driver);
        let kept = context.stream()?;
        assert_eq!(first.report().len(), 1);
        drop(first);
        let second = Leaks::track(driver);
        let listed = context.stream()?;
        drop(kept);
        assert_eq!(totals(&second), [(Kind::Stream, 1, 0)]);
        drop(listed);
        second.assert_none();
    }

    /// Handles of other code are not listed, and neither is a default stream or a device's own pool.
    fn objects_of_other_code_are_not_listed(driver) {
        let context = driver.device(0)?.context()?;
        let (theirs, pool) = (context.stream()?, DevicePool::new(&context)?);
        let memory = pool.zeroed::<u8>(16, &theirs)?;
        theirs.synchronize()?;
        let leaks = Leaks::track(driver);
        // SAFETY: what the handles name outlives the values.
        let foreign = unsafe {
            let owner = Context::borrow_raw(driver, context.as_raw())?;
            (Stream::borrow_raw(&context, theirs.as_raw())?, Buffer::<u8>::borrowed(memory.as_raw(), 16, &context)?, owner)
        };
        let own = (DevicePool::default_of(&context)?, DevicePool::current(&context)?, context.legacy_stream());
        leaks.assert_none();
        drop((foreign, own));
    }

    fn a_backtrace_names_the_creator(driver) {
        let leaks = Leaks::track_with_backtraces(driver);
        let context = made_for_the_test(driver)?;
        let report = leaks.report();
        let made = report.alive()[0].made.as_ref().ok_or("is tracked")?;
        let (short, long) = (report.to_string(), format!("{report:#}"));
        assert!(long.starts_with(&short) && long.contains(&made.to_string()), "{long}");
        assert!(!short.contains("made by"));
        #[cfg(debug_assertions)]
        assert!(long.contains("made_for_the_test"), "{long}");
        drop(context);
    }

    /// Tracking asks the driver nothing.
    fn tracking_makes_no_driver_call(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        drop(stream.record()?);
        budget(driver, &[(warploom::Function::cuEventRecord, 1)], || -> TestResult {
            let leaks = Leaks::track(driver);
            let event = stream.record()?;
            assert_eq!(totals(&leaks), [(Kind::Event, 1, 0)]);
            drop(event);
            leaks.assert_none();
            Ok(())
        })?;
    }

    fn created_contexts_are_listed(driver) {
        let leaks = Leaks::track(driver);
        let context = driver.device(0)?.create_context(ContextOptions::new())?;
        assert_eq!(totals(&leaks), [(Kind::Context, 1, 0)]);
        context.close()?;
        leaks.assert_none();
    }

    fn a_resource_of_ones_own_is_listed_by_its_type(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let slab = Arc::new(Slab { pool: DevicePool::new(&context)?.resource() });
        let leaks = Leaks::track(driver);
        let buffer = slab.allocate::<u8>(7, &stream)?;
        assert_eq!(totals(&leaks), [(memory(std::any::type_name::<Slab>()), 1, 7)]);
        drop(buffer);
        leaks.assert_none();
    }
}

#[inline(never)]
fn made_for_the_test(driver: &Driver) -> Result<Context> {
    driver.device(0)?.context()
}

struct Slab {
    pool: Arc<dyn StreamOrdered>,
}

// SAFETY: hands on what the pool gives, and gives it back.
unsafe impl StreamOrdered for Slab {
    fn context(&self) -> &Context {
        self.pool.context()
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        self.pool.allocate_raw(bytes, stream)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.pool.deallocate_raw(address, bytes, stream) }
    }
}

#[test]
fn devices_are_told_apart_and_drivers_do_not_see_each_other() -> TestResult {
    let (_machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Threads)?;
    let (_other_machine, other) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (leaks, others) = (Leaks::track(&driver), Leaks::track(&other));
    let context = driver.device(1)?.context()?;
    let expected = "1 thing is alive\nwhat     device  count  bytes\ncontext       1      1      -";
    assert_eq!(leaks.report().to_string(), expected);
    assert_eq!(others.report().to_string(), "nothing is alive");
    let both = [driver.device(0)?.context()?, context];
    let devices: Vec<u32> = leaks.report().totals().iter().filter_map(|total| total.device).collect();
    assert_eq!(devices, [0, 1]);
    drop(both);
    leaks.assert_none();
    Ok(())
}

#[test]
#[should_panic(expected = "1 thing is alive")]
fn an_assertion_fails_with_the_report() {
    let driver = Driver::open(&Machine::preset("h200").expect("is a preset")).expect("is a driver");
    let leaks = Leaks::track(&driver);
    let _context = driver.device(0).and_then(|device| device.context()).expect("there is one");
    leaks.assert_none();
}

#[test]
fn objects_that_could_not_be_made_are_not_listed() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let leaks = Leaks::track(&driver);
    let failing =
        ["cuMemAllocFromPoolAsync", "cuMemAlloc_v2", "cuStreamCreate*", "cuEventRecord", "cuMemPoolSetAttribute"];
    for function in failing.into_iter().chain(["cuDevicePrimaryCtxRetain", "cuCtxGetId"]) {
        let rule = Rule::on(Calls::named(function)?).fail(CUresult::CUDA_ERROR_UNKNOWN);
        let _scope = machine.inject(Plan::new().rule(rule))?;
        let made = [
            pool.allocate::<u8>(1, &stream).map(drop),
            DeviceMemory::new(&context).allocate::<u8>(1).map(drop),
            context.stream().map(drop),
            stream.record().map(drop),
            DevicePool::new(&context).map(drop),
            driver.device(0)?.context().map(drop),
        ];
        assert!(made.iter().any(|made| made.is_err()), "{function}");
        leaks.assert_none();
    }
    Ok(())
}

#[test]
fn threads_that_make_and_end_things_leave_nothing_on_the_list() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let leaks = Leaks::track(&driver);
    std::thread::scope(|scope| {
        let work = || -> TestResult {
            let context = driver.device(0)?.context()?;
            let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
            for _ in 0..100 {
                drop((pool.allocate::<u8>(100, &stream)?, stream.record()?));
            }
            Ok(())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || work().is_ok())).collect();
        assert!(threads.into_iter().all(|thread| thread.join().is_ok_and(|done| done)));
    });
    leaks.assert_none();
    Ok(())
}
