//! What programs ask about capture even if they never capture.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUstream_st, CUstreamCaptureMode, CUstreamCaptureStatus};

use crate::call::Call;
use crate::ffi::Ptr;
use crate::status::Status;
use crate::thread;

/// Streams are never captured: beginning to is not supported.
pub(crate) fn cuStreamIsCapturing(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
) -> Status {
    status.required()?;
    let mut world = call.world();
    call.queue(&mut world, stream)?;
    status.write(CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// The driver does not look whether the mode is one.
pub(crate) fn cuThreadExchangeStreamCaptureMode(call: &Call<'_>, mode: Ptr<CUstreamCaptureMode>) -> Status {
    let wanted = mode.read()?;
    mode.write(thread::exchange_capture_mode(call.core().id, wanted))
}
