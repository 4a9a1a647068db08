//! A device's primary context, current on the thread for as long as a test holds it.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sys::types::{CUcontext, CUdevice};

use crate::{TestResult, call};

/// A retained primary context that is current on this thread; dropping it releases it and leaves none
/// current.
#[derive(Debug)]
pub struct Primary {
    driver: Driver,
    /// The device.
    pub device: CUdevice,
    /// Its primary context.
    pub context: CUcontext,
}

impl Primary {
    /// Retains the primary context of a device and makes it current.
    pub fn of(driver: &Driver, device: CUdevice) -> TestResult<Primary> {
        let mut context = null_mut();
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, device))?;
        let primary = Primary { driver: driver.clone(), device, context };
        primary.make_current()?;
        Ok(primary)
    }

    /// Makes it current on this thread.
    pub fn make_current(&self) -> TestResult {
        let driver = &self.driver;
        Ok(call!(driver.cuCtxSetCurrent(self.context))?)
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        let driver = &self.driver;
        let results =
            [call!(driver.cuCtxSetCurrent(null_mut())), call!(driver.cuDevicePrimaryCtxRelease_v2(self.device))];
        if !std::thread::panicking() {
            for result in results {
                assert!(result.is_ok(), "{result:?}");
            }
        }
    }
}
