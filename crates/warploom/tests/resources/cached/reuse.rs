//! Reuse of freed blocks: on the same stream, on others, split and coalesced.

use warploom::{CacheOptions, Cached, DevicePool, Function, Limited, OrderedResource, OtherStreams, PinnedPool};
use warploom_testkit::{budget, driver_tests};

use crate::gate::Gate;

driver_tests! {
    /// No driver call, for blocks of each kind and through dynamic dispatch, too.
    fn a_stream_reuses_its_memory_without_a_driver_call(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let limited = Limited::ordered(&cache, 1 << 30);
        for bytes in [1, 4096, 100_000, 4 << 20] {
            let first = cache.allocate::<u8>(bytes, &stream)?.as_raw();
            budget(driver, &[], || -> warploom::Result<()> {
                assert_eq!(cache.allocate::<u8>(bytes, &stream)?.as_raw(), first);
                assert_eq!(limited.allocate::<u8>(bytes, &stream)?.as_raw(), first);
                Ok(())
            })?;
        }
        let statistics = cache.statistics();
        assert_eq!((statistics.misses, statistics.crossings, statistics.in_use), (2, 0, 0));
        assert_eq!(statistics.hits, 10);
    }

    /// One wait for all that the other stream had freed before it.
    fn another_stream_reuses_memory_behind_an_event(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let (mut first, mut second) = (cache.allocate::<u8>(4 << 20, &stream)?, cache.allocate::<u8>(4 << 20, &stream)?);
        first.fill(1, &stream)?;
        second.fill(2, &stream)?;
        let mut addresses = [first.as_raw(), second.as_raw()];
        drop((first, second));
        drop(stream.record()?); // the context has an event from now on
        let calls = [(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)];
        let mut third = budget(driver, &calls, || cache.allocate::<u8>(4 << 20, &other))?;
        let mut fourth = budget(driver, &[], || cache.allocate::<u8>(4 << 20, &other))?;
        third.fill(3, &other)?;
        fourth.fill(4, &other)?;
        let mut reused = [third.as_raw(), fourth.as_raw()];
        addresses.sort_unstable();
        reused.sort_unstable();
        assert_eq!(reused, addresses);
        assert_eq!(third.download(&other)?, vec![3; 4 << 20]);
        assert_eq!(cache.statistics().crossings, 2);
        // Memory that was freed since needs another wait.
        drop(cache.allocate::<u8>(1000, &stream)?);
        let fifth = budget(driver, &calls, || cache.allocate::<u8>(1000, &other))?;
        drop((third, fourth, fifth));
    }

    /// A stream that waited for another before that one took blocks over has to wait again.
    fn blocks_that_were_taken_over_are_waited_for(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second, gone) = (context.stream()?, context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let address = cache.zeroed::<u8>(4 << 20, &gone)?.as_raw();
        drop(cache.zeroed::<u8>(4096, &first)?);
        drop(cache.zeroed::<u8>(4096, &second)?); // waits for the first
        drop(gone);
        drop(cache.zeroed::<u8>(16 << 20, &first)?); // takes the blocks over of the stream that is gone
        let mut buffer = cache.allocate::<u8>(4 << 20, &second)?;
        assert_eq!(buffer.as_raw(), address);
        buffer.fill(1, &second)?;
        second.synchronize()?;
    }

    fn caches_stack(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let below = Cached::new(&DevicePool::new(&context)?);
        let cache = Cached::new(&Limited::ordered(&below, 1 << 30));
        for _ in 0..2 {
            let mut buffers = [cache.zeroed::<u8>(1000, &stream)?, cache.zeroed::<u8>(1000, &stream)?];
            buffers[0].fill(1, &stream)?;
            assert_eq!(buffers[1].download(&stream)?, [0; 1000]);
        }
        assert_eq!(cache.release_unused()?, 2 << 20);
        assert_eq!((below.statistics().in_use, below.release_unused()?), (0, 2 << 20));
    }

    fn idle_streams_are_not_waited_for(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let options = CacheOptions::new().other_streams(OtherStreams::Idle);
        let cache = Cached::with(&DevicePool::new(&context)?, options);
        let mut first = cache.allocate::<u8>(2 << 20, &stream)?;
        let (address, gate) = (first.as_raw(), Gate::close(&stream)?);
        first.fill(1, &stream)?;
        drop(first);
        let second = cache.allocate::<u8>(2 << 20, &other)?;
        assert_ne!(second.as_raw(), address);
        drop(gate);
        stream.synchronize()?;
        let third = budget(driver, &[(Function::cuStreamQuery, 1)], || cache.allocate::<u8>(2 << 20, &other))?;
        assert_eq!(third.as_raw(), address);
    }

    fn streams_that_share_nothing_have_their_own_memory(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let options = CacheOptions::new().other_streams(OtherStreams::Never);
        let cache = Cached::with(&DevicePool::new(&context)?, options);
        let first = cache.allocate::<u8>(2 << 20, &stream)?.as_raw();
        let second = cache.allocate::<u8>(2 << 20, &other)?;
        assert_ne!(second.as_raw(), first);
        assert_eq!(cache.allocate::<u8>(2 << 20, &stream)?.as_raw(), first);
    }

    fn blocks_are_split_and_coalesced(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let quarters = (0..4).map(|_| cache.allocate::<u8>(512 << 10, &stream)).collect::<warploom::Result<Vec<_>>>()?;
        assert_eq!((cache.statistics().segments, cache.statistics().splits, cache.statistics().cached), (1, 3, 0));
        let base = quarters[0].as_raw();
        drop(quarters);
        let half = cache.allocate::<u8>(1 << 20, &stream)?;
        assert_eq!((half.as_raw(), cache.statistics().segments, cache.statistics().merges), (base, 1, 3));
    }

    /// A buffer that is freed in the order of another stream serves that one.
    fn memory_serves_the_stream_that_frees_it(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let cache = Cached::new(&DevicePool::new(&context)?);
        let mut buffer = cache.zeroed::<u8>(4096, &stream)?;
        let address = buffer.as_raw();
        buffer.set_free_stream(&other)?;
        drop(buffer);
        let again = budget(driver, &[], || cache.allocate::<u8>(4096, &other))?;
        assert_eq!(again.as_raw(), address);
    }

    /// The default streams are lanes like others; memory of another thread's goes to the legacy stream.
    fn default_streams_reuse_their_memory(driver) {
        let context = driver.device(0)?.context()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        for stream in [context.legacy_stream(), context.per_thread_stream()] {
            let address = cache.zeroed::<u8>(4 << 20, &stream)?.as_raw();
            let same = if stream == context.legacy_stream() { context.legacy_stream() } else { context.per_thread_stream() };
            assert_eq!(cache.zeroed::<u8>(4 << 20, &same)?.as_raw(), address);
        }
        let buffer = cache.zeroed::<u8>(8 << 20, &context.per_thread_stream())?;
        let address = buffer.as_raw();
        std::thread::spawn(move || drop(buffer)).join().map_err(|_| "the drop panicked")?;
        assert_eq!(cache.zeroed::<u8>(8 << 20, &context.legacy_stream())?.as_raw(), address);
        let theirs = context.per_thread_stream();
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(|| cache.allocate::<u8>(4096, &theirs).map(drop)).join()
        });
        let refused = elsewhere.map_err(|_| "it panicked")?;
        assert_eq!(refused, Err(warploom::StreamError::OtherThread.into()));
    }

    fn page_locked_memory_of_a_cache_is_the_hosts_too(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&PinnedPool::new(&context)?);
        for round in 0..3 {
            let pinned = cache.upload(&[round; 100], &stream)?.into_pinned()?;
            assert_eq!(&pinned[..], [round; 100]);
        }
        assert_eq!(cache.statistics().misses, 1);
    }
}
