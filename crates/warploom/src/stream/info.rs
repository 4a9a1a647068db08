//! Flags, priority, id and capture status of a stream.
#![expect(unsafe_code, reason = "asks the driver about a stream")]

use std::sync::OnceLock;

use warploom_driver::sys::types::{CUstream, CUstream_flags, CUstreamCaptureStatus};

use super::{Priority, Stream};
use crate::Result;

/// The constant facts about a stream, once they are known.
#[derive(Default)]
pub(super) struct StreamInfo {
    flags: OnceLock<u32>,
    priority: OnceLock<i32>,
    id: OnceLock<u64>,
}

impl StreamInfo {
    /// Those of a stream that was made with these flags.
    pub(super) fn of(flags: u32) -> StreamInfo {
        StreamInfo { flags: flags.into(), ..StreamInfo::default() }
    }
}

/// The capture status of a stream: its work runs, or becomes a graph.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureStatus {
    /// It runs.
    None,
    /// It becomes a graph.
    Active,
    /// The capture was invalidated; it has to be ended.
    Invalidated,
    /// A status that a newer driver invented.
    Unknown(u32),
}

impl CaptureStatus {
    fn from_raw(raw: CUstreamCaptureStatus) -> CaptureStatus {
        match raw {
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => CaptureStatus::None,
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE => CaptureStatus::Active,
            CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED => CaptureStatus::Invalidated,
            CUstreamCaptureStatus(raw) => CaptureStatus::Unknown(raw),
        }
    }
}

impl Stream {
    /// `true` if it runs beside the legacy default stream, and not in turns with it.
    ///
    /// # Errors
    ///
    /// The driver's error. It is asked at most once, and not at all about streams that were made here.
    #[doc(alias = "cuStreamGetFlags")]
    pub fn is_non_blocking(&self) -> Result<bool> {
        // SAFETY: `self` keeps the stream alive, and `flags` is writable.
        let flags =
            self.ask(&self.shared.info.flags, |raw, flags| unsafe { self.driver().cuStreamGetFlags(raw, flags) })?;
        Ok(flags & CUstream_flags::CU_STREAM_NON_BLOCKING.0 != 0)
    }

    /// Its priority.
    ///
    /// # Errors
    ///
    /// The driver's error. It is asked at most once.
    #[doc(alias = "cuStreamGetPriority")]
    pub fn priority(&self) -> Result<Priority> {
        // SAFETY: `self` keeps the stream alive, and `priority` is writable.
        let priority = self.ask(&self.shared.info.priority, |raw, priority| unsafe {
            self.driver().cuStreamGetPriority(raw, priority)
        })?;
        Ok(priority.into())
    }

    /// Its number, which no other stream of the process ever has.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotCapturable`](crate::CaptureError) if the stream is captured and the number not
    /// known, and the driver's error. It is asked at most once.
    #[doc(alias = "cuStreamGetId")]
    pub fn id(&self) -> Result<u64> {
        if self.shared.info.id.get().is_none() {
            self.refuse_captured("the question for its number")?;
        }
        // SAFETY: `self` keeps the stream alive, and `id` is writable.
        self.ask(&self.shared.info.id, |raw, id| unsafe { self.driver().cuStreamGetId(raw, id) })
    }

    /// The capture status: its work runs, or becomes a graph. Captures of other code count, too.
    ///
    /// # Errors
    ///
    /// [`CaptureError::Legacy`](crate::CaptureError) for a legacy default stream while a blocking stream of
    /// its context is being captured, and the driver's error.
    #[doc(alias = "cuStreamIsCapturing")]
    pub fn capture_status(&self) -> Result<CaptureStatus> {
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: `self` keeps the stream alive, and `status` is writable.
        self.with_raw(|raw| unsafe { self.driver().cuStreamIsCapturing(raw, &raw mut status) })??;
        Ok(CaptureStatus::from_raw(status))
    }

    /// The cached value, or else the driver's answer, which is cached.
    pub(super) fn ask<T: Copy + Default>(
        &self,
        known: &OnceLock<T>,
        ask: impl FnOnce(CUstream, *mut T) -> warploom_driver::Result<()>,
    ) -> Result<T> {
        if let Some(known) = known.get() {
            return Ok(*known);
        }
        let mut answer = T::default();
        self.with_raw(|raw| ask(raw, &raw mut answer))??;
        Ok(*known.get_or_init(|| answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_capture_status_keeps_its_number() {
        let statuses = [0, 1, 2, 3].map(|raw| CaptureStatus::from_raw(CUstreamCaptureStatus(raw)));
        let known = [CaptureStatus::None, CaptureStatus::Active, CaptureStatus::Invalidated];
        assert_eq!(statuses[..3], known);
        assert_eq!(statuses[3], CaptureStatus::Unknown(3));
    }
}
