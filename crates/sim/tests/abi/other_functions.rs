//! Profiler and notifications.

use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{
    CUasyncCallbackHandle, CUasyncNotificationInfo, CUoutput_mode, CUstreamCaptureMode,
};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::Rig;

extern "C" fn ignore(_: *mut CUasyncNotificationInfo, _: *mut std::ffi::c_void, _: CUasyncCallbackHandle) {}

driver_tests! {
    fn the_profiler_is_started_and_stopped_in_any_order(driver) {
        answers!(driver.cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
        let rig = Rig::new(driver)?;
        call!(driver.cuProfilerStop())?;
        call!(driver.cuProfilerStart())?;
        call!(driver.cuProfilerStart())?;
        call!(driver.cuProfilerStop())?;
        let mode = CUoutput_mode::CU_OUT_CSV;
        answers!(driver.cuProfilerInitialize(null(), null(), mode), CUDA_ERROR_NOT_SUPPORTED);
        let (mut stream, mut graph) = (null_mut(), null_mut());
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL))?;
        answers!(driver.cuProfilerStart(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        answers!(driver.cuStreamEndCapture(stream, &mut graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }

    fn notifications_are_registered_by_device(driver) {
        let (mut first, mut second) = (null_mut(), null_mut());
        let register = |device, out| call!(driver.cuDeviceRegisterAsyncNotification(device, Some(ignore), null_mut(), out));
        register(0, &mut first)?;
        register(0, &mut second)?;
        assert_ne!(first, second);
        answers!(
            driver.cuDeviceRegisterAsyncNotification(0, None, null_mut(), &mut second),
            CUDA_ERROR_INVALID_VALUE
        );
        answers!(driver.cuDeviceUnregisterAsyncNotification(0, null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDeviceUnregisterAsyncNotification(99, second), CUDA_ERROR_INVALID_DEVICE);
        call!(driver.cuDeviceUnregisterAsyncNotification(0, second))?;
        call!(driver.cuDeviceUnregisterAsyncNotification(0, first))?;
    }

    sim fn a_callback_is_unregistered_once(driver) {
        let mut callback = null_mut();
        call!(driver.cuDeviceRegisterAsyncNotification(0, Some(ignore), null_mut(), &mut callback))?;
        call!(driver.cuDeviceUnregisterAsyncNotification(0, callback))?;
        answers!(driver.cuDeviceUnregisterAsyncNotification(0, callback), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuDeviceRegisterAsyncNotification(0, Some(ignore), null_mut(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
    }
}
