//! Calls that are not safe while a stream is captured, because no graph would repeat them.
//!
//! | the thread's mode | forbidden by captures that are not relaxed, of |
//! |---|---|
//! | global | this thread, and of others those that are global |
//! | thread-local | this thread |
//! | relaxed | nobody |
//!
//! Such a call is refused and invalidates the captures that forbid it.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::Function;
use warploom_sys::types::CUstreamCaptureMode;

use super::{Sequence, UNSUPPORTED};
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::process::thread;

const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

/// Whether nobody could tell, when a graph is launched, that the call had been made while it was captured.
fn is_unsafe(function: Function) -> bool {
    use Function::*;
    matches!(
        function,
        cuMemAlloc_v2
            | cuMemAllocPitch_v2
            | cuMemFree_v2
            | cuMemAllocHost_v2
            | cuMemHostAlloc
            | cuMemFreeHost
            | cuMemAllocManaged
            | cuMemHostRegister_v2
            | cuMemHostUnregister
            | cuMemPoolCreate
            | cuMemPoolDestroy
            | cuMemPoolTrimTo
            | cuMemPoolSetAttribute
            | cuMemPoolGetAttribute
            | cuMemPoolSetAccess
            | cuDeviceSetMemPool
            | cuMemAdvise
            | cuMemAdvise_v2
            | cuPointerSetAttribute
            | cuModuleUnload
            | cuLibraryUnload
            | cuCtxSetLimit
            | cuGraphInstantiateWithFlags
    )
}

/// Refuses a function that a capture forbids, whatever it is called with.
pub(crate) fn check_safety(call: &Call<'_>) -> Status {
    if is_unsafe(call.function()) { call.check_unsafe(&mut call.world()) } else { Ok(()) }
}

impl Call<'_> {
    /// Refuses a call that a capture forbids.
    pub(crate) fn check_unsafe(&self, world: &mut Guard<'_>) -> Status {
        if world.captures.are_none() {
            return Ok(());
        }
        let (mode, this) = (thread::capture_mode(self.core().id), thread::key());
        let forbids = |sequence: &Sequence| match mode {
            RELAXED => false,
            GLOBAL if sequence.thread != this => sequence.mode == GLOBAL,
            _ => sequence.thread == this && sequence.mode != RELAXED,
        };
        let mut is_forbidden = false;
        for sequence in world.captures.sequences.values_mut().filter(|sequence| forbids(sequence)) {
            sequence.is_invalid = true;
            is_forbidden = true;
        }
        if is_forbidden {
            let reason =
                "a stream is being captured, whose graph would not repeat this call; its capture is invalid now";
            return Err(self.refuse(UNSUPPORTED, reason));
        }
        Ok(())
    }
}

/// The driver does not look whether the mode is one.
pub(crate) fn cuThreadExchangeStreamCaptureMode(call: &Call<'_>, mode: Ptr<CUstreamCaptureMode>) -> Status {
    let wanted = mode.read()?;
    mode.write(thread::exchange_capture_mode(call.core().id, wanted))
}
