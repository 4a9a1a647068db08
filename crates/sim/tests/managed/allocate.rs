//! Allocation, and one address for host and device.

use std::ptr::null_mut;

use warploom_testkit::sim::topology::{DeviceModel, Topology, number};
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

use crate::support::{MIB, words};

driver_tests! {
    fn host_and_device_use_managed_memory_at_one_address(driver) {
        let _primary = Primary::of(driver, 0)?;
        for flags in [1, 2] {
            let mut managed = 0;
            call!(driver.cuMemAllocManaged(&mut managed, 4096, flags))?;
            let sent: Vec<u32> = (0..1024).collect();
            words(managed, 1024).fill(7);
            call!(driver.cuMemcpyHtoD_v2(managed, sent.as_ptr().cast(), 4096))?;
            assert_eq!(words(managed, 1024), sent);
            words(managed, 1024)[3] = 99;
            let mut received = vec![0u32; 1024];
            call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), managed, 4096))?;
            assert_eq!(received[..5], [0, 1, 2, 99, 4]);
            call!(driver.cuMemFree_v2(managed))?;
        }
    }

    fn managed_memory_takes_one_flag_and_some_bytes(driver) {
        let primary = Primary::of(driver, 0)?;
        for flags in [0, 3, 4, 5, 6, 0x8000_0000] {
            let mut managed = 7;
            answers!(driver.cuMemAllocManaged(&mut managed, 4096, flags), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(managed, 0, "flags {flags}");
        }
        let mut managed = 7;
        answers!(driver.cuMemAllocManaged(&mut managed, 0, 1), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(managed, 0);
        managed = 7;
        answers!(driver.cuMemAllocManaged(&mut managed, 1 << 60, 1), CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(managed, 0);
        answers!(driver.cuMemAllocManaged(null_mut(), 16, 1), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        managed = 7;
        answers!(driver.cuMemAllocManaged(&mut managed, 16, 1), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(managed, 0);
        primary.make_current()?;
    }

    fn a_device_that_shares_managed_memory_is_not_charged_for_it(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut before, mut after) = (0, 0);
        call!(driver.cuMemGetInfo_v2(&mut before, null_mut()))?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, 4 * MIB, 1))?;
        call!(driver.cuMemGetInfo_v2(&mut after, null_mut()))?;
        assert_eq!(before, after);
        call!(driver.cuMemFree_v2(managed))?;
    }

    fn small_managed_allocations_follow_each_other(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut one, mut two) = (0, 0);
        call!(driver.cuMemAllocManaged(&mut one, 1, 1))?;
        call!(driver.cuMemAllocManaged(&mut two, 1, 1))?;
        assert_eq!(two - one, 512);
        let mut size = 0;
        call!(driver.cuMemGetAddressRange_v2(null_mut(), &mut size, one))?;
        assert_eq!(size, 1);
        call!(driver.cuMemFree_v2(one))?;
        call!(driver.cuMemFree_v2(two))?;
    }
}

#[test]
fn more_managed_memory_than_the_device_has_can_be_used() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (mut total, mut managed) = (0, 0);
    call!(driver.cuMemGetInfo_v2(null_mut(), &mut total))?;
    call!(driver.cuMemAllocManaged(&mut managed, 2 * total, 1))?;
    let last = managed + 2 * total as u64 - 4;
    words(last, 1)[0] = 5;
    let mut received = 0u32;
    call!(driver.cuMemcpyDtoH_v2((&raw mut received).cast(), last, 4))?;
    assert_eq!(received, 5);
    call!(driver.cuMemFree_v2(managed))?;
    Ok(())
}

#[test]
fn a_device_that_cannot_share_keeps_all_of_it() -> TestResult {
    let mut topology = Topology::builder().device(DeviceModel::T4).build()?;
    topology.devices[0].attributes.set(number::CONCURRENT_MANAGED_ACCESS, 0)?;
    let (_machine, driver) = open(topology, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let (mut before, mut after, mut total, mut managed) = (0, 0, 0, 0);
    call!(driver.cuMemGetInfo_v2(&mut before, &mut total))?;
    call!(driver.cuMemAllocManaged(&mut managed, 4 * MIB, 1))?;
    call!(driver.cuMemGetInfo_v2(&mut after, null_mut()))?;
    assert_eq!(before - after, 4 * MIB);
    answers!(driver.cuMemAllocManaged(&mut 0, total, 1), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemFree_v2(managed))?;
    call!(driver.cuMemGetInfo_v2(&mut after, null_mut()))?;
    assert_eq!(before, after);
    Ok(())
}

#[test]
fn a_device_without_managed_memory_says_so() -> TestResult {
    let mut topology = Topology::builder().device(DeviceModel::T4).build()?;
    topology.devices[0].attributes.set(number::MANAGED_MEMORY, 0)?;
    let (_machine, driver) = open(topology, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    answers!(driver.cuMemAllocManaged(&mut 0, 4096, 1), CUDA_ERROR_NOT_SUPPORTED);
    Ok(())
}
