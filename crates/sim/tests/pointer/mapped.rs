//! Mappings and reservations.

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, physical_memory};

use crate::support::*;

const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);

/// A reservation of 4 MiB with memory mapped and no access granted.
struct Mapping {
    address: u64,
    handle: u64,
}

const SIZE: usize = 4 << 20;

impl Mapping {
    fn new(driver: &Driver) -> TestResult<Mapping> {
        let (mut address, mut handle) = (0, 0);
        call!(driver.cuMemCreate(&mut handle, SIZE, &physical_memory(DEVICE), 0))?;
        call!(driver.cuMemAddressReserve(&mut address, SIZE, 0, 0, 0))?;
        call!(driver.cuMemMap(address, SIZE, 0, handle, 0))?;
        Ok(Mapping { address, handle })
    }

    fn open(&self, driver: &Driver) -> TestResult {
        let access = CUmemAccessDesc { location: DEVICE, flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        Ok(call!(driver.cuMemSetAccess(self.address, SIZE, &access, 1))?)
    }

    fn end(self, driver: &Driver) -> TestResult {
        call!(driver.cuMemUnmap(self.address, SIZE))?;
        call!(driver.cuMemRelease(self.handle))?;
        Ok(call!(driver.cuMemAddressFree(self.address, SIZE))?)
    }
}

driver_tests! {
    fn a_mapping_belongs_to_no_context_and_is_as_open_as_it_was_made(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mapping = Mapping::new(driver)?;
        for at in [mapping.address, mapping.address + 2 * MIB] {
            assert_eq!(int(driver, ACCESS, at), 0);
            refuses_zeroed(driver, DEVICE_POINTER, at);
        }
        mapping.open(driver)?;
        for at in [mapping.address, mapping.address + 2 * MIB] {
            assert_eq!(word(driver, CONTEXT, at), 0);
            assert_eq!(word(driver, POOL, at), 0);
            assert_eq!(int(driver, MEMORY_TYPE, at), 2);
            assert_eq!(word(driver, DEVICE_POINTER, at), at);
            refuses_zeroed(driver, HOST_POINTER, at);
            assert_eq!(int(driver, SYNC_MEMOPS, at), 0);
            assert_eq!(int(driver, IS_MANAGED, at), 0);
            assert_eq!(int(driver, DEVICE_ORDINAL, at), 0);
            assert_eq!(int(driver, LEGACY_IPC, at), 0);
            assert_eq!(word(driver, RANGE_START, at), mapping.address);
            assert_eq!(word(driver, RANGE_SIZE, at), SIZE as u64);
            assert_eq!(int(driver, MAPPED, at), 1);
            assert_eq!(word(driver, HANDLE_TYPES, at), 0);
            assert_eq!(int(driver, RDMA, at), 0);
            assert_eq!(int(driver, ACCESS, at), 3);
            assert_eq!(word(driver, MAPPING_SIZE, at), SIZE as u64);
            assert_eq!(word(driver, MAPPING_BASE, at), mapping.address);
            assert_eq!(int(driver, DECOMPRESS, at), 0);
        }
        answers!(driver.cuMemFree_v2(mapping.address), CUDA_ERROR_INVALID_VALUE);
        let one = 1u32;
        answers!(
            driver.cuPointerSetAttribute((&raw const one).cast(), CUpointer_attribute(SYNC_MEMOPS), mapping.address),
            CUDA_ERROR_NOT_SUPPORTED
        );
        mapping.end(driver)?;
    }

    fn a_reservation_shows_its_range_in_a_list_alone(driver) {
        let _primary = Primary::of(driver, 0)?;
        let mut address = 0;
        call!(driver.cuMemAddressReserve(&mut address, SIZE, 0, 0, 0))?;
        for attribute in 0..26 {
            refuses_untouched(driver, attribute, address);
        }
        let (code, values) = ask_all(driver, &[RANGE_START, RANGE_SIZE, HOST_POINTER, MEMORY_TYPE], address);
        assert_eq!(code, CUresult::CUDA_SUCCESS);
        assert_eq!((values[0][0], values[1][0], values[2][0]), (address, SIZE as u64, address));
        assert_eq!(values[3][0] as u32, 0);
        answers!(driver.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
        let (mut base, mut size) = (1, 1);
        answers!(driver.cuMemGetAddressRange_v2(&mut base, &mut size, address), CUDA_ERROR_NOT_FOUND);
        assert_eq!((base, size), (0, 0));
        call!(driver.cuMemAddressFree(address, SIZE))?;
    }
}
