//! Streams that wait until a test lets them go on, and ways to ask whether they do.

use std::ptr::{null_mut, without_provenance_mut};
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

/// A word of device memory that streams wait for, and a stream of its own that writes it.
pub(crate) struct Latch {
    driver: Driver,
    pub(crate) word: CUdeviceptr,
    pub(crate) writer: CUstream,
    round: u32,
}

impl Latch {
    pub(crate) fn new(driver: &Driver) -> TestResult<Latch> {
        let mut word = 0;
        call!(driver.cuMemAlloc_v2(&mut word, 64))?;
        let writer = stream(driver, 1)?;
        let latch = Latch { driver: driver.clone(), word, writer, round: 0 };
        latch.write(0)?;
        Ok(latch)
    }

    fn write(&self, value: u32) -> TestResult {
        let driver = &self.driver;
        call!(driver.cuStreamWriteValue32_v2(self.writer, self.word, value, 0))?;
        call!(driver.cuStreamSynchronize(self.writer))?;
        Ok(())
    }

    /// What is enqueued next waits for [`Latch::open`].
    pub(crate) fn block(&mut self, stream: CUstream) -> TestResult {
        self.round += 1;
        let driver = &self.driver;
        Ok(call!(driver.cuStreamWaitValue32_v2(stream, self.word, self.round, 0))?)
    }

    /// Lets everything that was blocked go on.
    pub(crate) fn open(&self) -> TestResult {
        self.write(self.round)
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        let opened = self.open();
        let driver = &self.driver;
        let results = [call!(driver.cuStreamDestroy_v2(self.writer)), call!(driver.cuMemFree_v2(self.word))];
        if !std::thread::panicking() {
            assert!(opened.is_ok() && results.iter().all(Result::is_ok), "{opened:?} {results:?}");
        }
    }
}
