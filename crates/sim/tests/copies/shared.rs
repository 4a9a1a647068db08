//! Copies and fills of host memory that devices reach: page-locked, registered and managed.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sim::{Mode, Order};
use warploom_testkit::{MACHINE, Primary, Stream, TestResult, answers, call, driver_tests, open};

use crate::support::{Memory, counting};

/// Page-locked memory of the driver's.
struct Locked {
    driver: Driver,
    pointer: *mut c_void,
}

impl Locked {
    fn new(driver: &Driver, len: usize) -> TestResult<Locked> {
        let mut pointer = null_mut();
        call!(driver.cuMemHostAlloc(&mut pointer, len, 0))?;
        Ok(Locked { driver: driver.clone(), pointer })
    }

    fn address(&self) -> u64 {
        self.pointer.addr() as u64
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let driver = &self.driver;
        let freed = call!(driver.cuMemFreeHost(self.pointer));
        assert!(freed.is_ok() || std::thread::panicking(), "{freed:?}");
    }
}

/// Writes to an address by one copy, and reads it back by another, from and to the program's own memory.
fn goes_there_and_back(driver: &Driver, address: u64) -> TestResult {
    let mut received = vec![0_u8; 64];
    let sent: Vec<u8> = received.iter().map(|_| (address >> 12) as u8 ^ 0x5a).collect();
    call!(driver.cuMemcpy(address, sent.as_ptr().addr() as u64, 64))?;
    call!(driver.cuMemcpy(received.as_mut_ptr().expose_provenance() as u64, address, 64))?;
    assert_eq!(received, sent);
    Ok(())
}

driver_tests! {
    fn shared_memory_may_be_named_as_host_and_as_device_memory(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let device = Memory::of(driver, &counting(64))?;
        let locked = Locked::new(driver, 4096)?;
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
        let mut own = vec![0_u8; 1 << 16];
        let registered = own.as_mut_ptr().expose_provenance() as u64;
        call!(driver.cuMemHostRegister_v2(own.as_mut_ptr().cast(), own.len(), 0))?;
        for shared in [locked.address(), managed, registered] {
            let pointer = std::ptr::without_provenance_mut::<c_void>(shared as usize);
            goes_there_and_back(driver, shared)?;
            call!(driver.cuMemcpyDtoD_v2(shared, device.address, 64))?;
            call!(driver.cuMemcpyDtoDAsync_v2(device.address, shared, 64, stream.raw))?;
            stream.synchronize()?;
            call!(driver.cuMemcpyHtoD_v2(shared, counting(64).as_ptr().cast(), 64))?;
            call!(driver.cuMemcpyHtoDAsync_v2(device.address, pointer, 64, stream.raw))?;
            call!(driver.cuMemcpyDtoHAsync_v2(pointer, device.address, 64, stream.raw))?;
            stream.synchronize()?;
            call!(driver.cuMemcpyPeer(device.address, null_mut(), shared, null_mut(), 64))?;
            call!(driver.cuCtxSynchronize())?;
            for (start, element) in [(0, 1), (8, 2), (16, 4)] {
                let at = shared + start;
                match element {
                    1 => call!(driver.cuMemsetD8_v2(at, 1, 8))?,
                    2 => call!(driver.cuMemsetD16Async(at, 0x0302, 4, stream.raw))?,
                    _ => call!(driver.cuMemsetD32Async(at, 0x0706_0504, 2, stream.raw))?,
                }
            }
            stream.synchronize()?;
            let mut received = [0_u8; 32];
            call!(driver.cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), shared, 32))?;
            let filled = [[1; 8].to_vec(), [2, 3].repeat(4), [4, 5, 6, 7].repeat(2), counting(64)[24..32].to_vec()];
            assert_eq!(received.as_slice(), filled.concat());
        }
        call!(driver.cuMemHostUnregister(own.as_mut_ptr().cast()))?;
        call!(driver.cuMemFree_v2(managed))?;
    }

    fn a_copy_past_the_end_of_page_locked_memory_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let stream = Stream::new(driver)?;
        let locked = Locked::new(driver, 4096)?;
        for over in [1, 2 << 20] {
            let device = Memory::new(driver, 4096 + over)?;
            answers!(
                driver.cuMemcpyHtoDAsync_v2(device.address, locked.pointer, 4096 + over, stream.raw),
                CUDA_ERROR_INVALID_VALUE
            );
        }
    }
}

#[test]
fn copies_of_page_locked_memory_wait_only_in_their_synchronous_form() -> TestResult {
    let (machine, driver) = open(Topology::preset(MACHINE)?, Mode::Deterministic(Order::Lazy))?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let stream = Stream::new(driver)?;
    let device = Memory::new(driver, 4096)?;
    let locked = Locked::new(driver, 4096)?;
    call!(driver.cuMemsetD8_v2(locked.address(), 1, 4096))?;
    assert_eq!(machine.unfinished_ops(), 0, "the host could look at once");
    call!(driver.cuMemcpyHtoDAsync_v2(device.address, locked.pointer, 4096, stream.raw))?;
    call!(driver.cuMemcpyDtoHAsync_v2(locked.pointer, device.address, 4096, stream.raw))?;
    assert_eq!(machine.unfinished_ops(), 2);
    stream.synchronize()?;
    call!(driver.cuMemcpyHtoD_v2(device.address, locked.pointer, 4096))?;
    call!(driver.cuMemcpyDtoH_v2(locked.pointer, device.address, 4096))?;
    assert_eq!(machine.unfinished_ops(), 0);
    assert_eq!(device.read()?, [1; 4096]);
    Ok(())
}
