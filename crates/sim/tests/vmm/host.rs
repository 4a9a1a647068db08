//! Memory of the host: the program's own, once the host has access.
#![expect(unsafe_code, reason = "follows pointers to memory that the host was given access to")]

use std::ptr::with_exposed_provenance_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, physical_memory};

use super::support::*;

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

/// Host memory mapped at an address, with no access granted.
fn mapped_in(driver: &Driver, location: CUmemLocation) -> TestResult<Mapped> {
    let (address, handle) = (reserve(driver, M)?, create(driver, location, M)?);
    call!(driver.cuMemMap(address, M, 0, handle, 0))?;
    Ok(Mapped { address, size: M, handle })
}

driver_tests! {
    fn host_and_device_share_host_memory_at_one_address(driver) {
        let primary = Primary::of(driver, 0)?;
        for place in [HOST, NODE] {
            let mapped = mapped_in(driver, place)?;
            assert_eq!(grant(driver, mapped.address, M, DEVICE, READ_WRITE), SUCCESS);
            assert_eq!(upload(driver, mapped.address, &[5; 64]), SUCCESS);
            assert_eq!(grant(driver, mapped.address, M, place, READ_WRITE), SUCCESS);
            let pointer: *mut u8 = with_exposed_provenance_mut(mapped.address as usize);
            // SAFETY: the host may read and write all of the mapping, and no work is under way there.
            unsafe {
                assert_eq!(pointer.add(63).read(), 5);
                pointer.add(1).write_bytes(6, 62);
            }
            let expected: Vec<u8> = [5].into_iter().chain([6; 62]).chain([5]).collect();
            assert_eq!(download(driver, mapped.address, 64), Ok(expected));
            // Reading alone can be granted, too.
            assert_eq!(grant(driver, mapped.address, M, place, READ), SUCCESS);
            // SAFETY: the host may read all of the mapping.
            assert_eq!(unsafe { pointer.add(1).read() }, 6);
            mapped.end(driver)?;
        }
        drop(primary);
    }

    fn the_bytes_stay_when_the_host_loses_and_regains_access(driver) {
        let mapped = mapped_in(driver, NODE)?;
        let pointer: *mut u8 = with_exposed_provenance_mut(mapped.address as usize);
        for round in 0..3 {
            assert_eq!(grant(driver, mapped.address, M, NODE, READ_WRITE), SUCCESS);
            // SAFETY: the host may read and write all of the mapping, and no work is under way there.
            unsafe {
                assert_eq!(pointer.read(), round);
                pointer.write(round + 1);
            }
            assert_eq!(grant(driver, mapped.address, M, NODE, NONE), SUCCESS);
        }
        mapped.end(driver)?;
    }

    fn the_hosts_access_is_one_however_it_is_named(driver) {
        let mapped = mapped_in(driver, HOST)?;
        for name in [HOST, location(2, 5), NODE, location(3, 5)] {
            assert_eq!(grant(driver, mapped.address, M, name, READ_WRITE), SUCCESS);
            for asked in [HOST, NODE, location(3, 5)] {
                assert_eq!(granted(driver, mapped.address, asked)?, u64::from(READ_WRITE));
            }
            assert_eq!(granted(driver, mapped.address, DEVICE)?, 0);
            assert_eq!(grant(driver, mapped.address, M, name, NONE), SUCCESS);
            assert_eq!(granted(driver, mapped.address, NODE)?, 0);
        }
        // The node of the calling thread is no location for memory.
        assert_eq!(grant(driver, mapped.address, M, location(4, 0), READ), CUresult::CUDA_ERROR_INVALID_VALUE);
        mapped.end(driver)?;
    }

    fn asked_about_the_host_as_such_the_least_access_is_the_answer(driver) {
        let mapped = mapped_in(driver, HOST)?;
        assert_eq!(grant(driver, mapped.address, M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(granted(driver, mapped.address, HOST)?, u64::from(READ_WRITE));
        assert_eq!(grant(driver, mapped.address, M, HOST, READ), SUCCESS);
        assert_eq!(granted(driver, mapped.address, HOST)?, u64::from(READ));
        assert_eq!(granted(driver, mapped.address, NODE)?, u64::from(READ));
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ_WRITE));
        mapped.end(driver)?;
    }

    fn memory_readable_by_the_host_can_be_copied_without_the_device(driver) {
        let primary = Primary::of(driver, 0)?;
        let mapped = mapped_in(driver, HOST)?;
        assert_eq!(grant(driver, mapped.address, M, HOST, READ), SUCCESS);
        assert_eq!(download(driver, mapped.address, 64), Ok(vec![0; 64]));
        mapped.end(driver)?;
        drop(primary);
    }

    fn memory_of_the_host_calls_itself_memory_of_its_first_node(driver) {
        for asked in [HOST, location(2, 5), NODE] {
            let handle = create(driver, asked, M)?;
            let mut found = physical_memory(DEVICE);
            call!(driver.cuMemGetAllocationPropertiesFromHandle(&mut found, handle))?;
            assert_eq!((found.location.type_, found.location.id()), (NODE.type_, 0));
            call!(driver.cuMemRelease(handle))?;
        }
    }

    fn only_memory_of_a_node_can_be_shared_between_processes(driver) {
        let mut handle = 7;
        let mut asked = physical_memory(HOST);
        asked.requestedHandleTypes = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        answers!(driver.cuMemCreate(&mut handle, M, &asked, 0), CUDA_ERROR_INVALID_VALUE);
        asked.location = NODE;
        call!(driver.cuMemCreate(&mut handle, M, &asked, 0))?;
        call!(driver.cuMemRelease(handle))?;
    }

    fn a_host_runs_out_of_memory(driver) {
        for place in [HOST, NODE] {
            for size in [1 << 45, 1 << 60] {
                let mut handle = 7;
                let code = code_of(call!(driver.cuMemCreate(&mut handle, size, &physical_memory(place), 0)));
                assert_eq!((code, handle), (CUresult::CUDA_ERROR_OUT_OF_MEMORY, 7));
            }
        }
    }
}
