//! Memory without an address.

use std::ptr::{null, null_mut, without_provenance_mut};

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, code_of, driver_tests, physical_memory};

use super::support::*;

driver_tests! {
    fn the_granularity_is_two_mebibytes_for_any_memory(driver) {
        let mut strange = physical_memory(location(6, -1));
        strange.type_ = CUmemAllocationType(9);
        for properties in [physical_memory(DEVICE), physical_memory(HOST), physical_memory(NODE), physical_memory(location(1, 99)), strange] {
            for option in [0, 1] {
                let mut granularity = 0;
                let option = CUmemAllocationGranularity_flags(option);
                call!(driver.cuMemGetAllocationGranularity(&mut granularity, &properties, option))?;
                assert_eq!(granularity, M);
            }
        }
    }

    fn granularity_needs_a_known_option_and_its_pointers(driver) {
        let least = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let mut granularity = 7;
        let properties = physical_memory(DEVICE);
        let unknown = CUmemAllocationGranularity_flags(2);
        answers!(driver.cuMemGetAllocationGranularity(&mut granularity, &properties, unknown), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetAllocationGranularity(&mut granularity, null(), least), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetAllocationGranularity(null_mut(), &properties, least), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(granularity, 7);
    }

    fn an_allocation_is_a_whole_number_of_granules(driver) {
        let properties = physical_memory(DEVICE);
        for size in [0, 1, 4096, M / 2, M + 1, M + M / 2, usize::MAX] {
            let mut handle = 7;
            answers!(driver.cuMemCreate(&mut handle, size, &properties, 0), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(handle, 7, "{size}");
        }
        for size in [M, 2 * M, 3 * M] {
            let handle = create(driver, DEVICE, size)?;
            call!(driver.cuMemRelease(handle))?;
        }
    }

    fn a_device_runs_out_of_physical_memory_and_gets_it_back(driver) {
        let most = 80 << 30;
        let mut second = 7;
        answers!(driver.cuMemCreate(&mut second, 1 << 60, &physical_memory(DEVICE), 0), CUDA_ERROR_OUT_OF_MEMORY);
        let first = create(driver, DEVICE, most)?;
        answers!(driver.cuMemCreate(&mut second, most, &physical_memory(DEVICE), 0), CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(second, 7);
        call!(driver.cuMemRelease(first))?;
        let again = create(driver, DEVICE, most)?;
        call!(driver.cuMemRelease(again))?;
    }

    fn only_pinned_memory_with_known_flags_can_be_made(driver) {
        type Change = fn(&mut CUmemAllocationProp);
        let changes: [(&str, Change); 7] = [
            ("no type", |asked| asked.type_ = CUmemAllocationType(0)),
            ("managed", |asked| asked.type_ = CUmemAllocationType(2)),
            ("unknown type", |asked| asked.type_ = CUmemAllocationType(9)),
            ("unknown compression", |asked| asked.allocFlags.compressionType = 9),
            ("reserved bytes", |asked| asked.allocFlags.reserved[0] = 1),
            ("a Windows handle", |asked| asked.requestedHandleTypes = CUmemAllocationHandleType(2)),
            ("Windows metadata", |asked| asked.win32HandleMetaData = without_provenance_mut(1)),
        ];
        for (what, change) in changes {
            let mut asked = physical_memory(DEVICE);
            change(&mut asked);
            let mut handle = 7;
            let code = code_of(call!(driver.cuMemCreate(&mut handle, M, &asked, 0)));
            assert_eq!((code, handle), (CUresult::CUDA_ERROR_INVALID_VALUE, 7), "{what}");
        }
        let mut handle = 7;
        answers!(driver.cuMemCreate(&mut handle, M, &physical_memory(DEVICE), 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemCreate(&mut handle, M, null(), 0), CUDA_ERROR_INVALID_VALUE);
        let mut fabric = physical_memory(DEVICE);
        fabric.requestedHandleTypes = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_FABRIC;
        answers!(driver.cuMemCreate(&mut handle, M, &fabric, 0), CUDA_ERROR_NOT_PERMITTED);
        assert_eq!(handle, 7);
    }

    fn memory_is_on_a_device_that_exists_or_on_the_host(driver) {
        use CUresult as R;
        for (kind, id, expected) in [
            (-1, 0, R::CUDA_ERROR_INVALID_VALUE),
            (0, 0, R::CUDA_ERROR_INVALID_VALUE),
            (1, -1, R::CUDA_ERROR_INVALID_DEVICE),
            (1, 0, R::CUDA_SUCCESS),
            (1, 99, R::CUDA_ERROR_INVALID_DEVICE),
            (2, -1, R::CUDA_SUCCESS),
            (2, 5, R::CUDA_SUCCESS),
            (3, -1, R::CUDA_ERROR_INVALID_VALUE),
            (3, 0, R::CUDA_SUCCESS),
            (3, 99, R::CUDA_ERROR_INVALID_VALUE),
            (4, 0, R::CUDA_ERROR_INVALID_VALUE),
            (5, 0, R::CUDA_ERROR_INVALID_VALUE),
        ] {
            let mut handle = 7;
            let code = code_of(call!(driver.cuMemCreate(&mut handle, M, &physical_memory(location(kind, id)), 0)));
            assert_eq!(code, expected, "location {id} of type {kind}");
            if code == R::CUDA_SUCCESS {
                call!(driver.cuMemRelease(handle))?;
            } else {
                assert_eq!(handle, 7);
            }
        }
        // The size is looked at first.
        let mut handle = 7;
        answers!(driver.cuMemCreate(&mut handle, 1, &physical_memory(location(1, 99)), 0), CUDA_ERROR_INVALID_VALUE);
    }

    fn an_allocation_tells_what_became_of_its_wishes(driver) {
        let mut asked = physical_memory(DEVICE);
        asked.requestedHandleTypes = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        asked.allocFlags.gpuDirectRDMACapable = 1;
        let mut handle = 0;
        call!(driver.cuMemCreate(&mut handle, M, &asked, 0))?;
        let mut found = physical_memory(location(5, 5));
        call!(driver.cuMemGetAllocationPropertiesFromHandle(&mut found, handle))?;
        assert_eq!(found.type_, asked.type_);
        assert_eq!(found.requestedHandleTypes, asked.requestedHandleTypes);
        assert_eq!((found.location.type_, found.location.id()), (DEVICE.type_, 0));
        assert_eq!(found.allocFlags, asked.allocFlags);
        assert!(found.win32HandleMetaData.is_null());
        call!(driver.cuMemRelease(handle))?;
    }

    sim fn a_released_handle_names_nothing(driver) {
        let handle = create(driver, DEVICE, M)?;
        call!(driver.cuMemRelease(handle))?;
        answers!(driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
        let address = reserve(driver, M)?;
        answers!(driver.cuMemMap(address, M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemAddressFree(address, M))?;
    }

    fn the_null_handle_names_nothing(driver) {
        let mut found = physical_memory(DEVICE);
        answers!(driver.cuMemRelease(0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetAllocationPropertiesFromHandle(&mut found, 0), CUDA_ERROR_INVALID_VALUE);
    }
}
