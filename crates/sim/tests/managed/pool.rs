//! Memory of pools: managed ones, and those of a device.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, Stream, TestResult, answers, call, driver_tests, pool_properties};

use crate::support::*;

fn pool(driver: &Driver, kind: CUmemAllocationType, location: CUmemLocation) -> TestResult<CUmemoryPool> {
    let properties = CUmemPoolProps { allocType: kind, ..pool_properties(location) };
    let mut pool = null_mut();
    call!(driver.cuMemPoolCreate(&mut pool, &properties))?;
    Ok(pool)
}

const MANAGED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;

fn get(driver: &Driver, raw: u32, address: u64, bytes: usize) -> TestResult<i32> {
    let mut value = 0x5555_5555_i32;
    call!(driver.cuMemRangeGetAttribute((&raw mut value).cast(), 4, attribute(raw), address, bytes))?;
    Ok(value)
}

fn is_managed(driver: &Driver, address: u64) -> TestResult<u32> {
    let mut value = 7_u32;
    let question = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
    call!(driver.cuPointerGetAttribute((&raw mut value).cast(), question, address))?;
    Ok(value)
}

/// Runs `body` with a stream and memory of a pool.
fn with_memory(
    driver: &Driver,
    kind: CUmemAllocationType,
    location: CUmemLocation,
    body: impl FnOnce(CUstream, u64) -> TestResult,
) -> TestResult {
    let (pool, stream, mut address) = (pool(driver, kind, location)?, Stream::new(driver)?, 0);
    call!(driver.cuMemAllocFromPoolAsync(&mut address, MIB, pool, stream.raw))?;
    stream.synchronize()?;
    body(stream.raw, address)?;
    call!(driver.cuMemFreeAsync(address, stream.raw))?;
    stream.synchronize()?;
    Ok(call!(driver.cuMemPoolDestroy(pool))?)
}

driver_tests! {
    /// S1.11: memory of a managed pool answers `IS_MANAGED` as memory of `cuMemAllocManaged` does.
    fn memory_of_a_managed_pool_says_that_it_is_managed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let memory = Memory::new(driver, MIB)?;
        assert_eq!(is_managed(driver, memory.address)?, 1);
        with_memory(driver, MANAGED, kind(0), |_, address| {
            assert_eq!(is_managed(driver, address)?, 1);
            Ok(())
        })?;
    }

    /// S1.36.
    fn memory_of_a_managed_pool_takes_no_advice(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, MANAGED, kind(0), |_, address| {
            for advice in 1..=6 {
                for location in [device(0), HOST] {
                    answers!(
                        driver.cuMemAdvise_v2(address, MIB, CUmem_advise(advice), location),
                        CUDA_ERROR_NOT_SUPPORTED
                    );
                }
                answers!(driver.cuMemAdvise(address, MIB, CUmem_advise(advice), 0), CUDA_ERROR_NOT_SUPPORTED);
            }
            answers!(driver.cuMemAdvise_v2(address, 10 * MIB, SET_READ_MOSTLY, HOST), CUDA_ERROR_NOT_SUPPORTED);
            answers!(driver.cuMemAdvise_v2(address, 0, SET_READ_MOSTLY, HOST), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemAdvise_v2(address, MIB, SET_PREFERRED, device(5)), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuMemAdvise(address, MIB, SET_PREFERRED, 5), CUDA_ERROR_INVALID_DEVICE);
            Ok(())
        })?;
    }

    fn memory_of_a_managed_pool_is_prefetched(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, MANAGED, kind(0), |stream, address| {
            call!(driver.cuMemPrefetchAsync_v2(address, MIB, device(0), 0, stream))?;
            assert_eq!((get(driver, PREFETCHED, address, MIB)?, get(driver, PREFETCHED_TYPE, address, MIB)?), (0, 1));
            call!(driver.cuMemPrefetchAsync_v2(address, MIB, HOST, 0, stream))?;
            assert_eq!(get(driver, PREFETCHED, address, MIB)?, -1);
            Ok(())
        })?;
    }

    fn memory_of_a_managed_pool_is_discarded_and_written_again(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, MANAGED, kind(0), |stream, address| {
            let (mut start, mut size) = (address, MIB);
            call!(driver.cuMemDiscardBatchAsync(&mut start, &mut size, 1, 0, stream))?;
            call!(driver.cuMemsetD32Async(address, 9, MIB / 4, stream))?;
            call!(driver.cuStreamSynchronize(stream))?;
            assert!(words(address, MIB / 4).iter().all(|word| *word == 9));
            Ok(())
        })?;
    }

    fn memory_of_a_managed_pool_prefers_to_be_where_the_pool_is(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, MANAGED, device(0), |_, address| {
            assert_eq!(get(driver, PREFERRED, address, MIB)?, 0);
            Ok(())
        })?;
        with_memory(driver, MANAGED, HOST, |_, address| {
            let id = get(driver, PREFERRED_ID, address, MIB)?;
            assert_eq!((get(driver, PREFERRED_TYPE, address, MIB)?, id, get(driver, PREFERRED, address, MIB)?), (2, 0, -1));
            Ok(())
        })?;
        with_memory(driver, MANAGED, kind(0), |_, address| {
            assert_eq!(get(driver, PREFERRED, address, MIB)?, -2);
            Ok(())
        })?;
    }

    fn memory_of_a_devices_pool_takes_advice_with_a_numa_node_only(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, PINNED, device(0), |_, address| {
            answers!(driver.cuMemAdvise_v2(address, MIB, SET_READ_MOSTLY, node(0)), CUDA_SUCCESS);
            for location in [device(0), HOST] {
                answers!(driver.cuMemAdvise_v2(address, MIB, SET_READ_MOSTLY, location), CUDA_ERROR_INVALID_VALUE);
            }
            Ok(())
        })?;
    }

    fn memory_of_a_devices_pool_is_not_prefetched(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, PINNED, device(0), |stream, address| {
            answers!(
                driver.cuMemPrefetchAsync_v2(address, MIB, device(0), 0, stream),
                CUDA_ERROR_INVALID_VALUE
            );
            Ok(())
        })?;
    }

    fn memory_of_a_devices_pool_has_no_attributes_of_ranges(driver) {
        let _primary = Primary::of(driver, 0)?;
        with_memory(driver, PINNED, device(0), |_, address| {
            let mut value = 7_i32;
            answers!(
                driver.cuMemRangeGetAttribute((&raw mut value).cast(), 4, attribute(READ_MOSTLY), address, MIB),
                CUDA_ERROR_INVALID_VALUE
            );
            Ok(())
        })?;
    }
}
