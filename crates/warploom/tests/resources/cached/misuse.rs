//! Misuse of cached memory, found by a machine that checks although the driver never saw the memory freed.
#![expect(unsafe_code, reason = "uses addresses of buffers that were dropped")]

use warploom::{Cached, Context, DevicePool, Driver, LaunchConfig, Stream};
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

/// Writes a word at an address, or reads it into the next one.
const TOUCH: &str = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 at, .param .u32 reads)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [at];
    ld.param.u32 %r1, [reads];
    cvta.to.global.u64 %rd2, %rd1;
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r2, 7;
    @%p1 bra WRITE;
    ld.global.u32 %r2, [%rd2];
    st.global.u32 [%rd2+4], %r2;
    ret;
WRITE:
    st.global.u32 [%rd2], %r2;
    ret;
}
";

#[test]
fn a_kernel_that_uses_a_kept_address_is_found() -> TestResult {
    for mode in ASYNCHRONOUS {
        let stage = Stage::new(*mode)?;
        let touch = stage.context.load(TOUCH)?.kernel("touch")?;
        let launch = |address: u64, reads: u32, stream: &Stream| {
            // SAFETY: on a simulated machine, a wrong address is found.
            unsafe { touch.launch(stream, &LaunchConfig::new(1, 1), (address, reads)) }
        };
        let address = stage.cache.zeroed::<u8>(1000, &stage.stream)?.as_raw();
        stage.stream.synchronize()?;
        for stream in [&stage.stream, &stage.other] {
            launch(address + 8, 0, stream)?;
            let found = stage.found()?;
            let [FindingKind::UseAfterFree { bytes, missing: None, .. }] = &found[..] else {
                panic!("{mode:?}: {found:?}")
            };
            assert_eq!(*bytes, 8..12);
        }
        // In order before the drop, and so before the next owner.
        let buffer = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
        launch(buffer.as_raw(), 0, &stage.stream)?;
        drop(buffer);
        let again = stage.cache.zeroed::<u8>(1000, &stage.stream)?;
        assert_eq!(again.as_raw(), address);
        assert_eq!(stage.found()?, [], "{mode:?}");
        // Not in order with the drop, which does not know of it.
        stage.other.wait_for(&stage.stream)?;
        launch(address, 0, &stage.other)?;
        drop(again);
        let found = stage.found()?;
        assert!(matches!(found[..], [FindingKind::UseAfterFree { missing: Some(_), .. }]), "{mode:?}: {found:?}");
        // The next owner reads before it has written.
        let again = stage.cache.allocate::<u8>(1000, &stage.stream)?;
        launch(again.as_raw(), 1, &stage.stream)?;
        let found = stage.found()?;
        assert!(matches!(found[..], [FindingKind::UninitialisedRead { total: 4, .. }]), "{mode:?}: {found:?}");
    }
    Ok(())
}
