//! Misuse of cached memory, found by a machine that checks although the driver never saw the memory freed.
#![expect(unsafe_code, reason = "uses addresses of buffers that were dropped")]

use warploom::{Cached, Context, DevicePool, Driver, Stream};
use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, Machine, Mode, Order};
use warploom_testkit::{ASYNCHRONOUS, TestResult, open};

/// A machine that checks, its cache, and two streams.
struct Stage {
    machine: Machine,
    driver: Driver,
    context: Context,
    cache: Cached,
    stream: Stream,
    other: Stream,
}

impl Stage {
    fn new(mode: Mode) -> TestResult<Stage> {
        let (machine, driver) = open(Topology::preset("h200")?, mode)?;
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        Ok(Stage { machine, driver, context, cache, stream, other })
    }

    /// Fills memory by its address.
    fn fill(&self, address: u64, bytes: usize, stream: &Stream) -> TestResult {
        // SAFETY: on a simulated machine, the address is only looked up.
        Ok(unsafe { self.driver.cuMemsetD8Async(address, 1, bytes, stream.as_raw()) }?)
    }

    fn found(&self) -> TestResult<Vec<FindingKind>> {
        self.context.synchronize()?;
        Ok(self.machine.take_findings().into_iter().map(|finding| finding.kind).collect())
    }
}

#[test]
fn a_use_after_a_drop_is_found_on_each_stream() -> TestResult {
    for mode in ASYNCHRONOUS {
        let stage = Stage::new(*mode)?;
        let kept = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
        let address = stage.cache.zeroed::<u8>(1000, &stage.stream)?.as_raw();
        assert_eq!(stage.found()?, []);
        for stream in [&stage.stream, &stage.other] {
            stage.fill(address + 8, 100, stream)?;
            let text = stage.machine.findings().iter().map(ToString::to_string).collect::<String>();
            assert!(text.contains(", which the program's own allocator (call "), "{text}");
            let found = stage.found()?;
            let [FindingKind::UseAfterFree { allocation, bytes, missing: None, free, .. }] = &found[..] else {
                panic!("{mode:?}: {found:?}")
            };
            assert_eq!((allocation.address, allocation.bytes, bytes), (address, 1000, &(8..108)));
            assert_eq!(free.stream, allocation.made.stream);
        }
        drop(kept);
    }
    Ok(())
}

#[test]
fn work_that_a_drop_does_not_know_is_found() -> TestResult {
    let stage = Stage::new(Mode::Deterministic(Order::Lazy))?;
    let buffer = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
    stage.other.wait_for(&stage.stream)?;
    // By its address: the buffer does not know of this use, so its free does not wait for it.
    stage.fill(buffer.as_raw(), 1000, &stage.other)?;
    drop(buffer);
    let found = stage.found()?;
    assert!(matches!(found[..], [FindingKind::UseAfterFree { missing: Some(_), .. }]), "{found:?}");
    Ok(())
}

#[test]
fn a_use_by_the_next_owner_races_with_the_last() -> TestResult {
    let stage = Stage::new(Mode::Deterministic(Order::Lazy))?;
    let first = stage.cache.zeroed::<u8>(1000, &stage.stream)?.as_raw();
    let again = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
    assert_eq!(again.as_raw(), first);
    stage.fill(first, 10, &stage.other)?;
    let found = stage.found()?;
    assert!(matches!(found[..], [FindingKind::UseBeforeAllocation { .. }, FindingKind::Race { .. }]), "{found:?}");
    Ok(())
}

#[test]
fn memory_that_is_reused_is_uninitialised() -> TestResult {
    let stage = Stage::new(Mode::Deterministic(Order::Eager))?;
    drop(stage.cache.zeroed::<u8>(1000, &stage.stream)?);
    let mut again = stage.cache.allocate::<u8>(1000, &stage.stream)?;
    again.slice_mut(..400)?.fill(1, &stage.stream)?;
    again.download(&stage.stream)?;
    let found = stage.found()?;
    let [FindingKind::UninitialisedRead { allocation, bytes, total: 600, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((allocation.address, allocation.bytes, bytes), (again.as_raw(), 1000, &(400..1000)));
    Ok(())
}

#[test]
fn an_access_beyond_a_block_is_found_within_its_segment() -> TestResult {
    let stage = Stage::new(Mode::Deterministic(Order::Eager))?;
    let buffer = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
    stage.fill(buffer.as_raw() + 990, 20, &stage.stream)?;
    let found = stage.found()?;
    let [FindingKind::OutOfBounds { allocation, wanted, outside: 10, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((allocation.address, wanted), (buffer.as_raw(), &(1000..1010)));
    Ok(())
}
