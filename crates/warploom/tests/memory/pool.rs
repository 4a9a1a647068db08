//! Pools: reuse, statistics, identity, and out of memory.
#![expect(unsafe_code, reason = "borrows memory by its address")]

use std::collections::HashSet;

use warploom::prelude::*;
use warploom::{Buffer, Cached, DeviceMemory, DevicePool, Function, MemoryKind, PoolOptions};
use warploom_testkit::{budget, driver_tests};

driver_tests! {
    fn a_new_pool_holds_nothing(driver) {
        let pool = DevicePool::new(&driver.device(0)?.context()?)?;
        let statistics = pool.statistics()?;
        assert_eq!((statistics.used, statistics.used_high, statistics.reserved), (0, 0, 0));
    }

    fn a_pool_keeps_freed_memory_and_reuses_it(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let first = pool.allocate::<u8>(3 << 20, &stream)?;
        let address = first.as_raw();
        let reserved = pool.statistics()?.reserved;
        assert!(reserved >= 3 << 20);
        drop(first);
        stream.synchronize()?;
        let statistics = pool.statistics()?;
        assert_eq!((statistics.used, statistics.reserved), (0, reserved));
        let second = pool.allocate::<u8>(3 << 20, &stream)?;
        assert_eq!(second.as_raw(), address);
        assert_eq!(pool.statistics()?.reserved_high, reserved);
    }

    fn a_trimmed_pool_gives_its_memory_back(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        drop(pool.allocate::<u8>(5 << 20, &stream)?);
        stream.synchronize()?;
        pool.trim(0)?;
        assert_eq!(pool.statistics()?.reserved, 0);
    }

    fn too_much_is_an_error_that_changes_nothing(driver) {
        let device = driver.device(0)?;
        let context = device.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let before = pool.statistics()?;
        let error = pool.allocate::<u8>(usize::try_from(device.total_memory()?)? + (1 << 30), &stream).expect_err("more than there is");
        assert!(error.is_out_of_memory() && !error.is_context_fatal(), "{error}");
        assert!(error.to_string().starts_with("cuMemAllocFromPoolAsync failed: CUDA_ERROR_OUT_OF_MEMORY (2): "));
        assert_eq!(pool.statistics()?.used, before.used);
        assert_eq!(pool.upload(b"works", &stream)?.download(&stream)?, b"works");
    }

    fn a_clone_is_the_same_pool(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let clone = pool.clone();
        drop(pool);
        let buffer = clone.allocate::<u8>(100, &stream)?;
        assert_eq!(clone.statistics()?.used, buffer.len() as u64);
        drop(buffer);
        budget(driver, &[(Function::cuMemPoolDestroy, 1)], || drop(clone));
    }

    /// MR-7, X-3: a pool is its handle in the driver, also if it is asked for twice.
    fn equal_pools_are_one_pool_of_the_driver(driver) {
        let context = driver.device(0)?.context()?;
        let (first, second) = (DevicePool::new(&context)?, DevicePool::new(&context)?);
        let shared = DevicePool::default_of(&context)?;
        assert_eq!(shared, DevicePool::default_of(&context)?);
        assert_ne!(first, second);
        let all = HashSet::from([first.clone(), second, shared.clone(), first.clone(), DevicePool::default_of(&context)?]);
        assert_eq!(all.len(), 3);
        assert_eq!((first.is_owned(), shared.is_owned()), (true, false));
    }

    /// MR-7: a pool that other processes can import has an identity; others, and those of the driver, have none.
    fn a_pool_that_can_be_shared_has_an_identity(driver) {
        let context = driver.device(0)?.context()?;
        let shareable = || DevicePool::with(&context, PoolOptions::new().shareable());
        let (first, second) = (shareable()?, shareable()?);
        assert_eq!(first.uuid(), Some(first.export()?.uuid()));
        assert_ne!(first.uuid(), second.uuid());
        assert_eq!((DevicePool::new(&context)?.uuid(), DevicePool::default_of(&context)?.uuid()), (None, None));
    }

    /// BUF-7: the resource of a buffer is the one that gets the memory back.
    fn the_resource_of_a_buffer_is_the_one_that_it_came_from(driver) {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = DevicePool::new(&context)?;
        let buffer = pool.allocate::<u8>(1 << 20, &stream)?;
        let resource = buffer.ordered_resource().ok_or("it came from a pool")?;
        let used = pool.statistics()?.used;
        let more = resource.allocate::<u8>(1 << 20, &stream)?;
        assert_eq!(pool.statistics()?.used, 2 * used);
        assert!(more.synchronous_resource().is_none());

        let cached = Cached::new(&pool).allocate::<u8>(1 << 20, &stream)?;
        assert!(cached.ordered_resource().is_some_and(|resource| resource.allocate::<u8>(100, &stream).is_ok()));

        let plain = DeviceMemory::new(&context).allocate::<u8>(100)?;
        let resource = plain.synchronous_resource().ok_or("it is plain memory")?;
        assert_eq!(resource.allocate::<u8>(100)?.kind()?, MemoryKind::Device);
        assert!(plain.ordered_resource().is_none());

        // SAFETY: the memory stays until the borrowing buffer is gone.
        let borrowed = unsafe { Buffer::<u8>::borrowed(plain.as_raw(), plain.len(), &context) }?;
        assert!(borrowed.ordered_resource().is_none() && borrowed.synchronous_resource().is_none());
    }
}
