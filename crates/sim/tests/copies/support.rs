//! Device memory that frees itself, and descriptors of copies.

use std::ptr::{null, null_mut};

use warploom_testkit::TestResult;
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUdeviceptr, CUmemLocation, CUmemLocationType,
    CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUmemorytype,
};

use warploom_testkit::call;

/// An address outside every allocation.
pub(crate) const GARBAGE: u64 = 0xdead_0000;

/// Device memory of the current context.
pub(crate) struct Memory {
    driver: Driver,
    pub(crate) address: CUdeviceptr,
    pub(crate) len: usize,
}

impl Memory {
    pub(crate) fn new(driver: &Driver, len: usize) -> TestResult<Memory> {
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, len))?;
        Ok(Memory { driver: driver.clone(), address, len })
    }

    /// Memory with these bytes in it.
    pub(crate) fn of(driver: &Driver, bytes: &[u8]) -> TestResult<Memory> {
        let memory = Memory::new(driver, bytes.len())?;
        call!(driver.cuMemcpyHtoD_v2(memory.address, bytes.as_ptr().cast(), bytes.len()))?;
        Ok(memory)
    }

    pub(crate) fn read(&self) -> TestResult<Vec<u8>> {
        let driver = &self.driver;
        let mut bytes = vec![0; self.len];
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), self.address, self.len))?;
        Ok(bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let driver = &self.driver;
        let freed = call!(driver.cuMemFree_v2(self.address));
        assert!(freed.is_ok() || std::thread::panicking(), "{freed:?}");
    }
}

/// 0, 1, 2 … and round again.
pub(crate) fn counting(len: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().take(len).collect()
}

pub(crate) const HOST: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_HOST;
pub(crate) const DEVICE: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;
pub(crate) const ARRAY: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_ARRAY;
pub(crate) const UNIFIED: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_UNIFIED;

/// A copy of 4 rows of 32 bytes, 64 apart on both sides.
pub(crate) fn rows(to: CUdeviceptr, from: CUdeviceptr) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: DEVICE,
        srcHost: null(),
        srcDevice: from,
        srcArray: null_mut(),
        srcPitch: 64,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: DEVICE,
        dstHost: null_mut(),
        dstDevice: to,
        dstArray: null_mut(),
        dstPitch: 64,
        WidthInBytes: 32,
        Height: 4,
    }
}

/// The same in 3 slices of 4 rows.
pub(crate) fn slices(to: CUdeviceptr, from: CUdeviceptr) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: DEVICE,
        srcHost: null(),
        srcDevice: from,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: 64,
        srcHeight: 4,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: DEVICE,
        dstHost: null_mut(),
        dstDevice: to,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: 64,
        dstHeight: 4,
        WidthInBytes: 32,
        Height: 4,
        Depth: 3,
    }
}

/// A copy between contexts, which are null here, from one within a context.
pub(crate) fn between(copy: CUDA_MEMCPY3D) -> CUDA_MEMCPY3D_PEER {
    CUDA_MEMCPY3D_PEER {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcZ: copy.srcZ,
        srcLOD: copy.srcLOD,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcContext: null_mut(),
        srcPitch: copy.srcPitch,
        srcHeight: copy.srcHeight,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstZ: copy.dstZ,
        dstLOD: copy.dstLOD,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstContext: null_mut(),
        dstPitch: copy.dstPitch,
        dstHeight: copy.dstHeight,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        Depth: copy.Depth,
    }
}

/// Attributes with an order of access to the source, by number, and nothing else.
pub(crate) fn attributes(order: u32) -> CUmemcpyAttributes {
    let nowhere = CUmemLocation::new(CUmemLocationType(0), 0);
    CUmemcpyAttributes {
        srcAccessOrder: CUmemcpySrcAccessOrder(order),
        srcLocHint: nowhere,
        dstLocHint: nowhere,
        flags: 0,
    }
}

pub(crate) const STREAM_ORDER: u32 = 1;
pub(crate) const DURING_CALL: u32 = 2;
pub(crate) const ANY_ORDER: u32 = 3;
