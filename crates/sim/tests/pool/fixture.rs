//! Pools that destroy themselves.

use std::ptr::{null_mut, without_provenance_mut};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUdeviceptr, CUmemLocation, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUstream,
};
use warploom_testkit::{TestResult, call, pool_properties};

pub(crate) const MIB: u64 = 1 << 20;
/// The unit in which pools take memory.
pub(crate) const CHUNK: u64 = 32 * MIB;

pub(crate) const FOLLOW: u32 = 1;
pub(crate) const OPPORTUNISTIC: u32 = 2;
pub(crate) const INTERNAL: u32 = 3;
pub(crate) const THRESHOLD: u32 = 4;
pub(crate) const RESERVED: u32 = 5;
pub(crate) const RESERVED_HIGH: u32 = 6;
pub(crate) const USED: u32 = 7;
pub(crate) const USED_HIGH: u32 = 8;

pub(crate) fn device_location(device: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device)
}

/// The properties of an ordinary pool on device 0.
pub(crate) fn properties() -> CUmemPoolProps {
    pool_properties(device_location(0))
}

/// A handle that no driver made; only for functions of the simulator.
pub(crate) fn invented<T>(bits: usize) -> *mut T {
    without_provenance_mut(bits)
}

pub(crate) struct Pool {
    driver: Driver,
    pub(crate) raw: CUmemoryPool,
}

impl Pool {
    pub(crate) fn new(driver: &Driver) -> TestResult<Pool> {
        Pool::with(driver, |_| {})
    }

    /// A pool that never gives memory back of its own accord.
    pub(crate) fn hoarding(driver: &Driver) -> TestResult<Pool> {
        let pool = Pool::new(driver)?;
        pool.set(THRESHOLD, u64::MAX)?;
        Ok(pool)
    }

    pub(crate) fn with(driver: &Driver, change: impl FnOnce(&mut CUmemPoolProps)) -> TestResult<Pool> {
        let mut properties = properties();
        change(&mut properties);
        let mut raw = null_mut();
        call!(driver.cuMemPoolCreate(&mut raw, &properties))?;
        Ok(Pool { driver: driver.clone(), raw })
    }

    pub(crate) fn take(&self, bytes: u64, stream: CUstream) -> TestResult<CUdeviceptr> {
        let driver = &self.driver;
        let mut address = 0;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, bytes as usize, self.raw, stream))?;
        Ok(address)
    }

    pub(crate) fn free(&self, address: CUdeviceptr, stream: CUstream) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuMemFreeAsync(address, stream))?)
    }

    pub(crate) fn get(&self, attribute: u32) -> TestResult<u64> {
        let driver = &self.driver;
        let mut value = 0u64;
        let out = (&raw mut value).cast();
        call!(driver.cuMemPoolGetAttribute(self.raw, CUmemPool_attribute(attribute), out))?;
        Ok(value)
    }

    pub(crate) fn set(&self, attribute: u32, mut value: u64) -> TestResult {
        let driver = &self.driver;
        let from = (&raw mut value).cast();
        Ok(call!(driver.cuMemPoolSetAttribute(self.raw, CUmemPool_attribute(attribute), from))?)
    }

    /// Reserved, its high watermark, used, its high watermark.
    pub(crate) fn statistics(&self) -> TestResult<[u64; 4]> {
        Ok([self.get(RESERVED)?, self.get(RESERVED_HIGH)?, self.get(USED)?, self.get(USED_HIGH)?])
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let driver = &self.driver;
        let result = call!(driver.cuMemPoolDestroy(self.raw));
        assert!(result.is_ok() || std::thread::panicking(), "{result:?}");
    }
}
