//! Physical allocations at addresses.

use std::ptr::{null_mut, with_exposed_provenance_mut};

use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests, open, physical_memory};

use super::support::*;

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

driver_tests! {
    fn bytes_survive_the_trip_to_mapped_memory_and_back(driver) {
        let primary = Primary::of(driver, 0)?;
        let mapped = Mapped::new(driver, 2 * M)?;
        let sent: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        assert_eq!(upload(driver, mapped.address + M as u64 - 4321, &sent), SUCCESS);
        assert_eq!(download(driver, mapped.address + M as u64 - 4321, sent.len()), Ok(sent));
        mapped.end(driver)?;
        drop(primary);
    }

    fn a_handle_mapped_twice_is_the_same_memory_twice(driver) {
        let primary = Primary::of(driver, 0)?;
        let first = Mapped::new(driver, M)?;
        let second = reserve(driver, M)?;
        call!(driver.cuMemMap(second, M, 0, first.handle, 0))?;
        assert_eq!(granted(driver, second, DEVICE)?, 0, "access belongs to a mapping, not to the memory");
        assert_eq!(grant(driver, second, M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(upload(driver, first.address, &[0x5a; 64]), SUCCESS);
        assert_eq!(download(driver, second, 64), Ok(vec![0x5a; 64]));
        assert_eq!(upload(driver, second + 64, &[0xa5; 64]), SUCCESS);
        assert_eq!(download(driver, first.address + 64, 64), Ok(vec![0xa5; 64]));
        call!(driver.cuMemUnmap(second, M))?;
        call!(driver.cuMemAddressFree(second, M))?;
        assert_eq!(download(driver, first.address, 64), Ok(vec![0x5a; 64]), "the other mapping is still there");
        first.end(driver)?;
        drop(primary);
    }

    fn a_copy_runs_across_mappings_side_by_side(driver) {
        let primary = Primary::of(driver, 0)?;
        let base = reserve(driver, 3 * M)?;
        let handles = [create(driver, DEVICE, 2 * M)?, create(driver, DEVICE, M)?];
        call!(driver.cuMemMap(base, 2 * M, 0, handles[0], 0))?;
        call!(driver.cuMemMap(base + 2 * M as u64, M, 0, handles[1], 0))?;
        assert_eq!(grant(driver, base, 3 * M, DEVICE, READ_WRITE), SUCCESS);
        let sent: Vec<u8> = (0..=255).cycle().take(2 * M).collect();
        assert_eq!(upload(driver, base + M as u64, &sent), SUCCESS);
        assert_eq!(download(driver, base + M as u64, 2 * M).as_ref(), Ok(&sent));
        assert_eq!(upload(driver, base + M as u64 + 1, &sent), CUresult::CUDA_ERROR_INVALID_VALUE);
        // Taken apart and put together the other way round, the memory has kept its bytes.
        call!(driver.cuMemUnmap(base, 3 * M))?;
        call!(driver.cuMemMap(base, M, 0, handles[1], 0))?;
        assert_eq!(grant(driver, base, M, DEVICE, READ), SUCCESS);
        assert_eq!(download(driver, base, M).as_deref(), Ok(&sent[M..]));
        call!(driver.cuMemUnmap(base, M))?;
        for handle in handles {
            call!(driver.cuMemRelease(handle))?;
        }
        call!(driver.cuMemAddressFree(base, 3 * M))?;
        drop(primary);
    }

    fn a_copy_across_mappings_needs_a_current_context_and_a_fill_does_not(driver) {
        let primary = Primary::of(driver, 0)?;
        let base = reserve(driver, 2 * M)?;
        let handles = [create(driver, DEVICE, M)?, create(driver, DEVICE, M)?];
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        for (at, handle) in (base..).step_by(M).zip(handles) {
            call!(driver.cuMemMap(at, M, 0, handle, 0))?;
        }
        assert_eq!(grant(driver, base, 2 * M, DEVICE, READ_WRITE), SUCCESS);
        let (across, inside) = (base + M as u64 - 2, base + M as u64 - 4);
        let mut host = [0_u8; 4];
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        call!(driver.cuMemsetD8Async(inside, 7, 8, stream))?;
        for (from, answer) in [(across, CUresult::CUDA_ERROR_INVALID_VALUE), (inside, SUCCESS)] {
            let copied = call!(driver.cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), from, 4, stream));
            assert_eq!(code_of(copied), answer);
            call!(driver.cuStreamSynchronize(stream))?;
        }
        primary.make_current()?;
        host.fill(0);
        call!(driver.cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), across, 4, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(host, [7; 4]);
        call!(driver.cuStreamDestroy_v2(stream))?;
        call!(driver.cuMemUnmap(base, 2 * M))?;
        for handle in handles {
            call!(driver.cuMemRelease(handle))?;
        }
        call!(driver.cuMemAddressFree(base, 2 * M))?;
    }

    fn neighbouring_reservations_are_as_good_as_one(driver) {
        let primary = Primary::of(driver, 0)?;
        let first = reserve(driver, 2 * M)?;
        call!(driver.cuMemAddressFree(first, 2 * M))?;
        let second = first + M as u64;
        let mut got = [0; 2];
        call!(driver.cuMemAddressReserve(&mut got[0], M, 0, first, 0))?;
        call!(driver.cuMemAddressReserve(&mut got[1], M, 0, second, 0))?;
        assert_eq!(got, [first, second]);
        let handle = create(driver, DEVICE, 2 * M)?;
        call!(driver.cuMemMap(first, 2 * M, 0, handle, 0))?;
        assert_eq!(grant(driver, first, 2 * M, DEVICE, READ_WRITE), SUCCESS);
        assert_eq!(upload(driver, second - 64, &[3; 128]), SUCCESS);
        assert_eq!(download(driver, second - 64, 128), Ok(vec![3; 128]));
        answers!(driver.cuMemAddressFree(first, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemAddressFree(second, M), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemUnmap(first, 2 * M))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(first, M))?;
        call!(driver.cuMemAddressFree(second, M))?;
        drop(primary);
    }

    fn only_a_whole_allocation_can_be_mapped(driver) {
        let (base, handle) = (reserve(driver, 8 * M)?, create(driver, DEVICE, 2 * M)?);
        for (size, offset) in [(M, 0), (M, M), (4 * M, 0), (1, 0), (2 * M, M), (M, 4096)] {
            answers!(driver.cuMemMap(base, size, offset, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
        }
        // That comes before the address is looked at, but behind everything else.
        answers!(driver.cuMemMap(0x7e00_0000_0000, M, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
        answers!(driver.cuMemMap(0, M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(base, 0, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(base, M, 0, handle, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(base, M, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 8 * M))?;
    }

    // On a real driver, somebody else's reservation may follow.
    sim fn a_mapping_ends_inside_reservations(driver) {
        let (base, handle) = (reserve(driver, 8 * M)?, create(driver, DEVICE, 2 * M)?);
        answers!(driver.cuMemMap(base + 7 * M as u64, 2 * M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 8 * M))?;
    }

    fn a_mapping_needs_an_aligned_and_free_place_in_reservations(driver) {
        let (base, handle) = (reserve(driver, 8 * M)?, create(driver, DEVICE, 2 * M)?);
        let at = |granule: usize| base + (granule * M) as u64;
        answers!(driver.cuMemMap(base + 4096, 2 * M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemMap(0x7e00_0000_0000, 2 * M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemMap(at(2), 2 * M, 0, handle, 0))?;
        for granule in [1, 2, 3] {
            answers!(driver.cuMemMap(at(granule), 2 * M, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
        }
        for granule in [0, 4, 6] {
            call!(driver.cuMemMap(at(granule), 2 * M, 0, handle, 0))?;
        }
        call!(driver.cuMemUnmap(base, 8 * M))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 8 * M))?;
    }

    fn a_mapping_is_unmapped_whole(driver) {
        let (base, handle) = (reserve(driver, 4 * M)?, create(driver, DEVICE, 2 * M)?);
        call!(driver.cuMemMap(base, 2 * M, 0, handle, 0))?;
        let middle = base + M as u64;
        answers!(driver.cuMemUnmap(base, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(middle, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(middle, 2 * M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(base, 2 * M - 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(base, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(0x7e00_0000_0000, M), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemUnmap(0, M), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(granted(driver, base, DEVICE)?, 0, "the mapping is still there");
        call!(driver.cuMemUnmap(base, 2 * M))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 4 * M))?;
    }

    fn unmapping_skips_what_is_not_mapped(driver) {
        let (base, handle) = (reserve(driver, 8 * M)?, create(driver, DEVICE, 2 * M)?);
        let at = |granule: usize| base + (granule * M) as u64;
        for granule in [1, 5] {
            call!(driver.cuMemMap(at(granule), 2 * M, 0, handle, 0))?;
        }
        call!(driver.cuMemUnmap(at(4), M))?;
        call!(driver.cuMemUnmap(base, 8 * M))?;
        let mut flags = 7;
        for granule in [1, 5] {
            answers!(driver.cuMemGetAccess(&mut flags, &DEVICE, at(granule)), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuMemUnmap(base, 8 * M))?;
        call!(driver.cuMemUnmap(base + 4096, 4096))?;
        call!(driver.cuMemRelease(handle))?;
        call!(driver.cuMemAddressFree(base, 8 * M))?;
        answers!(driver.cuMemUnmap(base, 8 * M), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_reservation_with_a_mapping_is_not_freed(driver) {
        let (base, handle) = (reserve(driver, 2 * M)?, create(driver, DEVICE, M)?);
        let second = base + M as u64;
        call!(driver.cuMemMap(second, M, 0, handle, 0))?;
        answers!(driver.cuMemAddressFree(base, 2 * M), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemUnmap(second, M))?;
        call!(driver.cuMemAddressFree(base, 2 * M))?;
        call!(driver.cuMemRelease(handle))?;
    }

    fn memory_outlives_its_handle_while_it_is_mapped(driver) {
        let primary = Primary::of(driver, 0)?;
        let Mapped { address, handle, .. } = Mapped::new(driver, M)?;
        assert_eq!(upload(driver, address, &[9; 64]), SUCCESS);
        call!(driver.cuMemRelease(handle))?;
        assert_eq!(download(driver, address, 64), Ok(vec![9; 64]));
        answers!(driver.cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
        // The handle is no one's, but it still names the memory; an address gives a reference back.
        let second = reserve(driver, M)?;
        call!(driver.cuMemMap(second, M, 0, handle, 0))?;
        let mut retained = 0;
        call!(driver.cuMemRetainAllocationHandle(&mut retained, with_exposed_provenance_mut(address as usize)))?;
        assert_eq!(retained, handle);
        call!(driver.cuMemUnmap(address, M))?;
        call!(driver.cuMemUnmap(second, M))?;
        call!(driver.cuMemMap(address, M, 0, retained, 0))?;
        assert_eq!(grant(driver, address, M, DEVICE, READ), SUCCESS);
        assert_eq!(download(driver, address, 64), Ok(vec![9; 64]));
        call!(driver.cuMemUnmap(address, M))?;
        call!(driver.cuMemRelease(retained))?;
        answers!(driver.cuMemRelease(retained), CUDA_ERROR_INVALID_VALUE);
        for address in [address, second] {
            call!(driver.cuMemAddressFree(address, M))?;
        }
        drop(primary);
    }

    fn a_mapping_without_a_handle_still_holds_the_devices_memory(driver) {
        let most = 80 << 30;
        let (address, handle) = (reserve(driver, most)?, create(driver, DEVICE, most)?);
        call!(driver.cuMemMap(address, most, 0, handle, 0))?;
        call!(driver.cuMemRelease(handle))?;
        let mut second = 7;
        answers!(driver.cuMemCreate(&mut second, most, &physical_memory(DEVICE), 0), CUDA_ERROR_OUT_OF_MEMORY);
        call!(driver.cuMemUnmap(address, most))?;
        call!(driver.cuMemAddressFree(address, most))?;
        let second = create(driver, DEVICE, most)?;
        call!(driver.cuMemRelease(second))?;
    }

    fn every_address_of_a_mapping_gives_its_handle(driver) {
        let primary = Primary::of(driver, 0)?;
        let mapped = Mapped::new(driver, 2 * M)?;
        let retain = |address: u64, out: &mut u64| {
            warploom_testkit::code_of(
                call!(driver.cuMemRetainAllocationHandle(out, with_exposed_provenance_mut(address as usize))),
            )
        };
        for offset in [0, 100, M as u64 + 5, 2 * M as u64 - 1] {
            let mut handle = 0;
            assert_eq!(retain(mapped.address + offset, &mut handle), SUCCESS);
            assert_eq!(handle, mapped.handle);
            call!(driver.cuMemRelease(handle))?;
        }
        let mut plain = 0;
        call!(driver.cuMemAlloc_v2(&mut plain, 4096))?;
        let bare = reserve(driver, M)?;
        let mut handle = 7;
        for address in [plain, bare, 0, 0xdead_0000] {
            assert_eq!(retain(address, &mut handle), CUresult::CUDA_ERROR_INVALID_VALUE, "{address:#x}");
        }
        assert_eq!(handle, 7);
        call!(driver.cuMemFree_v2(plain))?;
        call!(driver.cuMemAddressFree(bare, M))?;
        mapped.end(driver)?;
        drop(primary);
    }

    fn mapped_memory_is_not_freed_like_plain_memory(driver) {
        let primary = Primary::of(driver, 0)?;
        let mapped = Mapped::new(driver, M)?;
        answers!(driver.cuMemFree_v2(mapped.address), CUDA_ERROR_INVALID_VALUE);
        mapped.end(driver)?;
        drop(primary);
    }

    fn none_of_it_needs_a_context(driver) {
        let mapped = Mapped::new(driver, M)?;
        let mut handle = 0;
        let address = with_exposed_provenance_mut(mapped.address as usize);
        call!(driver.cuMemRetainAllocationHandle(&mut handle, address))?;
        call!(driver.cuMemRelease(handle))?;
        assert_eq!(granted(driver, mapped.address, DEVICE)?, u64::from(READ_WRITE));
        mapped.end(driver)?;
    }
}

/// The real driver faults on it; the simulator protects the new owner of the memory.
#[test]
fn work_after_its_unmap_does_not_affect_other_memory() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let primary = Primary::of(driver, 0)?;
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    let old = Mapped::new(driver, M)?;
    call!(driver.cuMemsetD8Async(old.address, 0xee, M, stream))?;
    call!(driver.cuMemUnmap(old.address, M))?;
    call!(driver.cuMemRelease(old.handle))?;
    let new = Mapped::new(driver, M)?;
    assert_eq!(upload(driver, new.address, &[7; 4096]), SUCCESS);
    call!(driver.cuStreamSynchronize(stream))?;
    assert_eq!(download(driver, new.address, 4096), Ok(vec![7; 4096]));
    call!(driver.cuStreamDestroy_v2(stream))?;
    call!(driver.cuMemAddressFree(old.address, M))?;
    new.end(driver)?;
    drop(primary);
    Ok(())
}
