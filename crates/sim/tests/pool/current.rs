//! The current pool, from which allocations come that name none.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemoryPool, CUresult};
use warploom_testkit::{Primary, Stream, TestResult, answers, call, code_of, driver_tests, open};

use crate::fixture::{Pool, USED, device_location};

const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;

fn default_pool(driver: &Driver, device: i32) -> TestResult<CUmemoryPool> {
    let mut pool = null_mut();
    call!(driver.cuDeviceGetDefaultMemPool(&mut pool, device))?;
    Ok(pool)
}

fn current_pool(driver: &Driver, device: i32) -> TestResult<CUmemoryPool> {
    let mut pool = null_mut();
    call!(driver.cuDeviceGetMemPool(&mut pool, device))?;
    Ok(pool)
}

driver_tests! {
    fn a_device_has_a_default_pool_that_stays(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = default_pool(driver, 0)?;
        assert!(!pool.is_null());
        assert_eq!(default_pool(driver, 0)?, pool);
        assert_eq!(current_pool(driver, 0)?, pool);
        answers!(driver.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    }

    fn devices_that_do_not_exist_have_no_pools(driver) {
        let mut pool = null_mut();
        let default = default_pool(driver, 0)?;
        for device in [-1, 99] {
            answers!(driver.cuDeviceGetDefaultMemPool(&mut pool, device), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuDeviceGetMemPool(&mut pool, device), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuDeviceSetMemPool(device, default), CUDA_ERROR_INVALID_VALUE);
        }
        assert!(pool.is_null());
        answers!(driver.cuDeviceGetDefaultMemPool(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceGetMemPool(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceSetMemPool(0, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    fn the_chosen_pool_is_allocated_from_until_it_is_destroyed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let default = default_pool(driver, 0)?;
        let pool = Pool::new(driver)?;
        call!(driver.cuDeviceSetMemPool(0, pool.raw))?;
        assert_eq!(current_pool(driver, 0)?, pool.raw);
        let mut address = 0;
        call!(driver.cuMemAllocAsync(&mut address, 4096, stream.raw))?;
        assert_eq!(pool.get(USED)?, 4096);
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
        drop(pool);
        assert_eq!(current_pool(driver, 0)?, default);
        let pool = Pool::new(driver)?;
        call!(driver.cuDeviceSetMemPool(0, pool.raw))?;
        call!(driver.cuDeviceSetMemPool(0, default))?;
        assert_eq!(current_pool(driver, 0)?, default);
    }

    fn places_have_default_pools(driver) {
        let _primary = Primary::of(driver, 0)?;
        const OK: CUresult = CUresult::CUDA_SUCCESS;
        const WRONG: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
        const NONE: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        // Location type, id, what allocation types 0, 1 and 2 answer.
        let places = [
            (-1, 0, [NONE, NONE, NONE]), (0, 0, [WRONG, WRONG, OK]), (0, -1, [WRONG, WRONG, OK]),
            (1, 0, [WRONG, OK, OK]), (1, -1, [WRONG, WRONG, WRONG]), (1, 99, [WRONG, WRONG, WRONG]),
            (2, 0, [WRONG, OK, OK]), (2, -1, [WRONG, OK, OK]), (2, 1, [WRONG, OK, OK]),
            (3, 0, [WRONG, OK, OK]), (3, -1, [WRONG, WRONG, WRONG]), (3, 99, [WRONG, WRONG, WRONG]),
            (4, 0, [NONE, NONE, NONE]), (5, 0, [NONE, NONE, NONE]), (6, 0, [NONE, NONE, NONE]),
        ];
        for (place, id, answers) in places {
            for (kind, expected) in (0..).zip(answers) {
                let mut location = CUmemLocation::new(CUmemLocationType(i32::cast_unsigned(place)), id);
                let kind = CUmemAllocationType(kind);
                let (mut default, mut current) = (null_mut(), null_mut());
                let result = call!(driver.cuMemGetDefaultMemPool(&mut default, &mut location, kind));
                assert_eq!(code_of(result), expected, "location type {place}, id {id}, {kind:?}");
                let result = call!(driver.cuMemGetMemPool(&mut current, &mut location, kind));
                assert_eq!(code_of(result), expected, "location type {place}, id {id}, {kind:?}");
                assert_eq!(default, current);
                assert_eq!(default.is_null(), expected != OK);
            }
        }
        let mut pool = null_mut();
        call!(driver.cuMemGetDefaultMemPool(&mut pool, &mut device_location(0), PINNED))?;
        assert_eq!(pool, default_pool(driver, 0)?);
        answers!(driver.cuMemGetDefaultMemPool(null_mut(), &mut device_location(0), PINNED), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetMemPool(&mut pool, null_mut(), PINNED), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_place_takes_only_a_pool_of_its_own(driver) {
        let _primary = Primary::of(driver, 0)?;
        let default = default_pool(driver, 0)?;
        let pool = Pool::new(driver)?;
        for (place, id, kind) in [(1, 0, 2), (1, 99, 1), (2, 0, 1), (3, 0, 1), (0, 0, 2), (0, 0, 1)] {
            let mut location = CUmemLocation::new(CUmemLocationType(place), id);
            let kind = CUmemAllocationType(kind);
            answers!(driver.cuMemSetMemPool(&mut location, kind, pool.raw), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(current_pool(driver, 0)?, default);
        call!(driver.cuMemSetMemPool(&mut device_location(0), PINNED, pool.raw))?;
        assert_eq!(current_pool(driver, 0)?, pool.raw);
        answers!(driver.cuMemSetMemPool(&mut device_location(0), PINNED, null_mut()), CUDA_ERROR_INVALID_VALUE);
        drop(pool);
        assert_eq!(current_pool(driver, 0)?, default);
    }
}

#[test]
fn a_device_takes_no_pool_of_another() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let other = Pool::with(driver, |properties| properties.location = device_location(1))?;
    answers!(driver.cuDeviceSetMemPool(0, other.raw), CUDA_ERROR_INVALID_VALUE);
    call!(driver.cuDeviceSetMemPool(1, other.raw))?;
    assert_eq!(current_pool(driver, 1)?, other.raw);
    assert_ne!(default_pool(driver, 0)?, default_pool(driver, 1)?);
    Ok(())
}

#[test]
fn a_stream_allocates_from_its_own_device_and_from_any_pool_that_is_named() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let _second = Primary::of(driver, 1)?;
    let stream = Stream::new(driver)?;
    let pools = [0, 1].map(|device| Pool::with(driver, |properties| properties.location = device_location(device)));
    let [first, second] = pools;
    let (first, second) = (first?, second?);
    call!(driver.cuDeviceSetMemPool(0, first.raw))?;
    call!(driver.cuDeviceSetMemPool(1, second.raw))?;
    let mut address = 0;
    call!(driver.cuMemAllocAsync(&mut address, 512, stream.raw))?;
    assert_eq!([first.get(USED)?, second.get(USED)?], [0, 512]);
    second.free(address, stream.raw)?;
    let address = first.take(1024, stream.raw)?;
    assert_eq!([first.get(USED)?, second.get(USED)?], [1024, 0]);
    first.free(address, stream.raw)?;
    stream.synchronize()?;
    Ok(())
}
