//! Limits, memory that is given back, and memory that runs out below.

use warploom::{CacheOptions, Cached, DevicePool, Error, Limited, MemoryError};
use warploom_testkit::{budget, driver_tests};

driver_tests! {
    fn a_limit_counts_the_bytes_taken_from_below(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::with(&DevicePool::new(&context)?, CacheOptions::new().limit(8 << 20));
        let first = cache.allocate::<u8>(6 << 20, &stream)?;
        let over = Error::Memory(MemoryError::OverLimit { asked: 3 << 20, used: 6 << 20, limit: 8 << 20 });
        budget(driver, &[], || assert_eq!(cache.allocate::<u8>(3 << 20, &stream).map(drop), Err(over)));
        let _second = cache.allocate::<u8>(1 << 20, &stream)?;
        drop(first);
        // The 6 MiB are given back for it.
        let _third = cache.allocate::<u8>((6 << 20) - 4096, &stream)?;
        assert!(cache.statistics().reserved_peak <= 8 << 20);
    }

    fn unused_memory_is_given_back_and_the_allocation_is_tried_again(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let below = Limited::ordered(&DevicePool::new(&context)?, 40 << 20);
        let cache = Cached::new(&below);
        let kept = cache.allocate::<u8>(32 << 20, &stream)?;
        let (one, two) = (cache.allocate::<u8>(2 << 20, &stream)?, cache.allocate::<u8>(2 << 20, &other)?);
        drop((one, two));
        let large = cache.allocate::<u8>(8 << 20, &other)?;
        assert_eq!((cache.statistics().retries, below.used()), (1, 40 << 20));
        let refused = cache.allocate::<u8>(1 << 20, &stream).map(drop);
        assert!(refused.is_err_and(|error| error.is_out_of_memory()));
        drop((kept, large));
        assert_eq!((cache.statistics().retries, cache.statistics().in_use), (2, 0));
        assert_eq!(cache.release_unused()?, 40 << 20);
        assert_eq!(below.used(), 0);
    }

    /// Memory goes back in the order of the streams that freed it, also if several had parts of it.
    fn released_memory_is_freed_after_the_work_of_all_streams(driver) {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let pool = DevicePool::new(&context)?;
        let cache = Cached::new(&pool);
        let mut parts = vec![cache.allocate::<u8>(1 << 20, &stream)?, cache.allocate::<u8>(512 << 10, &stream)?];
        parts[0].fill(1, &stream)?;
        parts[1].set_free_stream(&other)?;
        parts[1].fill(2, &other)?;
        drop(parts.pop());
        assert_eq!(cache.release_unused()?, 0, "a part of the segment is in use");
        drop(parts);
        assert_eq!(cache.release_unused()?, 2 << 20);
        assert_eq!((cache.statistics().reserved, cache.statistics().segments), (0, 0));
        context.synchronize()?;
        assert_eq!(pool.statistics()?.used, 0);
        cache.reset_peaks();
        assert_eq!((cache.statistics().reserved_peak, cache.statistics().in_use_peak), (0, 0));
        assert_eq!(cache.release_unused()?, 0);
    }

    fn a_buffer_of_no_bytes_takes_none(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        budget(driver, &[], || -> warploom::Result<()> {
            let empty = cache.allocate::<u8>(0, &stream)?;
            assert_eq!((empty.as_raw(), empty.len()), (0, 0));
            Ok(())
        })?;
        assert_eq!(cache.statistics(), Default::default());
    }

    fn sizes_that_overflow_are_refused(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let cache = Cached::new(&DevicePool::new(&context)?);
        let refused = cache.allocate::<u8>(usize::MAX - 7, &stream).map(drop);
        assert_eq!(refused, Err(MemoryError::TooLarge { len: usize::MAX - 7, element: 1 }.into()));
    }
}
