//! Streams that wait until a test lets them go on, and ways to ask whether they do.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUdeviceptr, CUevent, CUresult, CUstream};
use warploom_testkit::{TestResult, call, code_of};

pub(crate) const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
pub(crate) const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;

/// `CU_STREAM_LEGACY`.
pub(crate) fn legacy() -> CUstream {
    without_provenance_mut(1)
}

/// `CU_STREAM_PER_THREAD`.
pub(crate) fn per_thread() -> CUstream {
    without_provenance_mut(2)
}

/// A new stream.
pub(crate) fn stream(driver: &Driver, flags: u32) -> TestResult<CUstream> {
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, flags))?;
    Ok(stream)
}

/// A new event.
pub(crate) fn event(driver: &Driver, flags: u32) -> TestResult<CUevent> {
    let mut event = null_mut();
    call!(driver.cuEventCreate(&mut event, flags))?;
    Ok(event)
}

/// Eight bytes of device memory, as they are when everything before is done.
pub(crate) fn read(driver: &Driver, address: CUdeviceptr) -> TestResult<u64> {
    let mut bytes = [0_u8; 8];
    call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len()))?;
    Ok(u64::from_le_bytes(bytes))
}

/// Asserts that something is answered soon.
#[track_caller]
pub(crate) fn comes(
    wanted: CUresult,
    what: &str,
    mut ask: impl FnMut() -> Result<(), warploom_testkit::driver::Error>,
) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let code = code_of(ask());
        if code == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{what} is still {code}, expected {wanted}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Asserts that something is answered, and goes on being.
#[track_caller]
pub(crate) fn stays(
    wanted: CUresult,
    what: &str,
    mut ask: impl FnMut() -> Result<(), warploom_testkit::driver::Error>,
) {
    for _ in 0..10 {
        assert_eq!(code_of(ask()), wanted, "{what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// A flag that streams wait for, and some device memory and a stream to go with it.
///
/// The flag is page-locked memory that the host writes: on real hardware, a stream that would write it might
/// have to queue behind the very stream that waits.
pub(crate) struct Latch {
    driver: Driver,
    flag: *mut c_void,
    pub(crate) word: CUdeviceptr,
    pub(crate) writer: CUstream,
    round: u32,
}

impl Latch {
    pub(crate) fn new(driver: &Driver) -> TestResult<Latch> {
        let (mut word, mut writer, mut flag) = (0, null_mut(), null_mut());
        call!(driver.cuMemAlloc_v2(&mut word, 64))?;
        call!(driver.cuStreamCreateWithPriority(&mut writer, 1, -5))?;
        call!(driver.cuMemHostAlloc(&mut flag, 64, 0))?;
        let latch = Latch { driver: driver.clone(), flag, word, writer, round: 0 };
        latch.write(0);
        Ok(latch)
    }

    #[expect(unsafe_code, reason = "writes memory that a device reads")]
    fn write(&self, value: u32) {
        // SAFETY: page-locked memory of this latch, aligned to pages, which everybody accesses atomically.
        unsafe { AtomicU32::from_ptr(self.flag.cast()) }.store(value, Ordering::SeqCst);
    }

    /// Blocks work enqueued from now on until [`Latch::open`].
    pub(crate) fn block(&mut self, stream: CUstream) -> TestResult {
        self.round += 1;
        let driver = &self.driver;
        let flag = self.flag.addr() as CUdeviceptr;
        Ok(call!(driver.cuStreamWaitValue32_v2(stream, flag, self.round, 0))?)
    }

    /// Lets everything that was blocked go on.
    pub(crate) fn open(&self) {
        self.write(self.round);
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        self.open();
        let driver = &self.driver;
        let results = [
            // Blocked work may still be reading the flag.
            call!(driver.cuCtxSynchronize()),
            call!(driver.cuStreamDestroy_v2(self.writer)),
            call!(driver.cuMemFree_v2(self.word)),
            call!(driver.cuMemFreeHost(self.flag)),
        ];
        if !std::thread::panicking() {
            assert!(results.iter().all(Result::is_ok), "{results:?}");
        }
    }
}
