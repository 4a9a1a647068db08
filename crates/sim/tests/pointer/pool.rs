//! Memory from pools.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

use crate::support::*;

const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);

fn new_pool(driver: &Driver, handle_types: u32) -> TestResult<CUmemoryPool> {
    let mut pool = null_mut();
    let properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType(handle_types as _),
        location: DEVICE,
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        gpuDirectRDMACapable: 0,
        reserved: [0; 53],
    };
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
        let pool = new_pool(driver, 0)?;
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
        let pool = new_pool(driver, 0)?;
        let address = allocate(driver, pool, 4096)?;
        answers!(driver.cuMemFree_v2(address), CUDA_SUCCESS);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemPoolDestroy(pool))?;
    }
}
