//! Waits of a free: for the work of the memory's own context, and of no other.
#![expect(unsafe_code, reason = "writes the pinned value that streams wait for")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sys::types::{CUcontext, CUstream};
use warploom_testkit::{Primary, TestResult, call, driver_tests};

/// A stream that stands still until it is released.
struct Blocked<'a> {
    driver: &'a Driver,
    stream: CUstream,
    value: *mut c_void,
}

impl<'a> Blocked<'a> {
    fn new(driver: &'a Driver) -> TestResult<Blocked<'a>> {
        let (mut stream, mut value) = (null_mut(), null_mut());
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuMemHostAlloc(&mut value, 4096, 3))?;
        let blocked = Blocked { driver, stream, value };
        blocked.word().store(0, Ordering::Release);
        call!(driver.cuStreamWaitValue32_v2(stream, value.addr() as u64, 1, 0))?;
        Ok(blocked)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: pinned memory that lives until `end`, and that is only ever used as this atomic.
        unsafe { AtomicU32::from_ptr(self.value.cast()) }
    }

    fn release(&self) {
        self.word().store(1, Ordering::Release);
    }

    fn end(self) -> TestResult {
        let driver = self.driver;
        self.release();
        call!(driver.cuStreamSynchronize(self.stream))?;
        call!(driver.cuStreamDestroy_v2(self.stream))?;
        Ok(call!(driver.cuMemFreeHost(self.value))?)
    }
}

/// `true` if a call on a thread of its own has not returned after a while, with a stream blocked.
fn waits(driver: &Driver, context: CUcontext, free: impl FnOnce() -> Result<(), Error> + Send) -> TestResult<bool> {
    let blocked = Blocked::new(driver)?;
    let context = context.expose_provenance();
    let started = Barrier::new(2);
    let waited = std::thread::scope(|scope| -> TestResult<bool> {
        let thread = scope.spawn(|| {
            let current = call!(driver.cuCtxSetCurrent(std::ptr::with_exposed_provenance_mut(context)));
            started.wait();
            current.and_then(|()| free())
        });
        started.wait();
        std::thread::sleep(Duration::from_millis(100));
        let waited = !thread.is_finished();
        blocked.release();
        thread.join().map_err(|_| "the thread panicked")??;
        Ok(waited)
    })?;
    blocked.end()?;
    Ok(waited)
}

driver_tests! {
    threads fn freeing_device_memory_waits_for_the_context(driver) {
        let primary = Primary::of(driver, 0)?;
        for bytes in [4096, 64 << 20] {
            let mut address = 0;
            call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
            assert!(waits(driver, primary.context, || call!(driver.cuMemFree_v2(address)))?, "{bytes}");
        }
    }

    threads fn freeing_managed_memory_waits_for_the_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut address = 0;
        call!(driver.cuMemAllocManaged(&mut address, 4096, 1))?;
        assert!(waits(driver, primary.context, || call!(driver.cuMemFree_v2(address)))?);
    }

    threads fn freeing_page_locked_memory_waits_for_the_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut memory = null_mut();
        call!(driver.cuMemHostAlloc(&mut memory, 4096, 0))?;
        let address = memory.expose_provenance();
        let free = || call!(driver.cuMemFreeHost(std::ptr::with_exposed_provenance_mut(address)));
        assert!(waits(driver, primary.context, free)?);
    }

    threads fn unregistering_waits_for_the_context(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut own = vec![0u8; 4096];
        let address = own.as_mut_ptr().expose_provenance();
        call!(driver.cuMemHostRegister_v2(own.as_mut_ptr().cast(), 4096, 0))?;
        let end = || call!(driver.cuMemHostUnregister(std::ptr::with_exposed_provenance_mut(address)));
        assert!(waits(driver, primary.context, end)?);
    }

    threads fn allocations_and_queries_do_not_wait(driver) {
        let primary = Primary::of(driver, 0)?;
        let (mut device, mut managed, mut free) = (0, 0, 0);
        let mut pinned = 0;
        let everything = || {
            call!(driver.cuMemAlloc_v2(&mut device, 4096))?;
            call!(driver.cuMemAllocManaged(&mut managed, 4096, 1))?;
            call!(driver.cuMemGetInfo_v2(&mut free, null_mut()))?;
            call!(driver.cuMemFree_v2(0))?;
            let mut memory = null_mut();
            call!(driver.cuMemHostAlloc(&mut memory, 4096, 0))?;
            pinned = memory.expose_provenance();
            Ok(())
        };
        assert!(!waits(driver, primary.context, everything)?);
        call!(driver.cuMemFree_v2(device))?;
        call!(driver.cuMemFree_v2(managed))?;
        call!(driver.cuMemFreeHost(std::ptr::with_exposed_provenance_mut(pinned)))?;
    }
}
