//! Ends of caches, buffers, streams and contexts, in any order and on any thread.

use std::sync::Barrier;

use warploom::leaks::{Kind, Leaks};
use warploom::{Cached, ContextError, DevicePool, Error, Function};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::{TestResult, assert_sound, driver_tests, open};

driver_tests! {
    /// A stream that only the cache still holds ends when its blocks are taken over.
    fn blocks_of_a_stream_that_is_gone_are_taken_over(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let leaks = Leaks::track(driver);
        let mut addresses = Vec::new();
        for bytes in [3 << 20, 3 << 20, 4096] {
            let gone = context.stream()?;
            addresses.push(cache.zeroed::<u8>(bytes, &gone)?.as_raw());
        }
        let taken = [cache.zeroed::<u8>(3 << 20, &stream)?, cache.zeroed::<u8>(4096, &stream)?];
        assert!(taken.iter().all(|buffer| addresses.contains(&buffer.as_raw())));
        drop(taken);
        let _large = cache.allocate::<u8>(16 << 20, &stream)?;
        assert_eq!(leaks.report().count(|kind| kind == Kind::Stream), 0, "{}", leaks.report());
    }

    fn buffers_outlive_handles_to_the_cache_and_to_the_pool(driver) {
        let context = driver.device(0)?.context()?;
        let leaks = Leaks::track(driver);
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let cache = Cached::new(&pool);
        let mut buffer = cache.zeroed::<u8>(100, &stream)?;
        drop((cache, pool));
        buffer.fill(3, &stream)?;
        assert_eq!(buffer.download(&stream)?, [3; 100]);
        drop(stream);
        std::thread::spawn(move || drop(buffer)).join().map_err(|_| "the drop panicked")?;
        leaks.assert_none();
    }

    /// A cache of a context that was reset hands out nothing, and gives nothing back.
    fn a_reset_ends_a_cache(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        let leaks = Leaks::track(driver);
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let kept = cache.zeroed::<u8>(100, &stream)?;
        drop(cache.zeroed::<u8>(4 << 20, &stream)?);
        stream.synchronize()?;
        // SAFETY: all work is over, and everything made in the context knows that it is gone.
        #[expect(unsafe_code, reason = "resets a context in which nothing runs")]
        unsafe { device.reset_context() }?;
        let is_stale = |error: &Error| matches!(error, Error::Context(ContextError::Stale { .. }));
        assert!(cache.allocate::<u8>(100, &stream).is_err_and(|error| is_stale(&error)));
        assert!(cache.release_unused().is_err_and(|error| is_stale(&error)));
        let calls = driver.count_calls();
        drop((kept, cache, stream, context));
        assert_eq!(calls.count(Function::cuMemFreeAsync), 0, "the memory went with the context");
        drop(calls);
        leaks.assert_none();
        device.context()?.stream()?.synchronize()?;
    }
}

/// Each thread has a stream, and frees buffers of the others.
#[test]
fn threads_share_a_cache() -> TestResult {
    for mode in [Mode::Threads, Mode::Deterministic(Order::Lazy)] {
        let (machine, driver) = open(Topology::preset("h200")?, mode)?;
        let context = driver.device(0)?.context()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let (barrier, shared) = (Barrier::new(4), std::sync::Mutex::new(Vec::new()));
        let work = |thread: usize| -> warploom::Result<()> {
            let stream = context.stream()?;
            barrier.wait();
            for round in 0..100 {
                let mut buffer = cache.allocate::<u8>(1000 * (1 + (round * 7 + thread) % 9), &stream)?;
                buffer.fill(thread as u8, &stream)?;
                let mut shared = shared.lock().unwrap();
                shared.push(buffer);
                let freed = if shared.len() > 6 { Some(shared.remove(round % 5)) } else { None };
                drop(shared);
                drop(freed);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
        })?;
        shared.lock().unwrap().clear();
        assert_eq!(cache.statistics().in_use, 0);
        cache.release_unused()?;
        assert_eq!(cache.statistics().reserved, 0);
        assert_sound(&machine);
    }
    Ok(())
}
