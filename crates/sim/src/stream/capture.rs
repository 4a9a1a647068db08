//! What programs ask about capture even if they never capture.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{
    CUgraph, CUgraphEdgeData, CUgraphNode, CUstream_st, CUstreamCaptureMode, CUstreamCaptureStatus, cuuint64_t,
};

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

/// Of a stream that is not captured there is nothing else to tell.
pub(crate) fn cuStreamGetCaptureInfo_v2(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
    _id: Ptr<cuuint64_t>,
    _graph: Ptr<CUgraph>,
    _dependencies: Ptr<*const CUgraphNode>,
    _count: Ptr<usize>,
) -> Status {
    cuStreamIsCapturing(call, stream, status)
}

/// As [`cuStreamGetCaptureInfo_v2`].
#[expect(clippy::too_many_arguments, reason = "those of the C function")]
pub(crate) fn cuStreamGetCaptureInfo_v3(
    call: &Call<'_>,
    stream: Ptr<CUstream_st>,
    status: Ptr<CUstreamCaptureStatus>,
    _id: Ptr<cuuint64_t>,
    _graph: Ptr<CUgraph>,
    _dependencies: Ptr<*const CUgraphNode>,
    _edges: Ptr<*const CUgraphEdgeData>,
    _count: Ptr<usize>,
) -> Status {
    cuStreamIsCapturing(call, stream, status)
}

/// The driver does not look whether the mode is one.
pub(crate) fn cuThreadExchangeStreamCaptureMode(call: &Call<'_>, mode: Ptr<CUstreamCaptureMode>) -> Status {
    let wanted = mode.read()?;
    mode.write(thread::exchange_capture_mode(call.core().id, wanted))
}
