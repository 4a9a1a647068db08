//! The few calls that nearly every test makes.

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, code_of, physical_memory};

/// The granularity of everything.
pub(crate) const M: usize = 2 << 20;

pub(crate) const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
pub(crate) const HOST: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
pub(crate) const NODE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0);

/// A location that need not exist.
pub(crate) fn location(kind: i32, id: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType(kind as _), id)
}

pub(crate) fn create(driver: &Driver, location: CUmemLocation, size: usize) -> TestResult<u64> {
    let mut handle = 0;
    call!(driver.cuMemCreate(&mut handle, size, &physical_memory(location), 0))?;
    Ok(handle)
}

pub(crate) fn reserve(driver: &Driver, size: usize) -> TestResult<u64> {
    let mut address = 0;
    call!(driver.cuMemAddressReserve(&mut address, size, 0, 0, 0))?;
    Ok(address)
}

pub(crate) const NONE: u32 = 0;
pub(crate) const READ: u32 = 1;
pub(crate) const READ_WRITE: u32 = 3;

pub(crate) fn access(location: CUmemLocation, flags: u32) -> CUmemAccessDesc {
    CUmemAccessDesc { location, flags: CUmemAccess_flags(flags as _) }
}

/// Sets access for one location and says what the driver answered.
pub(crate) fn grant(driver: &Driver, address: u64, size: usize, location: CUmemLocation, flags: u32) -> CUresult {
    let access = access(location, flags);
    code_of(call!(driver.cuMemSetAccess(address, size, &access, 1)))
}

/// The access of a location to an address.
pub(crate) fn granted(driver: &Driver, address: u64, location: CUmemLocation) -> TestResult<u64> {
    let mut flags = 77;
    call!(driver.cuMemGetAccess(&mut flags, &location, address))?;
    Ok(flags)
}

/// Memory at an address, which device 0 may read and write.
pub(crate) struct Mapped {
    pub(crate) address: u64,
    pub(crate) size: usize,
    pub(crate) handle: u64,
}

impl Mapped {
    /// A reservation with memory of device 0 behind it.
    pub(crate) fn new(driver: &Driver, size: usize) -> TestResult<Mapped> {
        let (address, handle) = (reserve(driver, size)?, create(driver, DEVICE, size)?);
        call!(driver.cuMemMap(address, size, 0, handle, 0))?;
        assert_eq!(grant(driver, address, size, DEVICE, READ_WRITE), CUresult::CUDA_SUCCESS);
        Ok(Mapped { address, size, handle })
    }

    /// Gives everything back.
    pub(crate) fn end(self, driver: &Driver) -> TestResult {
        call!(driver.cuMemUnmap(self.address, self.size))?;
        call!(driver.cuMemRelease(self.handle))?;
        Ok(call!(driver.cuMemAddressFree(self.address, self.size))?)
    }
}

/// The code of a copy from the host to an address.
pub(crate) fn upload(driver: &Driver, address: u64, bytes: &[u8]) -> CUresult {
    code_of(call!(driver.cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len())))
}

/// The bytes at an address.
pub(crate) fn download(driver: &Driver, address: u64, len: usize) -> Result<Vec<u8>, CUresult> {
    let mut bytes = vec![0xee; len];
    match code_of(call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, len))) {
        CUresult::CUDA_SUCCESS => Ok(bytes),
        code => Err(code),
    }
}
