//! Managed memory that frees itself, and short names for what is asked of it.

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemLocation, CUmemLocationType, CUstream,
};
use warploom_testkit::{TestResult, call};

pub(crate) const MIB: usize = 1 << 20;
pub(crate) const PAGE: usize = 4096;

pub(crate) const SET_READ_MOSTLY: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_SET_READ_MOSTLY;
pub(crate) const UNSET_READ_MOSTLY: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_UNSET_READ_MOSTLY;
pub(crate) const SET_PREFERRED: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION;
pub(crate) const UNSET_PREFERRED: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
pub(crate) const SET_ACCESSED_BY: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_SET_ACCESSED_BY;
pub(crate) const UNSET_ACCESSED_BY: CUmem_advise = CUmem_advise::CU_MEM_ADVISE_UNSET_ACCESSED_BY;

pub(crate) const READ_MOSTLY: u32 = 1;
pub(crate) const PREFERRED: u32 = 2;
pub(crate) const ACCESSED_BY: u32 = 3;
pub(crate) const PREFETCHED: u32 = 4;
pub(crate) const PREFERRED_TYPE: u32 = 5;
pub(crate) const PREFERRED_ID: u32 = 6;
pub(crate) const PREFETCHED_TYPE: u32 = 7;
pub(crate) const PREFETCHED_ID: u32 = 8;

pub(crate) const HOST: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
pub(crate) const CURRENT_NODE: CUmemLocation =
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0);

/// The id means nothing.
pub(crate) const CURRENT_NODE_5: CUmemLocation =
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 5);

pub(crate) const fn device(ordinal: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, ordinal)
}

pub(crate) fn node(id: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, id)
}

pub(crate) fn kind(raw: u32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType(raw), 0)
}

pub(crate) fn attribute(raw: u32) -> CUmem_range_attribute {
    CUmem_range_attribute(raw)
}

pub(crate) fn words<'a>(address: u64, count: usize) -> &'a mut [u32] {
    // SAFETY: the tests pass managed memory of that size, which nobody else uses while they hold the slice.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(address as usize), count) }
}

/// Managed memory of the current context.
pub(crate) struct Memory {
    driver: Driver,
    pub(crate) address: CUdeviceptr,
    pub(crate) bytes: usize,
}

impl Memory {
    pub(crate) fn new(driver: &Driver, bytes: usize) -> TestResult<Memory> {
        let mut address = 0;
        call!(driver.cuMemAllocManaged(&mut address, bytes, 1))?;
        Ok(Memory { driver: driver.clone(), address, bytes })
    }

    /// Advises on all of it, by an ordinal.
    pub(crate) fn advise_old(&self, advice: CUmem_advise, ordinal: i32) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuMemAdvise(self.address, self.bytes, advice, ordinal))?)
    }

    pub(crate) fn advise(&self, advice: CUmem_advise, location: CUmemLocation) -> TestResult {
        self.advise_part(0, self.bytes, advice, location)
    }

    pub(crate) fn advise_part(
        &self,
        start: usize,
        bytes: usize,
        advice: CUmem_advise,
        location: CUmemLocation,
    ) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuMemAdvise_v2(self.address + start as u64, bytes, advice, location))?)
    }

    pub(crate) fn prefetch(&self, location: CUmemLocation, stream: CUstream) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuMemPrefetchAsync_v2(self.address, self.bytes, location, 0, stream))?)
    }

    /// An attribute of all of it.
    pub(crate) fn get(&self, raw: u32) -> TestResult<i32> {
        self.get_part(raw, 0, self.bytes)
    }

    pub(crate) fn get_part(&self, raw: u32, start: usize, bytes: usize) -> TestResult<i32> {
        let (driver, mut value) = (&self.driver, 0x5555_5555_i32);
        let (out, start) = ((&raw mut value).cast(), self.address + start as u64);
        call!(driver.cuMemRangeGetAttribute(out, 4, attribute(raw), start, bytes))?;
        Ok(value)
    }

    /// The devices with accessed-by advice for all of a range, in an array of `room`.
    pub(crate) fn accessed_by(&self, start: usize, bytes: usize, room: usize) -> TestResult<Vec<i32>> {
        let (driver, mut list) = (&self.driver, vec![0x5555_5555_i32; room]);
        let (out, start) = (list.as_mut_ptr().cast(), self.address + start as u64);
        call!(driver.cuMemRangeGetAttribute(out, 4 * room, attribute(ACCESSED_BY), start, bytes))?;
        Ok(list)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let driver = &self.driver;
        let result = call!(driver.cuMemFree_v2(self.address));
        assert!(result.is_ok() || std::thread::panicking(), "{result:?}");
    }
}
