//! Prefetches of one range.

use std::ptr::null_mut;

use warploom_testkit::{Primary, Stream, answers, call, driver_tests};

use crate::support::*;

driver_tests! {
    fn a_prefetch_leaves_the_bytes_as_they_are(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let memory = Memory::new(driver, MIB)?;
        words(memory.address, MIB / 4).iter_mut().zip(0..).for_each(|(word, value)| *word = value);
        for location in [device(0), HOST, node(0), CURRENT_NODE] {
            memory.prefetch(location, stream.raw)?;
            call!(driver.cuMemsetD32Async(memory.address, 5, 16, stream.raw))?;
            stream.synchronize()?;
            let words = words(memory.address, MIB / 4);
            assert_eq!((words[0], words[16], words[MIB / 4 - 1]), (5, 16, (MIB / 4 - 1) as u32));
        }
    }

    fn the_last_prefetch_is_read_back(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        let stream = Stream::new(driver)?;
        assert_eq!((memory.get(PREFETCHED)?, memory.get(PREFETCHED_TYPE)?), (-2, 0));
        assert_eq!(memory.get(PREFETCHED_ID)?, -2);
        memory.prefetch(device(0), stream.raw)?;
        assert_eq!((memory.get(PREFETCHED)?, memory.get(PREFETCHED_TYPE)?, memory.get(PREFETCHED_ID)?), (0, 1, 0));
        memory.prefetch(HOST, stream.raw)?;
        assert_eq!((memory.get(PREFETCHED)?, memory.get(PREFETCHED_TYPE)?, memory.get(PREFETCHED_ID)?), (-1, 2, -1));
        call!(driver.cuMemPrefetchAsync(memory.address, MIB, 0, stream.raw))?;
        assert_eq!(memory.get(PREFETCHED)?, 0);
        call!(driver.cuMemPrefetchAsync(memory.address, MIB, -1, stream.raw))?;
        assert_eq!(memory.get(PREFETCHED)?, -1);
        stream.synchronize()?;
    }

    fn a_prefetch_to_a_numa_node_is_read_back_as_it_was_asked_for(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        for (location, expected) in [(node(0), (3, 0)), (CURRENT_NODE, (4, 0)), (CURRENT_NODE_5, (4, 5))] {
            memory.prefetch(location, null_mut())?;
            assert_eq!((memory.get(PREFETCHED_TYPE)?, memory.get(PREFETCHED_ID)?), expected);
            assert_eq!(memory.get(PREFETCHED)?, -1);
        }
        call!(driver.cuCtxSynchronize())?;
    }

    fn a_range_was_prefetched_to_where_all_of_it_was(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 4 * PAGE)?;
        call!(driver.cuMemPrefetchAsync(memory.address, 2 * PAGE, 0, null_mut()))?;
        assert_eq!((memory.get_part(PREFETCHED, 0, 2 * PAGE)?, memory.get(PREFETCHED)?), (0, -2));
        call!(driver.cuMemPrefetchAsync(memory.address + 2 * PAGE as u64, 2 * PAGE, -1, null_mut()))?;
        assert_eq!((memory.get_part(PREFETCHED, 2 * PAGE, PAGE)?, memory.get(PREFETCHED)?), (-1, -2));
        assert_eq!((memory.get(PREFETCHED_TYPE)?, memory.get(PREFETCHED_ID)?), (0, -2));
        call!(driver.cuCtxSynchronize())?;
    }

    fn a_prefetch_takes_whole_pages_along(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 4 * PAGE)?;
        call!(driver.cuMemPrefetchAsync(memory.address + PAGE as u64 + 5, 1, 0, null_mut()))?;
        assert_eq!(memory.get_part(PREFETCHED, PAGE, PAGE)?, 0);
        assert_eq!(memory.get_part(PREFETCHED, 0, 2 * PAGE)?, -2);
        call!(driver.cuCtxSynchronize())?;
    }

    fn a_prefetch_needs_no_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        let stream = Stream::new(driver)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        memory.prefetch(device(0), stream.raw)?;
        call!(driver.cuMemPrefetchAsync(memory.address, MIB, -1, stream.raw))?;
        stream.synchronize()?;
        answers!(
            driver.cuMemPrefetchAsync_v2(memory.address, MIB, HOST, 0, null_mut()),
            CUDA_ERROR_INVALID_CONTEXT
        );
        primary.make_current()?;
    }

    fn a_prefetch_has_no_flags(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        for flags in [1, 2, 0x8000_0000] {
            answers!(
                driver.cuMemPrefetchAsync_v2(memory.address, PAGE, HOST, flags, null_mut()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        assert_eq!(memory.get(PREFETCHED)?, -2);
    }

    fn there_is_no_prefetch_to_places_that_do_not_exist(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        let address = memory.address;
        for ordinal in [1000, -3] {
            answers!(driver.cuMemPrefetchAsync(address, PAGE, ordinal, null_mut()), CUDA_ERROR_INVALID_DEVICE);
            answers!(
                driver.cuMemPrefetchAsync_v2(address, PAGE, device(ordinal), 0, null_mut()),
                CUDA_ERROR_INVALID_DEVICE
            );
        }
        for raw in [0, 5, 6, 99] {
            answers!(
                driver.cuMemPrefetchAsync_v2(address, PAGE, kind(raw), 0, null_mut()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
    }

    fn there_is_no_prefetch_to_a_numa_node_that_is_not_there(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, PAGE)?;
        for id in [-1, 1000] {
            answers!(
                driver.cuMemPrefetchAsync_v2(memory.address, PAGE, node(id), 0, null_mut()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
    }

    fn only_bytes_of_managed_memory_are_prefetched(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, 2 * MIB)?;
        let (mut plain, mut locked) = (0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut plain, MIB))?;
        call!(driver.cuMemAllocHost_v2(&mut locked, MIB))?;
        let beyond = (memory.address + MIB as u64, MIB + 1);
        for (address, bytes) in
            [(plain, MIB), (locked.addr() as u64, MIB), (0, MIB), (memory.address, 0), beyond, (memory.address, 1 << 40)]
        {
            answers!(driver.cuMemPrefetchAsync(address, bytes, 0, null_mut()), CUDA_ERROR_INVALID_VALUE);
            answers!(
                driver.cuMemPrefetchAsync_v2(address, bytes, device(0), 0, null_mut()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        call!(driver.cuMemFree_v2(plain))?;
        call!(driver.cuMemFreeHost(locked))?;
    }
}
