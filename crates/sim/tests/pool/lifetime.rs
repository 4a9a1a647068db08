//! From an allocation to its free, and a pool's end.

use std::ptr::null_mut;

use warploom_testkit::{Primary, Stream, answers, call, driver_tests};

use crate::fixture::{CHUNK, MIB, Pool, RESERVED, USED};

driver_tests! {
    fn bytes_survive_in_pool_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let sent: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut received = vec![0; sent.len()];
        let address = pool.take(sent.len() as u64, stream.raw)?;
        stream.synchronize()?;
        call!(driver.cuMemcpyHtoD_v2(address, sent.as_ptr().cast(), sent.len()))?;
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), address, sent.len()))?;
        assert_eq!(sent, received);
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
    }

    fn an_allocation_of_nothing_is_null_and_can_be_freed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        assert_eq!(pool.take(0, stream.raw)?, 0);
        let mut address = 1;
        call!(driver.cuMemAllocAsync(&mut address, 0, stream.raw))?;
        assert_eq!(address, 0);
        pool.free(0, stream.raw)?;
        assert_eq!(pool.statistics()?, [0; 4]);
    }

    fn memory_of_a_pool_outlives_a_reset_of_the_primary_context_and_can_be_freed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(4096, null_mut())?;
        call!(driver.cuStreamSynchronize(null_mut()))?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        assert_eq!(pool.get(USED)?, 4096);
        answers!(driver.cuMemFree_v2(address), CUDA_SUCCESS);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    }

    fn allocations_take_any_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::with_flags(driver, 0)?;
        for raw in [null_mut(), crate::fixture::invented(1), crate::fixture::invented(2), stream.raw] {
            let mut address = 0;
            call!(driver.cuMemAllocAsync(&mut address, 16, raw))?;
            assert_ne!(address, 0);
            call!(driver.cuMemFreeAsync(address, raw))?;
            call!(driver.cuStreamSynchronize(raw))?;
        }
    }

    fn an_address_inside_an_allocation_is_not_freed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(4096, stream.raw)?;
        for wrong in [address + 512, address + 1, 0xdead_0000] {
            answers!(driver.cuMemFreeAsync(wrong, stream.raw), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(pool.get(USED)?, 4096);
        pool.free(address, stream.raw)?;
        answers!(driver.cuMemFreeAsync(address, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        stream.synchronize()?;
        answers!(driver.cuMemFreeAsync(address, stream.raw), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(pool.get(USED)?, 0);
    }

    fn freed_memory_cannot_be_copied_to(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        let address = pool.take(4096, stream.raw)?;
        stream.synchronize()?;
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
        answers!(driver.cuMemcpyHtoD_v2(address, [0u8; 8].as_ptr().cast(), 8), CUDA_ERROR_INVALID_VALUE);
    }

    fn plain_memory_can_be_freed_in_stream_order(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, 64 << 20))?;
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        stream.synchronize()?;
    }

    // The real driver notices only when the second free comes to be done, if at all.
    sim fn plain_memory_is_not_freed_twice_in_stream_order(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, 64 << 20))?;
        call!(driver.cuMemFreeAsync(address, stream.raw))?;
        answers!(driver.cuMemFreeAsync(address, stream.raw), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        stream.synchronize()?;
    }

    fn pool_memory_can_be_freed_at_once(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let first = pool.take(4096, stream.raw)?;
        let second = pool.take(4096, stream.raw)?;
        pool.free(first, stream.raw)?;
        stream.synchronize()?;
        call!(driver.cuMemFree_v2(second))?;
        assert_eq!(pool.statistics()?, [0, CHUNK, 4096, 8192], "the driver goes on counting it as used");
        answers!(driver.cuMemFree_v2(second), CUDA_ERROR_INVALID_VALUE);
    }

    fn an_allocation_may_be_freed_on_another_stream(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let address = pool.take(4096, stream.raw)?;
        stream.synchronize()?;
        pool.free(address, null_mut())?;
        stream.synchronize()?;
        assert_eq!(pool.get(RESERVED)?, CHUNK, "its own stream did not free it");
        call!(driver.cuStreamSynchronize(null_mut()))?;
        assert_eq!(pool.get(RESERVED)?, 0);
    }

    fn allocations_outlive_their_pool(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::hoarding(driver)?;
        let [first, second] = [pool.take(4096, stream.raw)?, pool.take(4096, stream.raw)?];
        stream.synchronize()?;
        drop(pool);
        let sent = [3u8; 4096];
        let mut received = [0u8; 4096];
        call!(driver.cuMemcpyHtoD_v2(first, sent.as_ptr().cast(), sent.len()))?;
        call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), first, received.len()))?;
        assert_eq!(sent, received);
        call!(driver.cuMemFreeAsync(first, stream.raw))?;
        stream.synchronize()?;
        call!(driver.cuMemFree_v2(second))?;
        call!(driver.cuCtxSynchronize())?;
    }

    fn a_destroyed_pool_is_no_pool(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        for live in [0, 4096] {
            let pool = Pool::new(driver)?;
            let raw = pool.raw;
            let address = pool.take(live, stream.raw)?;
            stream.synchronize()?;
            drop(pool);
            let mut value = 0u64;
            let attribute = warploom_testkit::sys::types::CUmemPool_attribute(7);
            let mut other = 0;
            answers!(driver.cuMemPoolDestroy(raw), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemPoolTrimTo(raw, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(
                driver.cuMemPoolGetAttribute(raw, attribute, (&raw mut value).cast()),
                CUDA_ERROR_INVALID_VALUE
            );
            answers!(driver.cuMemAllocFromPoolAsync(&mut other, 16, raw, stream.raw), CUDA_ERROR_INVALID_VALUE);
            call!(driver.cuMemFreeAsync(address, stream.raw))?;
            stream.synchronize()?;
        }
    }

    fn a_null_out_pointer_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        answers!(driver.cuMemAllocAsync(null_mut(), 16, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAllocFromPoolAsync(null_mut(), 16, pool.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        let mut address = 1;
        answers!(driver.cuMemAllocFromPoolAsync(&mut address, 16, null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(address, 0, "a failing allocation leaves null");
        assert_eq!(pool.get(USED)?, 0);
    }

    fn more_than_there_can_be_is_out_of_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        for bytes in [1 << 47, 1 << 60, usize::MAX] {
            let mut address = 1;
            answers!(driver.cuMemAllocAsync(&mut address, bytes, null_mut()), CUDA_ERROR_OUT_OF_MEMORY);
            assert_eq!(address, 0, "a failing allocation leaves null");
        }
    }

    fn only_default_streams_need_a_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let mut address = 1;
        answers!(driver.cuMemAllocAsync(&mut address, 16, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(address, 0);
        answers!(driver.cuMemFreeAsync(0, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        let pool = Pool::new(driver)?;
        let address = pool.take(MIB, stream.raw)?;
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
        primary.make_current()?;
    }
}
