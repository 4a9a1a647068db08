//! Export of pools; `tests/processes` imports them in other processes.

use std::ptr::null_mut;

use warploom_testkit::sys::types::{CUmemAllocationHandleType, CUmemPoolPtrExportData};
use warploom_testkit::{Primary, Stream, answers, call, driver_tests};

use crate::fixture::Pool;

const DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

driver_tests! {
    fn a_pool_that_was_not_made_for_it_is_not_exported(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let pool = Pool::new(driver)?;
        let mut default = null_mut();
        call!(driver.cuDeviceGetDefaultMemPool(&mut default, 0))?;
        let mut file = -1i32;
        let out = (&raw mut file).cast();
        for kind in [0, 1, 2, 8] {
            let kind = CUmemAllocationHandleType(kind);
            answers!(driver.cuMemPoolExportToShareableHandle(out, pool.raw, kind, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuMemPoolExportToShareableHandle(out, default, DESCRIPTOR, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuMemPoolExportToShareableHandle(null_mut(), pool.raw, DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(file, -1);
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        let address = pool.take(16, stream.raw)?;
        answers!(driver.cuMemPoolExportPointer(&mut data, address), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemPoolExportPointer(&mut data, 0xdead_0000), CUDA_ERROR_INVALID_VALUE);
        pool.free(address, stream.raw)?;
        stream.synchronize()?;
    }
}

driver_tests! {
    // An H200 answers so to one export by a process; at more of them, or when the pools are destroyed, it
    // crashes.
    sim fn a_pool_for_fabric_handles_is_created_and_not_exported(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut bytes = [0_u8; 64];
        let out = bytes.as_mut_ptr().cast();
        for types in [8, 9] {
            let pool = Pool::with(driver, |properties| properties.handleTypes = CUmemAllocationHandleType(types))?;
            for kind in [1, 8].into_iter().filter(|kind| kind & types != 0) {
                let kind = CUmemAllocationHandleType(kind);
                answers!(
                    driver.cuMemPoolExportToShareableHandle(out, pool.raw, kind, 0),
                    CUDA_ERROR_NOT_PERMITTED
                );
            }
        }
        let pool = Pool::with(driver, |properties| properties.handleTypes = DESCRIPTOR)?;
        answers!(driver.cuMemPoolExportToShareableHandle(out, pool.raw, DESCRIPTOR, 1), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(bytes, [0; 64]);
    }
}
