//! Caches and captures: none hands out or keeps memory of a captured stream.

use warploom::capture::{Global, Relaxed};
use warploom::{Cached, CaptureError, DevicePool, GraphDef};
use warploom_testkit::driver_tests;

driver_tests! {
    /// S4.18: as for every resource but a graph's pool.
    fn a_captured_stream_gets_no_memory_of_a_cache(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        drop(cache.allocate::<u8>(64, &stream)?);
        let capture = stream.capture(Relaxed)?;
        let refused = cache.allocate::<u8>(64, &capture).map(drop);
        assert_eq!(refused, Err(CaptureError::OrdinaryPool { resource: "DevicePool" }.into()));
        assert!(capture.is_valid()?);
        assert_eq!(capture.end()?.node_count()?, 0);
        assert_eq!(cache.statistics().in_use, 0);
    }

    /// S4.18: a buffer that is dropped while its stream is captured comes back at the end, and not before.
    fn a_buffer_that_is_dropped_during_a_capture_comes_back_at_its_end(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let buffer = cache.zeroed::<u8>(4096, &stream)?;
        let (address, capture) = (buffer.as_raw(), stream.capture(Global)?);
        drop(buffer);
        assert_eq!(cache.statistics().in_use, 4096);
        assert!(capture.is_valid()?);
        drop(capture);
        assert_eq!(cache.statistics().in_use, 0);
        assert_eq!(cache.allocate::<u8>(4096, &other)?.as_raw(), address);
    }

    /// Free blocks of a captured stream: another stream waits for the work before the capture; they are not
    /// given back until it is over.
    fn blocks_of_a_captured_stream_are_reused_elsewhere_and_given_back_later(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let small = cache.zeroed::<u8>(4096, &stream)?;
        let address = cache.zeroed::<u8>(4 << 20, &stream)?.as_raw();
        drop(small);
        let capture = stream.capture(Relaxed)?;
        assert_eq!(cache.zeroed::<u8>(4 << 20, &other)?.as_raw(), address);
        assert_eq!(cache.release_unused()?, 4 << 20, "and not the segment that the captured stream has");
        assert!(capture.is_valid()?);
        drop(capture);
        assert_eq!(cache.release_unused()?, 2 << 20);
    }

    /// A cache that ends during a capture of a stream that has its blocks gives them back when that is over.
    fn a_cache_may_end_during_a_capture(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let cache = Cached::new(&pool);
        drop(cache.zeroed::<u8>(4096, &stream)?);
        let capture = stream.capture(Relaxed)?;
        drop(cache);
        assert!(capture.is_valid()?);
        assert_ne!(pool.statistics()?.used, 0);
        drop(capture);
        stream.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
    }

    /// The memory of a captured node is the graph's, and no next buffer's.
    fn memory_that_a_graph_uses_is_not_reused(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let mut buffer = cache.zeroed::<u32>(1024, &stream)?;
        let address = buffer.as_raw();
        let capture = stream.capture(Relaxed)?;
        buffer.fill(7, &capture)?;
        let graph: GraphDef = capture.end()?.into();
        drop(buffer);
        let exec = graph.instantiate()?;
        drop(graph);
        exec.launch(&stream)?;
        let other = cache.zeroed::<u32>(1024, &stream)?;
        assert_ne!(other.as_raw(), address);
        exec.launch(&stream)?;
        assert_eq!(other.download(&stream)?, [0; 1024]);
        drop(exec);
        warploom::graph::reclaim();
    }
}
