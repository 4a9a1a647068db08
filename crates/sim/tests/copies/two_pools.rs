//! Copies between pools of two devices: the stream's device or the destination's owner needs access to both.

use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUmemoryPool, CUresult,
};
use warploom_testkit::{ASYNCHRONOUS, Primary, Stream, TestResult, call, code_of, open, pool_properties};

use crate::support::rows;

const BYTES: usize = 256;

fn on(device: i32) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device)
}

/// A pool of a device, and memory of it.
struct Pooled {
    driver: Driver,
    pool: CUmemoryPool,
    address: u64,
}

impl Pooled {
    /// Memory filled with a byte.
    fn new(driver: &Driver, owner: &Primary, byte: u8) -> TestResult<Pooled> {
        let properties = pool_properties(on(owner.device));
        let mut pooled = Pooled { driver: driver.clone(), pool: null_mut(), address: 0 };
        owner.make_current()?;
        call!(driver.cuMemPoolCreate(&mut pooled.pool, &properties))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut pooled.address, BYTES, pooled.pool, null_mut()))?;
        call!(driver.cuMemsetD8_v2(pooled.address, byte, BYTES))?;
        call!(driver.cuCtxSynchronize())?;
        Ok(pooled)
    }

    /// Opens the pool to a device, or closes it.
    fn grant(&self, device: i32, is_open: bool) -> TestResult {
        let flags = match is_open {
            true => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            false => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
        };
        let (driver, access) = (&self.driver, CUmemAccessDesc { location: on(device), flags });
        Ok(call!(driver.cuMemPoolSetAccess(self.pool, &access, 1))?)
    }

    fn close(self, owner: &Primary) -> TestResult {
        let driver = &self.driver;
        owner.make_current()?;
        call!(driver.cuMemFree_v2(self.address))?;
        Ok(call!(driver.cuMemPoolDestroy(self.pool))?)
    }
}

/// The codes of a linear copy, one of device pointers, and one of rows.
fn copies(driver: &Driver, to: &Pooled, from: &Pooled, stream: &Stream) -> [CUresult; 3] {
    let (raw, to, from) = (stream.raw, to.address, from.address);
    let block = rows(to, from);
    [
        code_of(call!(driver.cuMemcpyAsync(to, from, BYTES, raw))),
        code_of(call!(driver.cuMemcpyDtoDAsync_v2(to, from, BYTES, raw))),
        code_of(call!(driver.cuMemcpy2DAsync_v2(&block, raw))),
    ]
}

/// Three devices; the pools are of device 0 (source) and of device 1 (destination).
#[test]
fn the_streams_device_or_the_destinations_owner_has_access_to_both() -> TestResult {
    let (_machine, driver) = open(Topology::preset("dgx-h100")?, ASYNCHRONOUS[0])?;
    let driver = &driver;
    let devices = [Primary::of(driver, 0)?, Primary::of(driver, 1)?, Primary::of(driver, 2)?];
    let (from, to) = (Pooled::new(driver, &devices[0], 5)?, Pooled::new(driver, &devices[1], 0)?);
    let mut allowed = 0;
    for grants in 0..16 {
        let is_granted = |bit: u32| grants >> bit & 1 == 1;
        // Who may use the pool of device 0, and that of device 1.
        let reads = [true, is_granted(0), is_granted(1)];
        let writes = [is_granted(2), true, is_granted(3)];
        from.grant(1, reads[1])?;
        from.grant(2, reads[2])?;
        to.grant(0, writes[0])?;
        to.grant(2, writes[2])?;
        for (acting, device) in devices.iter().enumerate() {
            device.make_current()?;
            let stream = Stream::new(driver)?;
            for current in &devices {
                current.make_current()?;
                let reaches_both = |device: usize| reads[device] && writes[device];
                let expected = match reaches_both(acting) || reaches_both(1) {
                    true => CUresult::CUDA_SUCCESS,
                    false => CUresult::CUDA_ERROR_INVALID_VALUE,
                };
                let codes = copies(driver, &to, &from, &stream);
                assert_eq!(codes, [expected; 3], "grants {grants:04b}, stream of {acting}, current {}", current.device);
                allowed += usize::from(expected == CUresult::CUDA_SUCCESS);
                stream.synchronize()?;
            }
            device.make_current()?;
        }
    }
    assert_eq!(allowed, 90, "of 144");
    from.close(&devices[0])?;
    to.close(&devices[1])
}

/// A published test of NVIDIA's, which runs on machines with several GPUs: a stream of device 0, device 1
/// current, and device 1 granted the pool of device 0 or not.
#[test]
fn a_grant_of_the_sources_pool_lets_the_destination_pull() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, *mode)?;
        let driver = &driver;
        let (near, far) = (Primary::of(driver, 0)?, Primary::of(driver, 1)?);
        let (from, to) = (Pooled::new(driver, &near, 7)?, Pooled::new(driver, &far, 0)?);
        near.make_current()?;
        let stream = Stream::new(driver)?;
        far.make_current()?;
        assert_eq!(copies(driver, &to, &from, &stream), [CUresult::CUDA_ERROR_INVALID_VALUE; 3], "{mode:?}");
        from.grant(1, true)?;
        assert_eq!(copies(driver, &to, &from, &stream), [CUresult::CUDA_SUCCESS; 3], "{mode:?}");
        stream.synchronize()?;
        let mut bytes = [0u8; BYTES];
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), to.address, BYTES))?;
        assert_eq!(bytes, [7; BYTES]);
        from.grant(1, false)?;
        assert_eq!(copies(driver, &to, &from, &stream), [CUresult::CUDA_ERROR_INVALID_VALUE; 3], "{mode:?}");
        // The fallback of frameworks: a peer copy names both contexts, and needs no grant.
        call!(driver.cuMemcpyPeerAsync(to.address, far.context, from.address, near.context, BYTES, stream.raw))?;
        stream.synchronize()?;
        near.make_current()?;
        drop(stream);
        from.close(&near)?;
        to.close(&far)?;
    }
    Ok(())
}
