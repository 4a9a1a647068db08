//! Plain device memory: what allocations cost, where they are, and how they are freed.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::{DeviceModel, Topology};
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

const MIB: usize = 1 << 20;
const GARBAGE: u64 = 0xdead_b000;
/// The value of an out-parameter before a call that must write it.
const UNWRITTEN: u64 = 0xabab_abab_abab_abab;

fn allocate(driver: &Driver, bytes: usize) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
    Ok(address)
}

fn free_bytes(driver: &Driver) -> TestResult<usize> {
    let mut free = 0;
    call!(driver.cuMemGetInfo_v2(&mut free, null_mut()))?;
    Ok(free)
}

driver_tests! {
    fn a_context_takes_some_of_its_device(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut free, mut total) = (0, 0);
        call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
        assert!(free < total, "{free} of {total}");
        assert!(total - free > 100 * MIB, "{free} of {total}");
        call!(driver.cuMemGetInfo_v2(null_mut(), null_mut()))?;
    }

    fn allocations_cost_whole_blocks_that_small_ones_share(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (bytes, first, second) in [
            (1, 2, 0), (256, 2, 0), (257, 2, 0), (512, 2, 0), (513, 2, 0), (4096, 2, 0), (65536, 2, 0), (MIB - 1, 2, 0),
            (MIB, 2, 0), (MIB + 1, 2, 2), (2 * MIB, 2, 2), (2 * MIB + 1, 4, 4), (3 * MIB, 4, 4), (4 * MIB, 4, 4),
            (32 * MIB, 32, 32), (33 * MIB + 5, 34, 34), (1024 * MIB, 1024, 1024),
        ] {
            let before = free_bytes(driver)?;
            let one = allocate(driver, bytes)?;
            assert_eq!(before - free_bytes(driver)?, first * MIB, "the first of {bytes}");
            let two = allocate(driver, bytes)?;
            assert_eq!(before - free_bytes(driver)?, (first + second) * MIB, "the second of {bytes}");
            call!(driver.cuMemFree_v2(two))?;
            assert_eq!(before - free_bytes(driver)?, first * MIB, "the second of {bytes} is free");
            call!(driver.cuMemFree_v2(one))?;
            assert_eq!(before, free_bytes(driver)?, "both of {bytes} are free");
        }
    }

    unchecked fn small_allocations_follow_each_other_in_steps_of_512(driver) {
        let _primary = Primary::of(driver, 0)?;
        let sizes = [1, 1, 256, 256, 257, 512, 512, 513, 1024, 4096];
        let mut taken = Vec::new();
        for bytes in sizes {
            taken.push(allocate(driver, bytes)?);
        }
        let offsets: Vec<u64> = taken.iter().map(|address| address - taken[0]).collect();
        assert_eq!(offsets, [0, 512, 1024, 1536, 2048, 2560, 3072, 3584, 4608, 5632]);
        assert_eq!(taken[0] % (2 * MIB as u64), 0);
        for address in taken {
            call!(driver.cuMemFree_v2(address))?;
        }
    }

    fn large_allocations_start_at_a_block(driver) {
        let _primary = Primary::of(driver, 0)?;
        for bytes in [MIB + 1, 2 * MIB, 5 * MIB, 64 * MIB] {
            let address = allocate(driver, bytes)?;
            assert_eq!(address % (2 * MIB as u64), 0, "{bytes}");
            call!(driver.cuMemFree_v2(address))?;
        }
    }

    fn freed_memory_is_handed_out_again(driver) {
        let _primary = Primary::of(driver, 0)?;
        for bytes in [512, 4 * MIB] {
            let first = allocate(driver, bytes)?;
            call!(driver.cuMemFree_v2(first))?;
            let second = allocate(driver, bytes)?;
            assert_eq!(first, second, "{bytes}");
            call!(driver.cuMemFree_v2(second))?;
        }
    }

    fn an_allocation_that_does_not_fit_is_out_of_memory_and_leaves_no_pointer(driver) {
        let _primary = Primary::of(driver, 0)?;
        let (mut free, mut total) = (0, 0);
        call!(driver.cuMemGetInfo_v2(&mut free, &mut total))?;
        for bytes in [total, total + 1, 1 << 47, 1 << 60, usize::MAX] {
            let mut address = UNWRITTEN;
            answers!(driver.cuMemAlloc_v2(&mut address, bytes), CUDA_ERROR_OUT_OF_MEMORY);
            assert_eq!(address, 0, "{bytes}");
        }
        let address = allocate(driver, free - (1 << 30))?;
        call!(driver.cuMemFree_v2(address))?;
        assert_eq!(free_bytes(driver)?, free);
    }

    fn an_allocation_needs_bytes_a_pointer_and_a_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut address = UNWRITTEN;
        answers!(driver.cuMemAlloc_v2(&mut address, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(address, 0);
        answers!(driver.cuMemAlloc_v2(null_mut(), 16), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemAlloc_v2(&mut address, 16), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemGetInfo_v2(null_mut(), null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        primary.make_current()?;
    }

    fn only_the_start_of_live_device_memory_can_be_freed(driver) {
        let _primary = Primary::of(driver, 0)?;
        let device = allocate(driver, 4096)?;
        let mut pinned = null_mut();
        call!(driver.cuMemHostAlloc(&mut pinned, 4096, 0))?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        let pageable = vec![0u8; 4096];
        answers!(driver.cuMemFree_v2(0), CUDA_SUCCESS);
        for address in [GARBAGE, 1 << 63, device + 256, pinned.addr() as u64, pageable.as_ptr().addr() as u64] {
            answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        }
        for address in [managed, device] {
            answers!(driver.cuMemFree_v2(address), CUDA_SUCCESS);
            answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuMemFreeHost(pinned))?;
    }

    fn memory_can_be_freed_without_a_current_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let before = free_bytes(driver)?;
        let device = allocate(driver, 4 * MIB)?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuMemFree_v2(device), CUDA_SUCCESS);
        primary.make_current()?;
        assert_eq!(free_bytes(driver)?, before);
    }

    fn a_range_is_what_was_asked_for_not_what_was_rounded_to(driver) {
        let _primary = Primary::of(driver, 0)?;
        for bytes in [1, 256, 257, 513, 4096, MIB, 2 * MIB + 1] {
            let address = allocate(driver, bytes)?;
            for offset in [0, bytes as u64 / 2, bytes as u64 - 1] {
                let (mut base, mut size) = (UNWRITTEN, 0);
                call!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, address + offset))?;
                assert_eq!((base, size), (address, bytes));
            }
            let (mut base, mut size) = (UNWRITTEN, 0);
            call!(driver.cuMemGetAddressRange_v2(&mut base, null_mut(), address))?;
            call!(driver.cuMemGetAddressRange_v2(null_mut(), &mut size, address))?;
            call!(driver.cuMemGetAddressRange_v2(null_mut(), null_mut(), address))?;
            assert_eq!((base, size), (address, bytes));
            call!(driver.cuMemFree_v2(address))?;
        }
    }

    fn ranges_are_known_for_every_kind_of_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut pinned = null_mut();
        call!(driver.cuMemHostAlloc(&mut pinned, 4096, 0))?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        let mut registered = vec![0u8; 8192];
        let own = registered.as_mut_ptr();
        call!(driver.cuMemHostRegister_v2(own.cast(), 8192, 0))?;
        for (start, bytes) in [(pinned.addr() as u64, 4096), (managed, 4096), (own.addr() as u64, 8192)] {
            let (mut base, mut size) = (0, 0);
            call!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, start + 9))?;
            assert_eq!((base, size), (start, bytes));
        }
        call!(driver.cuMemHostUnregister(own.cast()))?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFreeHost(pinned))?;
    }

    fn an_unallocated_address_is_not_found_and_reads_as_zero(driver) {
        let primary = Primary::of(driver, 0)?;
        let device = allocate(driver, 4096)?;
        let pageable = [0u8; 64];
        for address in [0, GARBAGE, device + 4096, pageable.as_ptr().addr() as u64] {
            let (mut base, mut size) = (UNWRITTEN, 1);
            answers!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, address), CUDA_ERROR_NOT_FOUND);
            assert_eq!((base, size), (0, 0));
        }
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        let (mut base, mut size) = (UNWRITTEN, 1);
        answers!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, device), CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!((base, size), (0, 0));
        primary.make_current()?;
        call!(driver.cuMemFree_v2(device))?;
    }

    fn rows_of_pitched_memory_start_every_512_bytes(driver) {
        let _primary = Primary::of(driver, 0)?;
        for element in [4, 8, 16] {
            for (width, height, expected) in [
                (1, 1, 512), (4, 4, 512), (100, 3, 512), (512, 2, 512), (513, 2, 1024), (1000, 10, 1024),
                (4096, 1, 4096), (70000, 2, 70144), (1 << 31, 1, 1 << 31), ((1 << 31) + 1, 1, (1 << 31) + 512),
            ] {
                let (mut address, mut pitch) = (0, 0);
                call!(driver.cuMemAllocPitch_v2(&mut address, &mut pitch, width, height, element))?;
                assert_eq!(pitch, expected, "{width} × {height} of {element}");
                let mut size = 0;
                call!(driver.cuMemGetAddressRange_v2(null_mut(), &mut size, address))?;
                assert_eq!(size, pitch * height, "{width} × {height} of {element}");
                call!(driver.cuMemFree_v2(address))?;
            }
        }
    }

    fn pitched_memory_needs_rows_and_elements_that_exist(driver) {
        let _primary = Primary::of(driver, 0)?;
        for (width, height, element) in
            [(0, 1, 4), (1, 0, 4), (0, 0, 4), (4, 4, 0), (4, 4, 1), (4, 4, 2), (4, 4, 3), (4, 4, 5), (4, 4, 12), (4, 4, 32)]
        {
            let (mut address, mut pitch) = (UNWRITTEN, 7);
            answers!(
                driver.cuMemAllocPitch_v2(&mut address, &mut pitch, width, height, element),
                CUDA_ERROR_INVALID_VALUE
            );
            assert_eq!((address, pitch), (0, 0), "{width} × {height} of {element}");
        }
        let (mut address, mut pitch) = (UNWRITTEN, 7);
        answers!(
            driver.cuMemAllocPitch_v2(&mut address, &mut pitch, 1 << 40, 1 << 30, 4),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!((address, pitch), (0, 1 << 40), "the pitch is known before the size is too large");
        answers!(driver.cuMemAllocPitch_v2(null_mut(), null_mut(), 16, 1, 4), CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn every_byte_of_a_device_can_be_had_even_between_holes() -> TestResult {
    let small = Topology::builder().device(DeviceModel::T4).build()?;
    let (_machine, driver) = open(small, Mode::Deterministic(Order::Eager))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let all = free_bytes(driver)? / (2 * MIB);
    let mut blocks = Vec::new();
    for _ in 0..all {
        blocks.push(allocate(driver, 2 * MIB)?);
    }
    answers!(driver.cuMemAlloc_v2(&mut 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
    for address in blocks.iter().step_by(2) {
        call!(driver.cuMemFree_v2(*address))?;
    }
    let half = all.div_ceil(2) * 2 * MIB;
    let whole = allocate(driver, half)?;
    let sent = [7u8; 64];
    call!(driver.cuMemcpyHtoD_v2(whole + half as u64 - 64, sent.as_ptr().cast(), 64))?;
    let mut received = [0u8; 64];
    call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), whole + half as u64 - 64, 64))?;
    assert_eq!(sent, received);
    answers!(driver.cuMemAlloc_v2(&mut 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
    Ok(())
}

#[test]
fn devices_have_memory_of_their_own() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
    let driver = &driver;
    let first = Primary::of(driver, 0)?;
    let before = free_bytes(driver)?;
    {
        let second = Primary::of(driver, 1)?;
        let there = allocate(driver, 64 * MIB)?;
        first.make_current()?;
        assert_eq!(free_bytes(driver)?, before, "device 0 pays nothing for device 1");
        let here = allocate(driver, 64 * MIB)?;
        assert_ne!(here, there);
        call!(driver.cuMemFree_v2(there))?;
        call!(driver.cuMemFree_v2(here))?;
        drop(second);
    }
    first.make_current()?;
    assert_eq!(free_bytes(driver)?, before);
    Ok(())
}
