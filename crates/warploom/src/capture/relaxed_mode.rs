//! The thread's capture mode set to relaxed, for calls that a capture would forbid.
#![expect(unsafe_code, reason = "changes the thread's mode")]

use warploom_driver::sys::types::CUstreamCaptureMode;

use crate::Driver;

/// Sets the thread's capture mode to relaxed while it exists, so that calls are neither refused nor
/// invalidate a capture.
pub(crate) struct RelaxedMode {
    driver: Driver,
    before: CUstreamCaptureMode,
}

impl RelaxedMode {
    /// Does nothing while nothing is captured on the driver. An error here is ignored: the call that follows
    /// will report it.
    pub(crate) fn new(driver: &Driver) -> Option<RelaxedMode> {
        let mut before = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        let is_relaxed = super::is_on(driver) && exchange(driver, &mut before);
        is_relaxed.then(|| RelaxedMode { driver: driver.clone(), before })
    }
}

impl Drop for RelaxedMode {
    fn drop(&mut self) {
        exchange(&self.driver, &mut self.before);
    }
}

fn exchange(driver: &Driver, mode: &mut CUstreamCaptureMode) -> bool {
    // SAFETY: `mode` is readable and writable.
    unsafe { driver.cuThreadExchangeStreamCaptureMode(mode) }.is_ok()
}
