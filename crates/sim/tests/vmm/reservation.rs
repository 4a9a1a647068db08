//! Addresses without memory.

use std::ptr::null_mut;

use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, answers, call, driver_tests};

use super::support::*;

driver_tests! {
    fn a_reservation_is_a_whole_number_of_granules(driver) {
        for size in [0, 1, 4096, M / 2, M + 4096, M + M / 2, usize::MAX] {
            let mut address = 7;
            answers!(driver.cuMemAddressReserve(&mut address, size, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(address, 7, "{size}");
        }
        for size in [M, 2 * M, 1 << 30, 1 << 40] {
            let address = reserve(driver, size)?;
            assert!(address.is_multiple_of(M as u64));
            call!(driver.cuMemAddressFree(address, size))?;
        }
    }

    fn addresses_run_out(driver) {
        for size in [1 << 47, 1 << 48, 1 << 57] {
            let mut address = 7;
            answers!(driver.cuMemAddressReserve(&mut address, size, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
            assert_eq!(address, 7);
        }
    }

    fn a_reservation_is_aligned_as_asked(driver) {
        for align in [1, 2, 512, 4096, M / 2, M, 2 * M, 1 << 30, 1 << 40] {
            let mut address = 0;
            call!(driver.cuMemAddressReserve(&mut address, M, align, 0, 0))?;
            assert!(address.is_multiple_of(align.max(M) as u64), "{address:#x} for {align:#x}");
            call!(driver.cuMemAddressFree(address, M))?;
        }
        let mut address = 7;
        for align in [3, M + M / 2, 1 << 60] {
            answers!(driver.cuMemAddressReserve(&mut address, M, align, 0, 0), CUDA_ERROR_INVALID_VALUE);
        }
        for align in [1 << 47, 1 << 57] {
            answers!(driver.cuMemAddressReserve(&mut address, M, align, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        }
        assert_eq!(address, 7);
    }

    // A hint is no more than that: the real driver takes it often, and not always.
    sim fn a_hint_is_taken_where_it_is_free(driver) {
        let base = reserve(driver, 4 * M)?;
        call!(driver.cuMemAddressFree(base, 4 * M))?;
        let hint = base + M as u64;
        let (mut first, mut second) = (0, 0);
        call!(driver.cuMemAddressReserve(&mut first, M, 0, hint, 0))?;
        assert_eq!(first, hint);
        call!(driver.cuMemAddressReserve(&mut second, M, 0, hint, 0))?;
        assert!(second != 0 && second != hint, "it is taken");
        for address in [first, second] {
            call!(driver.cuMemAddressFree(address, M))?;
        }
    }

    fn a_hint_into_nowhere_is_ignored_and_a_wrong_one_refused(driver) {
        let mut address = 0;
        for hint in [M as u64, 0x6000_0000_0000] {
            call!(driver.cuMemAddressReserve(&mut address, M, 0, hint, 0))?;
            call!(driver.cuMemAddressFree(address, M))?;
        }
        address = 7;
        for (align, hint) in [(0, 0x6000_0000_0001), (1 << 30, 0x6000_0020_0000)] {
            answers!(driver.cuMemAddressReserve(&mut address, M, align, hint, 0), CUDA_ERROR_INVALID_VALUE);
        }
        for hint in [1 << 47, 1 << 50, 1 << 63] {
            answers!(driver.cuMemAddressReserve(&mut address, M, 0, hint, 0), CUDA_ERROR_OUT_OF_MEMORY);
        }
        assert_eq!(address, 7);
    }

    fn reserving_needs_an_out_pointer_and_takes_no_flags(driver) {
        let mut address = 7;
        answers!(driver.cuMemAddressReserve(null_mut(), M, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        for flags in [1, 2] {
            answers!(driver.cuMemAddressReserve(&mut address, M, 0, 0, flags), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(address, 7);
    }

    fn only_a_whole_reservation_is_freed_and_only_once(driver) {
        let base = reserve(driver, 4 * M)?;
        let inside = base + M as u64;
        answers!(driver.cuMemAddressFree(base, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(inside, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(base, 8 * M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(base, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(0, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(0x7f00_0000_0000, M), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemAddressFree(base, 4 * M))?;
        answers!(driver.cuMemAddressFree(base, 4 * M), CUDA_ERROR_INVALID_VALUE);
    }

    fn plain_memory_is_not_a_reservation(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut plain: CUdeviceptr = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, 2 * M))?;
        answers!(driver.cuMemAddressFree(plain, 2 * M), CUDA_ERROR_INVALID_VALUE);
        let handle = create(driver, DEVICE, 2 * M)?;
        answers!(driver.cuMemMap(plain, 2 * M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemFree_v2(plain))?;
        drop(primary);
    }

    fn nothing_can_be_copied_to_a_bare_reservation(driver) {
        let primary = Primary::of(driver, 0)?;
        let base = reserve(driver, M)?;
        assert_eq!(upload(driver, base, &[1; 64]), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(download(driver, base, 64), Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        call!(driver.cuMemAddressFree(base, M))?;
        drop(primary);
    }
}
