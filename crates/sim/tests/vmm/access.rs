//! Access rights of mappings.

use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, answers, call, code_of, driver_tests};

use super::support::*;

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

driver_tests! {
    fn a_new_mapping_grants_no_access(driver) {
        let primary = Primary::of(driver, 0)?;
        let (base, handle) = (reserve(driver, M)?, create(driver, DEVICE, M)?);
        call!(driver.cuMemMap(base, M, 0, handle, 0))?;
        assert_eq!(granted(driver, base, DEVICE)?, u64::from(NONE));
        assert_eq!(upload(driver, base, &[1; 64]), INVALID);
        assert_eq!(download(driver, base, 64), Err(INVALID));
        assert_eq!(grant(driver, base, M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(upload(driver, base, &[1; 64]), SUCCESS);
        // Mapped again, it starts anew.
        call!(driver.cuMemUnmap(base, M))?;
        call!(driver.cuMemMap(base, M, 0, handle, 0))?;
        assert_eq!(granted(driver, base, DEVICE)?, u64::from(NONE));
        assert_eq!(download(driver, base, 64), Err(INVALID));
        call!(driver.cuMemUnmap(base, M))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, M))?;
        drop(primary);
    }

    fn read_only_memory_is_not_written(driver) {
        let primary = Primary::of(driver, 0)?;
        let mapped = Mapped::new(driver, M)?;
        assert_eq!(upload(driver, mapped.address, &[7; 64]), SUCCESS);
        assert_eq!(grant(driver, mapped.address, M, DEVICE, READ), SUCCESS);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ));
        assert_eq!(upload(driver, mapped.address, &[8; 64]), INVALID);
        assert_eq!(download(driver, mapped.address, 64), Ok(vec![7; 64]));
        assert_eq!(grant(driver, mapped.address, M, DEVICE, NONE), SUCCESS);
        assert_eq!(download(driver, mapped.address, 64), Err(INVALID));
        mapped.end(driver)?;
        drop(primary);
    }

    fn a_copy_needs_access_to_every_mapping_it_touches(driver) {
        let primary = Primary::of(driver, 0)?;
        let (base, handles) = (reserve(driver, 2 * M)?, [create(driver, DEVICE, M)?, create(driver, DEVICE, M)?]);
        let second = base + M as u64;
        call!(driver.cuMemMap(base, M, 0, handles[0], 0))?;
        call!(driver.cuMemMap(second, M, 0, handles[1], 0))?;
        assert_eq!(grant(driver, base, M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(upload(driver, second - 64, &[1; 128]), INVALID);
        assert_eq!(grant(driver, second, M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(upload(driver, second - 64, &[1; 128]), SUCCESS);
        assert_eq!(grant(driver, second, M, DEVICE, READ), SUCCESS);
        assert_eq!(upload(driver, second - 64, &[1; 128]), INVALID);
        assert!(download(driver, second - 64, 128).is_ok());
        call!(driver.cuMemUnmap(base, 2 * M))?;
        for handle in handles {
            call!(driver.cuMemRelease(handle))?;
        }
        call!(driver.cuMemAddressFree(base, 2 * M))?;
        drop(primary);
    }

    fn access_is_set_from_the_start_of_a_mapping_to_the_end_of_one(driver) {
        let (base, handle) = (reserve(driver, 8 * M)?, create(driver, DEVICE, 2 * M)?);
        let second = base + 2 * M as u64;
        let last = base + 6 * M as u64;
        for address in [base, second, last] {
            call!(driver.cuMemMap(address, 2 * M, 0, handle, 0))?;
        }
        let refused = [
            (base, 0),
            (base, 1),
            (base, M),
            (base, M + 4096),
            (base + M as u64, M),
            (base, 3 * M),
            (base, 6 * M),
            (base + 4 * M as u64, 2 * M),
            (base + 4 * M as u64, 4 * M),
            (0x7e00_0000_0000, M),
            (0, M),
        ];
        for (address, size) in refused {
            assert_eq!(grant(driver, address, size, DEVICE, READ), INVALID, "{size} bytes at {address:#x}");
        }
        assert_eq!(granted(driver, base, DEVICE)?, u64::from(NONE));
        assert_eq!(grant(driver, base, 4 * M, DEVICE, READ), SUCCESS);
        for (address, expected) in [(base, READ), (base + M as u64, READ), (second, READ), (last, NONE)] {
            assert_eq!(granted(driver, address, DEVICE)?, u64::from(expected));
        }
        assert_eq!(grant(driver, second, 2 * M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(granted(driver, base, DEVICE)?, u64::from(READ));
        assert_eq!(grant(driver, base, 8 * M, DEVICE, READ_WRITE), SUCCESS, "a gap between goes unnoticed");
        assert_eq!(granted(driver, last, DEVICE)?, u64::from(NONE), "and nothing behind it is changed");
        call!(driver.cuMemUnmap(base, 8 * M))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 8 * M))?;
    }

    fn a_description_names_what_exists(driver) {
        let mapped = Mapped::new(driver, M)?;
        for flags in [2, 4, 7] {
            assert_eq!(grant(driver, mapped.address, M, DEVICE, flags), INVALID, "{flags}");
        }
        for (kind, id) in [(0, 0), (1, -1), (1, 99), (4, 0), (9, 0)] {
            assert_eq!(grant(driver, mapped.address, M, location(kind, id), READ), INVALID, "{id} of type {kind}");
        }
        let good = access(DEVICE, READ);
        answers!(driver.cuMemSetAccess(mapped.address, M, &good, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ_WRITE));
        mapped.end(driver)?;
    }

    fn descriptions_take_effect_one_after_the_other(driver) {
        let mapped = Mapped::new(driver, M)?;
        let set = |descriptions: &[CUmemAccessDesc]| {
            code_of(call!(driver.cuMemSetAccess(mapped.address, M, descriptions.as_ptr(), descriptions.len())))
        };
        assert_eq!(set(&[access(DEVICE, READ_WRITE), access(DEVICE, READ)]), SUCCESS);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ));
        // One that names nothing spoils all of them.
        assert_eq!(set(&[access(DEVICE, NONE), access(location(1, 99), READ)]), INVALID);
        assert_eq!(set(&[access(DEVICE, NONE), access(DEVICE, 2)]), INVALID);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ));
        // One that cannot be granted spoils itself and those behind it.
        let unsupported = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        assert_eq!(set(&[access(HOST, READ), access(DEVICE, NONE)]), unsupported);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ));
        assert_eq!(set(&[access(DEVICE, NONE), access(HOST, READ)]), unsupported);
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(NONE));
        assert_eq!(set(&[access(NODE, READ)]), unsupported);
        mapped.end(driver)?;
    }

    fn access_is_asked_of_a_location_that_exists(driver) {
        let mapped = Mapped::new(driver, M)?;
        let mut flags = 7;
        for (kind, id) in [(0, 0), (1, -1), (1, 99), (4, 0), (7, 0)] {
            let location = location(kind, id);
            answers!(driver.cuMemGetAccess(&mut flags, &location, mapped.address), CUDA_ERROR_INVALID_DEVICE);
            // Before the address is looked at, unless that is null.
            answers!(driver.cuMemGetAccess(&mut flags, &location, 0x1234), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuMemGetAccess(&mut flags, &location, 0), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuMemGetAccess(&mut flags, &DEVICE, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(flags, 7);
        mapped.end(driver)?;
    }

    fn an_unmapped_address_answers_an_error_and_a_zero(driver) {
        let base = reserve(driver, M)?;
        for address in [base, 0xdead_0000] {
            let mut flags = 7;
            answers!(driver.cuMemGetAccess(&mut flags, &DEVICE, address), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(flags, 0);
        }
        call!(driver.cuMemAddressFree(base, M))?;
    }

    fn plain_memory_has_no_access_of_this_kind(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, M))?;
        assert_eq!(granted(driver, plain, DEVICE)?, 0);
        assert_eq!(grant(driver, plain, M, DEVICE, READ), INVALID);
        call!(driver.cuMemFree_v2(plain))?;
        drop(primary);
    }

    fn the_host_as_such_has_what_the_device_has_but_its_nodes_have_nothing(driver) {
        let mapped = Mapped::new(driver, M)?;
        for flags in [READ_WRITE, READ, NONE] {
            assert_eq!(grant(driver, mapped.address, M, DEVICE, flags), SUCCESS);
            assert_eq!(granted(driver, mapped.address, HOST)?, u64::from(flags));
            assert_eq!(granted(driver, mapped.address, NODE)?, 0);
            assert_eq!(granted(driver, mapped.address, location(3, 99))?, 0);
        }
        mapped.end(driver)?;
    }
}
