//! Access of devices to a pool's memory.

use std::ptr::{null, null_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUmemoryPool,
};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

use crate::fixture::{Pool, device_location, invented};

fn descriptor(device: i32, flags: u32) -> CUmemAccessDesc {
    CUmemAccessDesc { location: device_location(device), flags: CUmemAccess_flags(flags) }
}

fn access(driver: &Driver, pool: CUmemoryPool, device: i32) -> TestResult<u32> {
    let mut flags = CUmemAccess_flags(77);
    call!(driver.cuMemPoolGetAccess(&mut flags, pool, &mut device_location(device)))?;
    Ok(flags.0)
}

driver_tests! {
    fn access_of_a_device_to_its_own_pool_cannot_be_revoked(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        assert_eq!(access(driver, pool.raw, 0)?, 3);
        answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(0, 0), 1), CUDA_ERROR_INVALID_DEVICE);
        answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(0, 1), 1), CUDA_ERROR_NOT_SUPPORTED);
        for flags in [2, 4, 7] {
            answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(0, flags), 1), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(0, 3), 1))?;
        call!(driver.cuMemPoolSetAccess(pool.raw, [descriptor(0, 3); 2].as_ptr(), 2))?;
        assert_eq!(access(driver, pool.raw, 0)?, 3);
    }

    fn access_is_set_for_devices_that_exist(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for device in [99, -1] {
            answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(device, 3), 1), CUDA_ERROR_INVALID_DEVICE);
        }
        for kind in [0, 2, 3, 4, 9] {
            let location = CUmemLocation::new(CUmemLocationType(kind), 0);
            let descriptor = CUmemAccessDesc { location, flags: CUmemAccess_flags(3) };
            answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor, 1), CUDA_ERROR_NOT_SUPPORTED);
        }
        answers!(driver.cuMemPoolSetAccess(pool.raw, null(), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolSetAccess(pool.raw, null(), 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(0, 3), 0))?;
        answers!(driver.cuMemPoolSetAccess(null_mut(), &descriptor(0, 3), 1), CUDA_ERROR_INVALID_VALUE);
    }

    fn the_host_does_not_reach_a_device_pool_and_other_places_are_unknown(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = Pool::new(driver)?;
        for (kind, id) in [(2, 0), (2, 1), (3, 0), (3, 1)] {
            let mut flags = CUmemAccess_flags(77);
            let mut location = CUmemLocation::new(CUmemLocationType(kind), id);
            call!(driver.cuMemPoolGetAccess(&mut flags, pool.raw, &mut location))?;
            assert_eq!(flags.0, 0, "location type {kind}");
        }
        for (kind, id) in [(u32::MAX, 0), (0, 0), (1, 99), (1, -1), (4, 0), (5, 0), (6, 0)] {
            let mut flags = CUmemAccess_flags(77);
            let mut location = CUmemLocation::new(CUmemLocationType(kind), id);
            answers!(driver.cuMemPoolGetAccess(&mut flags, pool.raw, &mut location), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(flags.0, 77, "location type {kind}");
        }
        let mut flags = CUmemAccess_flags(77);
        answers!(driver.cuMemPoolGetAccess(null_mut(), pool.raw, &mut device_location(0)), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolGetAccess(&mut flags, pool.raw, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolGetAccess(&mut flags, null_mut(), &mut device_location(0)), CUDA_ERROR_INVALID_VALUE);
    }

    fn default_pools_have_access_like_others(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut pool = null_mut();
        call!(driver.cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        call!(driver.cuMemPoolSetAccess(pool, &descriptor(0, 3), 1))?;
        assert_eq!(access(driver, pool, 0)?, 3);
    }
}

#[test]
fn peers_reach_a_pool_once_they_are_let() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let pool = Pool::new(driver)?;
    assert_eq!(access(driver, pool.raw, 1)?, 0);
    call!(driver.cuMemPoolSetAccess(pool.raw, [descriptor(1, 3), descriptor(2, 3)].as_ptr(), 2))?;
    assert_eq!([access(driver, pool.raw, 1)?, access(driver, pool.raw, 2)?, access(driver, pool.raw, 3)?], [3, 3, 0]);
    call!(driver.cuMemPoolSetAccess(pool.raw, [descriptor(1, 0), descriptor(3, 3)].as_ptr(), 2))?;
    assert_eq!([access(driver, pool.raw, 1)?, access(driver, pool.raw, 2)?, access(driver, pool.raw, 3)?], [0, 3, 3]);
    answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(1, 1), 1), CUDA_ERROR_NOT_SUPPORTED);
    Ok(())
}

#[test]
fn one_wrong_descriptor_keeps_all_from_being_applied() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let pool = Pool::new(driver)?;
    call!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(2, 3), 1))?;
    let wrong = [descriptor(1, 3), descriptor(2, 0), descriptor(99, 3)];
    answers!(driver.cuMemPoolSetAccess(pool.raw, wrong.as_ptr(), 3), CUDA_ERROR_INVALID_DEVICE);
    let wrong = [descriptor(1, 3), descriptor(2, 0), descriptor(0, 0)];
    answers!(driver.cuMemPoolSetAccess(pool.raw, wrong.as_ptr(), 3), CUDA_ERROR_INVALID_DEVICE);
    assert_eq!([access(driver, pool.raw, 1)?, access(driver, pool.raw, 2)?], [0, 3]);
    Ok(())
}

#[test]
fn a_device_without_a_link_is_not_let_in() -> TestResult {
    let topology = Topology::builder()
        .device(warploom_testkit::sim::topology::DeviceModel::H100)
        .device(warploom_testkit::sim::topology::DeviceModel::H100);
    let (_machine, driver) = open(topology.build()?, Mode::Threads)?;
    let driver = &driver;
    let pool = Pool::new(driver)?;
    answers!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(1, 3), 1), CUDA_ERROR_INVALID_DEVICE);
    call!(driver.cuMemPoolSetAccess(pool.raw, &descriptor(1, 0), 1))?;
    assert_eq!(access(driver, pool.raw, 1)?, 0);
    Ok(())
}

#[test]
fn invented_handles_are_refused_everywhere() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    for bits in [0x10, 0xdead_0000, usize::MAX] {
        let pool: CUmemoryPool = invented(bits);
        let mut flags = CUmemAccess_flags(0);
        let mut address = 0;
        answers!(driver.cuMemPoolGetAccess(&mut flags, pool, &mut device_location(0)), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolSetAccess(pool, &descriptor(0, 3), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAllocFromPoolAsync(&mut address, 16, pool, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}
