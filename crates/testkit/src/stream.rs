//! Streams that destroy themselves.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sys::types::CUstream;

use crate::{TestResult, call};

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// A stream of the context that was current when it was created; dropping it destroys it.
#[derive(Debug)]
pub struct Stream {
    driver: Driver,
    /// Its handle.
    pub raw: CUstream,
}

impl Stream {
    /// Creates a non-blocking stream, which is not ordered with the default stream.
    pub fn new(driver: &Driver) -> TestResult<Stream> {
        Stream::with_flags(driver, NON_BLOCKING)
    }

    /// Creates a stream with these flags of `cuStreamCreate`.
    pub fn with_flags(driver: &Driver, flags: u32) -> TestResult<Stream> {
        let mut raw = null_mut();
        call!(driver.cuStreamCreate(&mut raw, flags))?;
        Ok(Stream { driver: driver.clone(), raw })
    }

    /// Waits until all its work is done.
    pub fn synchronize(&self) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuStreamSynchronize(self.raw))?)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let driver = &self.driver;
        let result = call!(driver.cuStreamDestroy_v2(self.raw));
        assert!(result.is_ok() || std::thread::panicking(), "{result:?}");
    }
}
