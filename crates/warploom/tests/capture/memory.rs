//! Allocation and freeing during a capture.

use warploom::capture::{Global, Relaxed, ThreadLocal};
use warploom::{
    Buffer, CaptureError, DeviceMemory, DevicePool, Driver, Error, Function, GraphDef, GraphError, GraphPool,
    ManagedPool, MemoryError, OrderedResource, PinnedPool, Stream,
};
use warploom_testkit::{TestResult, budget, driver_tests};

use crate::spy::Spy;
use crate::support::Stage;

driver_tests! {
    /// S4.18: dropping a buffer whose stream is captured adds no node and spoils nothing; it is freed when
    /// the capture ends, on that stream, in the order in which buffers were dropped.
    fn a_buffer_that_is_dropped_while_its_stream_is_captured_is_freed_at_the_end(driver) {
        let stage = Stage::new(driver)?;
        let spy = Spy::on(&stage.pool);
        let (first, second) = (spy.zeroed::<u8>(64, &stage.stream)?, spy.zeroed::<u8>(64, &stage.stream)?);
        let addresses = [second.as_raw(), first.as_raw()];
        let capture = stage.stream.capture(ThreadLocal)?;
        drop(second);
        first.close()?;
        assert!(spy.freed().is_empty());
        assert!(capture.is_valid()?);
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 0);
        let freed = spy.freed();
        assert_eq!(freed.iter().map(|(address, _)| *address).collect::<Vec<_>>(), addresses);
        assert!(freed.iter().all(|(_, on)| *on == stage.stream));
        stage.stream.synchronize()?;
        assert_eq!(stage.pool.statistics()?.used, 0);
    }

    /// S4.18: the same for a capture that is dropped, and for a buffer whose free was ordered onto the
    /// captured stream.
    fn a_dropped_capture_frees_deferred_memory(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(64, &stage.other)?;
        buffer.set_free_stream(&stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        drop(buffer);
        assert_ne!(stage.pool.statistics()?.used, 0);
        drop(capture);
        stage.stream.synchronize()?;
        assert_eq!(stage.pool.statistics()?.used, 0);
    }

    /// S4.18: in no mode does a drop invalidate a capture: neither of memory on other streams, nor of memory
    /// that is freed at once, nor of pools.
    fn no_drop_spoils_a_capture(driver) {
        let stage = Stage::new(driver)?;
        let plain = DeviceMemory::new(&stage.context).allocate::<u8>(64)?;
        let elsewhere = stage.pool.zeroed::<u8>(64, &stage.other)?;
        let mut shared = stage.pool.zeroed::<u8>(64, &stage.other)?;
        shared.fill(1, &stage.stream)?;
        let doomed = DevicePool::new(&stage.context)?;
        let capture = stage.stream.capture(Global)?;
        drop((plain, elsewhere, shared, doomed));
        assert!(capture.is_valid()?);
        assert_eq!(capture.end()?.node_count()?, 0);
        stage.context.synchronize()?;
        assert_eq!(stage.pool.statistics().map(|held| held.used), Ok(0));
    }

    /// S4.18: a free on another stream still comes after what the captured stream had before.
    fn a_free_elsewhere_waits_for_work_before_the_capture(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u8>(1 << 20, &stage.other)?;
        buffer.fill(1, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let waits = [(Function::cuStreamWaitEvent, 1), (Function::cuMemFreeAsync, 1)];
        let calm = [(Function::cuThreadExchangeStreamCaptureMode, 2)];
        budget(driver, &[&calm[..], &waits[..]].concat(), || drop(buffer));
        assert!(capture.is_valid()?);
        capture.end()?;
    }

    /// The first use of memory on another stream waits for the work of its own stream outside the capture.
    fn memory_of_a_captured_stream_is_used_elsewhere(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.upload(&[5_u8; 64], &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        buffer.slice_mut(..1)?.fill(6, &stage.other)?;
        assert_eq!(buffer.download(&stage.other)?[..2], [6, 5]);
        assert!(capture.is_valid()?);
        assert_eq!(capture.end()?.node_count()?, 0);
    }

    /// S4.25: allocating from an ordinary pool on a captured stream is refused and names the graph pool.
    fn ordinary_pools_do_not_allocate_on_captured_streams(driver) {
        let stage = Stage::new(driver)?;
        let (pinned, managed) = (PinnedPool::new(&stage.context)?, ManagedPool::new(&stage.context)?);
        let buffer = stage.pool.zeroed::<u8>(64, &stage.stream)?;
        let spy = Spy::on(&stage.pool);
        let capture = stage.stream.capture(Relaxed)?;
        budget(driver, &[], || {
            let refused = |resource: &'static str| Some(Error::from(CaptureError::OrdinaryPool { resource }));
            assert_eq!(stage.pool.allocate::<u8>(64, &capture).err(), refused("DevicePool"));
            assert_eq!(stage.pool.zeroed::<u8>(64, &capture).err(), refused("DevicePool"));
            assert_eq!(stage.pool.upload(&[1_u8], &capture).err(), refused("DevicePool"));
            assert_eq!(OrderedResource::allocate::<u8>(&pinned, 64, &capture).err(), refused("PinnedPool"));
            assert_eq!(OrderedResource::allocate::<u8>(&managed, 64, &capture).err(), refused("ManagedPool"));
            assert!(matches!(
                spy.allocate::<u8>(64, &capture),
                Err(Error::Capture(CaptureError::OrdinaryPool { .. }))
            ));
            assert_eq!(buffer.duplicate(&capture).err(), refused("DevicePool"));
        });
        let text = CaptureError::OrdinaryPool { resource: "DevicePool" }.to_string();
        assert!(text.contains("GraphPool"), "{text}");
        assert!(capture.is_valid()?);
        assert_eq!(capture.end()?.node_count()?, 0);
    }

    /// S4.25: allocating from the graph pool on a stream that is not captured is refused.
    fn the_graph_pool_allocates_on_captured_streams_alone(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        budget(driver, &[], || {
            assert_eq!(pool.allocate::<u8>(64, &stage.stream).err(), Some(CaptureError::NotCaptured.into()));
        });
        let capture = stage.stream.capture(Relaxed)?;
        assert_eq!(pool.zeroed::<u8>(64, &stage.other).err(), Some(CaptureError::NotCaptured.into()));
        assert_eq!(pool.allocate::<u8>(0, &capture).err(), Some(Error::Memory(MemoryError::EmptyBuffer)));
        let huge = pool.allocate::<u64>(usize::MAX, &capture).err();
        assert!(matches!(huge, Some(Error::Memory(MemoryError::TooLarge { .. }))));
        let buffer = budget(driver, &[(Function::cuMemAllocAsync, 1)], || pool.allocate::<u8>(64, &capture))?;
        assert_eq!(buffer.len(), 64);
        assert_eq!(capture.end()?.node_count()?, 1);
    }

    /// S4.18: memory of a graph is freed in a capture only by an explicit call.
    fn memory_of_a_graph_is_freed_by_an_explicit_call_alone(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        let capture = stage.stream.capture(ThreadLocal)?;
        let dropped = pool.zeroed::<u8>(64, &capture)?;
        let closed = pool.zeroed::<u8>(64, &capture)?;
        let kept = pool.allocate::<u8>(64, &capture)?;
        budget(driver, &[], || drop(dropped));
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || closed.close())?;
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 6, "three allocations, two fills, a free");
        assert!(graph.is_accounted()?);
        assert_eq!(kept.close(), Err(CaptureError::GraphMemory.into()), "the capture is over");
    }

    /// Memory of a graph is used in the capture that it was allocated in, and nowhere else, not even in a
    /// later capture of the same stream.
    fn memory_of_a_graph_stays_in_its_capture(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        let capture = stage.stream.capture(Relaxed)?;
        let mut scratch = pool.allocate::<u8>(64, &capture)?;
        scratch.fill(1, &capture)?;
        let refused = Err(CaptureError::GraphMemory.into());
        assert_eq!(scratch.fill(1, &stage.other), refused);
        let copy = scratch.duplicate(&capture)?;
        let graph = capture.end()?;
        assert_eq!(graph.node_count()?, 4);
        budget(driver, &[], || {
            assert_eq!(scratch.fill(1, &stage.stream), refused);
            assert_eq!(copy.download(&stage.stream).map(drop), refused);
        });
        let later = stage.stream.capture(Relaxed)?;
        assert_eq!(scratch.fill(1, &later), refused);
        assert_eq!(later.end()?.node_count()?, 0);
        assert_eq!(copy.close(), refused);
    }

    /// A stream of the capture that is in no order with the allocation is made to wait for it.
    fn memory_of_a_graph_is_allocated_before_its_use_on_a_fork(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        let mut result = stage.pool.zeroed::<u32>(64, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let forks = capture.fork(1)?;
        let mut scratch = pool.allocate::<u32>(64, &capture)?;
        scratch.fill(7, &forks[0])?;
        budget(driver, &[(Function::cuMemsetD32Async, 1)], || scratch.slice_mut(..8)?.fill(8, &forks[0]))?;
        capture.join(forks)?;
        scratch.copy_to(&mut result, &capture)?;
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || scratch.close())?;
        let exec = capture.end()?.instantiate()?;
        for _ in 0..3 {
            exec.launch(&stage.stream)?;
        }
        assert_eq!(result.download(&stage.stream)?[6..10], [8, 8, 7, 7]);
    }

    /// The stream that frees memory of a graph is made to wait for all that used it.
    fn memory_of_a_graph_is_freed_after_its_use_on_a_fork(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        let mut result = stage.pool.zeroed::<u32>(64, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let mut scratch = pool.allocate::<u32>(64, &capture)?;
        let forks = capture.fork(2)?;
        budget(driver, &[(Function::cuMemsetD32Async, 1)], || scratch.fill(7, &forks[0]))?;
        forks[1].stream().wait_for(forks[0].stream())?;
        scratch.copy_to(&mut result, &forks[1])?;
        scratch.close()?;
        capture.join(forks)?;
        let exec = capture.end()?.instantiate()?;
        for _ in 0..3 {
            exec.launch(&stage.stream)?;
        }
        assert_eq!(result.download(&stage.stream)?, [7; 64]);
    }

    /// Allocated and freed on a fork, and used elsewhere; the order that there is costs no call.
    fn memory_of_a_graph_is_used_beside_the_fork_that_allocates_it(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        let capture = stage.stream.capture(Relaxed)?;
        let forks = capture.fork(2)?;
        let mut scratch = pool.allocate::<u32>(64, &forks[0])?;
        scratch.slice_mut(..8)?.fill(1, &forks[1])?;
        let waits = [(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)];
        let used = [&waits[..], &[(Function::cuMemsetD32Async, 1)]].concat();
        let capturing = capture.stream().clone();
        budget(driver, &used, || scratch.slice_mut(8..)?.fill(2, &capturing))?;
        // The fork comes after one of the two, so that it waits for the other.
        forks[0].stream().wait_for(forks[1].stream())?;
        let freed = [&waits[..], &[(Function::cuMemFreeAsync, 1)]].concat();
        budget(driver, &freed, || scratch.close())?;
        capture.join(forks)?;
        let exec = capture.end()?.instantiate()?;
        exec.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    /// A stream whose uses are declared, and made by other code, is waited for even if it was before.
    fn declared_uses_of_memory_of_a_graph_come_before_its_free(driver) {
        let stage = Stage::new(driver)?;
        let capture = stage.stream.capture(Relaxed)?;
        let scratch = GraphPool::new(&stage.context).allocate::<u32>(64, &capture)?;
        let forks = capture.fork(1)?;
        scratch.used_by(&forks[0])?;
        capture.stream().wait_for(forks[0].stream())?;
        raw_fill(driver, &scratch, forks[0].stream())?;
        scratch.close()?;
        capture.join(forks)?;
        capture.end()?.instantiate()?.launch(&stage.stream)?;
        stage.stream.synchronize()?;
    }

    fn memory_of_graphs_is_counted_and_trimmed(driver) {
        let stage = Stage::new(driver)?;
        let pool = GraphPool::new(&stage.context);
        pool.trim()?;
        pool.reset_high_marks()?;
        let held = pool.statistics()?;
        assert_eq!((held.used, held.used_high, held.reserved, held.reserved_high), (0, 0, 0, 0));
        assert_eq!(pool.context(), &stage.context);
        assert!(format!("{pool:?}").contains("GraphPool"));
    }

    /// A captured graph that allocates memory is launched repeatedly, and is not copied.
    fn a_graph_that_allocates_is_launched_and_not_copied(driver) {
        let stage = Stage::new(driver)?;
        let mut buffer = stage.pool.zeroed::<u32>(4, &stage.stream)?;
        let capture = stage.stream.capture(Relaxed)?;
        let mut scratch = GraphPool::new(&stage.context).allocate::<u32>(4, &capture)?;
        scratch.fill(7, &capture)?;
        scratch.copy_to(&mut buffer, &capture)?;
        scratch.close()?;
        let graph = GraphDef::from(capture.end()?);
        let refused = || Err(GraphError::NotCopyable { kind: "memory" }.into());
        budget(driver, &[], || assert_eq!(graph.try_clone().map(drop), refused()));
        let whole = GraphDef::new(&stage.context)?;
        assert_eq!(whole.entry().embed(&graph).map(drop), refused());
        let capture = stage.stream.capture(Relaxed)?;
        assert_eq!(capture.embed(&graph), refused());
        drop(capture);
        let exec = graph.instantiate()?;
        for _ in 0..3 {
            buffer.zero(&stage.stream)?;
            exec.launch(&stage.stream)?;
            assert_eq!(buffer.download(&stage.stream)?, [7; 4]);
        }
    }
}

/// Fills a buffer as other code would.
#[expect(unsafe_code, reason = "calls the driver")]
fn raw_fill(driver: &Driver, buffer: &Buffer<u32>, stream: &Stream) -> TestResult {
    // SAFETY: the buffer has as many values, and the use on the stream was declared.
    Ok(unsafe { driver.cuMemsetD32Async(buffer.as_raw(), 7, buffer.len(), stream.as_raw()) }?)
}
