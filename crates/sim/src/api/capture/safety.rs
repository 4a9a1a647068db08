//! Capture modes, and calls that are refused during a capture: cuThreadExchangeStreamCaptureMode.
//!
//! | the thread's mode | captures that forbid the call, unless they are relaxed |
//! |---|---|
//! | global | those of this thread, and the global ones of other threads |
//! | thread-local | those of this thread |
//! | relaxed | none |
//!
//! A launched graph would not repeat such a call, so it is refused and invalidates the captures that
//! forbid it. The functions for which that holds with any arguments are in the table of rules
//! ([`Rule::in_capture`](crate::rules::Rule::in_capture)).
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUstreamCaptureMode;

use crate::ffi::Ptr;
use crate::ffi::status::{CAPTURE_UNSUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::capture::Sequence;
use crate::machine::core::Guard;
use crate::process::thread;

const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

impl Call<'_> {
    /// Refuses a call that is not permitted while a stream is captured.
    pub(crate) fn check_unsafe(&self, world: &mut Guard<'_>) -> Status {
        if world.captures().are_none() {
            return Ok(());
        }
        let (mode, this) = (thread::capture_mode(self.core().id), thread::key());
        let forbids = |sequence: &Sequence| match mode {
            RELAXED => false,
            GLOBAL if sequence.thread != this => sequence.mode == GLOBAL,
            _ => sequence.thread == this && sequence.mode != RELAXED,
        };
        let mut is_forbidden = false;
        for (_, sequence) in world.captures_mut().sequences.iter_mut().filter(|(_, sequence)| forbids(sequence)) {
            sequence.is_invalid = true;
            is_forbidden = true;
        }
        if is_forbidden {
            let reason =
                "a stream is being captured, whose graph would not repeat this call; its capture is invalid now";
            return Err(self.refuse(CAPTURE_UNSUPPORTED, reason));
        }
        Ok(())
    }
}

/// The driver accepts invalid modes without an error.
pub(crate) fn cuThreadExchangeStreamCaptureMode(call: &Call<'_>, mode: Ptr<CUstreamCaptureMode>) -> Status {
    let wanted = mode.read()?;
    mode.write(thread::exchange_capture_mode(call.core().id, wanted))
}
