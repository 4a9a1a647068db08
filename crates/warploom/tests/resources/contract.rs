//! The contract of every resource. One joins with a line in `contract!` below: its name, its kind, its
//! constructor, and the driver calls that allocate and free.

use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::Arc;

use warploom::{
    Buffer, Cached, Context, Counted, DeviceMemory, DevicePool, Driver, Error, Function, Host, Limited, Logged,
    ManagedMemory, ManagedPool, MemoryError, OrderedResource, PinnedMemory, PinnedPool, Result, Stream, StreamOrdered,
    Synchronous, SynchronousResource, VirtualMemory,
};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::{TestResult, assert_sound, budget, call, driver_tests, open};

use crate::cached::SECOND_ATTEMPT;
use crate::sweeps::{PINNED_POOL_END, everywhere};

/// A resource of either kind.
enum Source {
    Ordered(Arc<dyn StreamOrdered>),
    Synchronous(Arc<dyn Synchronous>),
}

impl Source {
    fn ordered(resource: impl OrderedResource) -> Source {
        Source::Ordered(resource.resource())
    }

    fn synchronous(resource: impl SynchronousResource) -> Source {
        Source::Synchronous(resource.resource())
    }

    fn allocate(&self, len: usize, stream: &Stream) -> Result<Buffer> {
        match self {
            Source::Ordered(resource) => resource.allocate(len, stream),
            Source::Synchronous(resource) => resource.allocate(len),
        }
    }
}

type Make = fn(&Context) -> Result<Source>;

fn setup(driver: &Driver, make: Make) -> TestResult<(Source, Stream)> {
    let context = driver.device(0)?.context()?;
    Ok((make(&context)?, context.stream()?))
}

fn hands_out_aligned_memory_that_nothing_else_shares(driver: &Driver, make: Make) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    let mut buffers = Vec::new();
    for (len, byte) in [1, 255, 256, 257, 4096, 1 << 20, 1].into_iter().zip(1..) {
        let mut buffer = source.allocate(len, &stream)?;
        assert!(buffer.as_raw().is_multiple_of(256), "{buffer:?}");
        buffer.fill(byte, &stream)?;
        buffers.push((buffer, byte));
    }
    let places: BTreeMap<u64, u64> =
        buffers.iter().map(|(buffer, _)| (buffer.as_raw(), buffer.as_raw() + buffer.len() as u64)).collect();
    assert_eq!(places.len(), buffers.len());
    assert!(places.values().zip(places.keys().skip(1)).all(|(end, next)| end <= next), "{places:x?}");
    for (buffer, byte) in &buffers {
        assert_eq!(buffer.download(&stream)?, vec![*byte; buffer.len()]);
    }
    Ok(())
}

fn refuses_too_many_bytes_before_the_driver_is_asked(driver: &Driver, make: Make) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    budget(driver, &[], || {
        let too_large = Error::Memory(MemoryError::TooLarge { len: usize::MAX, element: 1 });
        assert_eq!(source.allocate(usize::MAX, &stream).map(drop), Err(too_large));
    });
    Ok(())
}

/// An empty buffer is like any other, without a driver call in all its life.
fn has_empty_buffers(driver: &Driver, make: Make) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    budget(driver, &[], || -> warploom::Result<()> {
        let mut empty = source.allocate(0, &stream)?;
        assert_eq!((empty.len(), empty.is_empty(), empty.size_in_bytes(), empty.as_raw()), (0, true, 0, 0));
        empty.fill(1, &stream)?;
        empty.zero(&stream)?;
        empty.copy_from_host(&[], &stream)?;
        assert!(empty.download(&stream)?.is_empty());
        let mut copy = empty.duplicate(&stream)?;
        empty.copy_to(&mut copy, &stream)?;
        assert_eq!(copy.chunks(3)?.count(), 0);
        drop(copy);
        empty.close()
    })?;
    Ok(())
}

fn runs_out_of_memory_without_harm(driver: &Driver, make: Make) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    let error = source.allocate(1 << 60, &stream).map(drop).expect_err("more than there is");
    assert!(error.is_out_of_memory() && !error.is_context_fatal(), "{error}");
    let mut buffer = source.allocate(64, &stream)?;
    buffer.fill(7, &stream)?;
    assert_eq!(buffer.download(&stream)?, [7; 64]);
    Ok(())
}

/// Checks are on: a use that is not ordered before the free, or after the allocation, fails the test.
fn is_used_on_two_streams_and_dropped_on_another_thread(driver: &Driver, make: Make) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    let other = stream.context().stream()?;
    let (mut first, mut second) = (source.allocate(4096, &stream)?, source.allocate(4096, &other)?);
    first.fill(1, &stream)?;
    other.wait(&stream.record()?)?;
    first.copy_to(&mut second, &other)?;
    std::thread::scope(|scope| scope.spawn(|| drop(first)).join()).map_err(|_| "the drop panicked")?;
    assert_eq!(second.download(&other)?, [1; 4096]);
    // The next owner of the memory does not affect work enqueued before.
    let mut third = source.allocate(4096, &stream)?;
    third.fill(3, &stream)?;
    drop((second, third));
    stream.synchronize()?;
    other.synchronize()?;
    Ok(())
}

/// The calls for the current context aside, which the driver needs for memory without a stream.
fn allocates_and_frees_with_as_few_calls_as_it_takes(
    driver: &Driver,
    make: Make,
    [allocate, free]: [&[Function]; 2],
) -> TestResult {
    let (source, stream) = setup(driver, make)?;
    let calls = driver.record_calls();
    let buffer = source.allocate(1000, &stream)?;
    let allocating = calls.take();
    drop(buffer);
    let freeing = calls.take();
    drop(calls);
    let context = [Function::cuCtxGetCurrent, Function::cuCtxSetCurrent];
    let made: Vec<_> =
        allocating.iter().map(|(function, _)| *function).filter(|made| !context.contains(made)).collect();
    assert_eq!(made, allocate);
    assert_eq!(freeing.iter().map(|(function, _)| *function).collect::<Vec<_>>(), free);
    Ok(())
}

/// S4.14, S4.23 for what is current; and that nothing is left of a resource when it is gone.
fn leaves_nothing_behind_and_the_current_context_alone(make: Make) -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = open(Topology::preset("pcie-pair")?, mode)?;
        let (here, there) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
        let stream = here.stream()?;
        let before = machine.census();
        for current in [null_mut(), here.as_raw(), there.as_raw()] {
            call!(driver.cuCtxSetCurrent(current))?;
            let source = make(&here)?;
            let mut buffer = source.allocate(64, &stream)?;
            buffer.zero(&stream)?;
            drop(buffer);
            drop(source.allocate(64, &stream)?);
            drop(source);
            let mut found = null_mut();
            call!(driver.cuCtxGetCurrent(&mut found))?;
            assert_eq!(found, current);
        }
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        stream.synchronize()?;
        assert_eq!(machine.census(), before);
        drop((here, there, stream));
        assert!(machine.leaks().is_empty(), "{:?}", machine.leaks());
        assert_sound(&machine);
    }
    Ok(())
}

fn survives_every_failure(make: Make, tolerated: &[&str]) -> TestResult {
    everywhere(tolerated, |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let source = make(&context)?;
        let mut buffer = source.allocate(64, &stream)?;
        buffer.zero(&stream)?;
        source.allocate(100, &stream)?.close()?;
        Ok(())
    })
}

macro_rules! contract {
    ($($name:ident: $kind:ident($make:expr), $($allocate:ident)+, $($free:ident)* $(, tolerates $tolerated:expr)?;)*) => {$(
        mod $name {
            use super::*;

            fn make(context: &Context) -> Result<Source> {
                let make: fn(&Context) -> Result<_> = $make;
                Ok(Source::$kind(make(context)?))
            }

            driver_tests! {
                fn hands_out_aligned_memory_that_nothing_else_shares(driver) {
                    super::super::hands_out_aligned_memory_that_nothing_else_shares(driver, super::make)?;
                }

                fn refuses_too_many_bytes_before_the_driver_is_asked(driver) {
                    super::super::refuses_too_many_bytes_before_the_driver_is_asked(driver, super::make)?;
                }

                fn has_empty_buffers(driver) {
                    super::super::has_empty_buffers(driver, super::make)?;
                }

                fn runs_out_of_memory_without_harm(driver) {
                    super::super::runs_out_of_memory_without_harm(driver, super::make)?;
                }

                fn is_used_on_two_streams_and_dropped_on_another_thread(driver) {
                    super::super::is_used_on_two_streams_and_dropped_on_another_thread(driver, super::make)?;
                }

                fn allocates_and_frees_with_as_few_calls_as_it_takes(driver) {
                    let calls: [&[Function]; 2] = [&[$(Function::$allocate),+], &[$(Function::$free),*]];
                    super::super::allocates_and_frees_with_as_few_calls_as_it_takes(driver, super::make, calls)?;
                }
            }

            #[test]
            fn leaves_nothing_behind_and_the_current_context_alone() -> TestResult {
                super::leaves_nothing_behind_and_the_current_context_alone(make)
            }

            #[test]
            fn survives_every_failure() -> TestResult {
                let tolerated: &[&[&str]] = &[$($tolerated)?];
                super::survives_every_failure(make, &tolerated.concat())
            }
        }
    )*};
}

contract! {
    device_pool: ordered(DevicePool::new), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    device_default_pool: ordered(DevicePool::default_of), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    pinned_pool: ordered(PinnedPool::new), cuMemAllocFromPoolAsync, cuMemFreeAsync, tolerates PINNED_POOL_END;
    managed_pool: ordered(ManagedPool::new), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    managed_default_pool: ordered(|context| ManagedPool::default_of(context, None)), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    pinned_default_pool: ordered(|context| PinnedPool::default_of(context, Host::Any)), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    device_memory: synchronous(|context| Ok(DeviceMemory::new(context))), cuMemAlloc_v2, cuMemFree_v2;
    pinned_memory: synchronous(|context| Ok(PinnedMemory::new(context))), cuMemHostAlloc, cuMemFreeHost;
    managed_memory: synchronous(ManagedMemory::new), cuMemAllocManaged, cuMemFree_v2;
    virtual_memory: synchronous(VirtualMemory::new),
        cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess, cuMemUnmap cuMemAddressFree cuMemRelease,
        tolerates &["cuCtxGetCurrent", "cuStreamSynchronize"];
    limited: ordered(|context| Ok(Limited::ordered(&DevicePool::new(context)?, 1 << 30))), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    counted: synchronous(|context| Ok(Counted::synchronous(&DeviceMemory::new(context)))), cuMemAlloc_v2, cuMemFree_v2;
    logged: ordered(|context| Ok(Logged::ordered(&DevicePool::new(context)?, "log"))), cuMemAllocFromPoolAsync, cuMemFreeAsync;
    cached: ordered(|context| Ok(Cached::new(&DevicePool::new(context)?))), cuMemAllocFromPoolAsync, , tolerates SECOND_ATTEMPT;
    stacked: synchronous(|context| {
        Ok(Limited::synchronous(&Counted::synchronous(&Logged::synchronous(&PinnedMemory::new(context), "log")), 1 << 30))
    }), cuMemHostAlloc, cuMemFreeHost;
}
