//! Memory from pools.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, pool_properties};

use crate::support::*;

const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
const MANAGED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
const NOWHERE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE;
const DEVICE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
const HOST: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST;
const NODE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA;

fn new_pool(driver: &Driver, kind: CUmemAllocationType, place: CUmemLocationType) -> TestResult<CUmemoryPool> {
    let mut pool = null_mut();
    let properties = CUmemPoolProps { allocType: kind, ..pool_properties(CUmemLocation::new(place, 0)) };
    call!(driver.cuMemPoolCreate(&mut pool, &properties))?;
    Ok(pool)
}

fn allocate(driver: &Driver, pool: CUmemoryPool, bytes: usize) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAllocFromPoolAsync(&mut address, bytes, pool, null_mut()))?;
    call!(driver.cuStreamSynchronize(null_mut()))?;
    Ok(address)
}

driver_tests! {
    fn pool_memory_belongs_to_its_pool_and_to_no_context(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = new_pool(driver, PINNED, DEVICE)?;
        let address = allocate(driver, pool, 8192)?;
        for at in [address, address + 100] {
            assert_eq!(word(driver, CONTEXT, at), 0);
            assert_eq!(word(driver, POOL, at), pool.addr() as u64);
            assert_eq!(int(driver, MEMORY_TYPE, at), 2);
            assert_eq!(word(driver, DEVICE_POINTER, at), at);
            refuses_zeroed(driver, HOST_POINTER, at);
            assert_eq!(int(driver, SYNC_MEMOPS, at), 0);
            assert_eq!(int(driver, IS_MANAGED, at), 0);
            assert_eq!(int(driver, DEVICE_ORDINAL, at), 0);
            assert_eq!(int(driver, LEGACY_IPC, at), 0);
            assert_eq!(word(driver, RANGE_START, at), address);
            assert_eq!(word(driver, RANGE_SIZE, at), 8192);
            assert_eq!(int(driver, MAPPED, at), 1);
            assert_eq!(word(driver, HANDLE_TYPES, at), 0);
            assert_eq!(int(driver, RDMA, at), 0);
            assert_eq!(int(driver, ACCESS, at), 3);
            assert_eq!(word(driver, MAPPING_SIZE, at), 32 * MIB);
            assert_eq!(word(driver, MAPPING_BASE, at), address);
            assert_eq!(int(driver, DECOMPRESS, at), 0);
        }
        let (one, attribute) = (1u32, CUpointer_attribute(SYNC_MEMOPS));
        answers!(driver.cuPointerSetAttribute((&raw const one).cast(), attribute, address), CUDA_SUCCESS);
        call!(driver.cuMemFreeAsync(address, null_mut()))?;
        call!(driver.cuStreamSynchronize(null_mut()))?;
        for attribute in 0..26 {
            refuses_untouched(driver, attribute, address);
        }
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn the_free_of_plain_memory_frees_pool_memory_too(driver) {
        let _primary = Primary::of(driver, 0)?;
        let pool = new_pool(driver, PINNED, DEVICE)?;
        let address = allocate(driver, pool, 4096)?;
        answers!(driver.cuMemFree_v2(address), CUDA_SUCCESS);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemPoolDestroy(pool))?;
    }

    fn memory_of_pools_that_the_host_can_use_says_what_it_is(driver) {
        let _primary = Primary::of(driver, 0)?;
        let set_access = |pool: CUmemoryPool, flags: u32| -> TestResult {
            let access = CUmemAccessDesc { location: CUmemLocation::new(DEVICE, 0), flags: CUmemAccess_flags(flags) };
            Ok(call!(driver.cuMemPoolSetAccess(pool, &access, 1))?)
        };
        let places = [
            (PINNED, HOST, true), (PINNED, HOST, false), (PINNED, NODE, true),
            (MANAGED, NOWHERE, false), (MANAGED, DEVICE, false), (MANAGED, HOST, false),
        ];
        for (kind, place, grants) in places {
            let pool = new_pool(driver, kind, place)?;
            let is_managed = kind == MANAGED;
            if grants {
                set_access(pool, 3)?;
            }
            let address = allocate(driver, pool, 1 << 16)?;
            let at = address + 100;
            assert_eq!(int(driver, MEMORY_TYPE, at), if is_managed { 2 } else { 1 });
            if grants || is_managed {
                assert_eq!(word(driver, DEVICE_POINTER, at), at);
            } else {
                refuses_zeroed(driver, DEVICE_POINTER, at);
            }
            assert_eq!(word(driver, HOST_POINTER, at), at);
            assert_eq!(int(driver, IS_MANAGED, at), i32::from(is_managed));
            assert_eq!(int(driver, DEVICE_ORDINAL, at), 0);
            assert_eq!(word(driver, CONTEXT, at), 0);
            assert_eq!(word(driver, RANGE_START, at), if is_managed { address } else { 0 }, "{kind:?} at {place:?}");
            assert_eq!(word(driver, RANGE_SIZE, at), 1 << 16);
            assert_eq!(int(driver, MAPPED, at), 1);
            call!(driver.cuMemFreeAsync(address, null_mut()))?;
            call!(driver.cuStreamSynchronize(null_mut()))?;
            if grants {
                set_access(pool, 0)?;
            }
            call!(driver.cuMemPoolDestroy(pool))?;
        }
    }
}
