//! Profiler ranges: the part of a program that a profiler records.
#![expect(unsafe_code, reason = "starts and stops the profiler")]

use std::fmt;
use warploom_driver::user_code::Mutex;

use super::Context;
use crate::Result;
use crate::diagnostics::{Subject, report};

/// The profiler ranges of a context that have begun and not ended.
#[derive(Default)]
pub(super) struct ProfilerRanges(Mutex<usize>);

/// A part of the program that a profiler records; it ends when this is dropped.
///
/// Made by [`Context::profile`].
#[must_use = "the range ends when it is dropped"]
pub struct ProfilerRange {
    context: Context,
    has_ended: bool,
}

impl Context {
    /// Has an attached profiler record from here on, until the range is dropped: Nsight Systems with
    /// `--capture-range=cudaProfilerApi`, Nsight Compute with `--profile-from-start off`. Without a profiler
    /// it has no effect.
    ///
    /// Ranges may overlap: recording stops with the last of a context.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(1000, &stream)?; // not recorded
    /// let range = context.profile()?;
    /// buffer.fill(7, &stream)?;
    /// stream.synchronize()?; // what is enqueued runs later: wait for it inside the range
    /// range.end()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ContextError::Stale`](crate::ContextError::Stale), and the driver's error.
    #[doc(alias = "cuProfilerStart")]
    pub fn profile(&self) -> Result<ProfilerRange> {
        let mut ranges = self.cached().profiler_ranges.0.lock();
        let _current = self.current()?;
        if *ranges == 0 {
            // SAFETY: a context is current, and `_current` keeps it so.
            unsafe { self.driver().cuProfilerStart() }?;
        }
        *ranges += 1;
        Ok(ProfilerRange { context: self.clone(), has_ended: false })
    }
}

impl ProfilerRange {
    /// Ends the range, and returns the error, which dropping can only report.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuProfilerStop")]
    pub fn end(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let mut ranges = self.context.cached().profiler_ranges.0.lock();
        *ranges -= 1;
        if *ranges > 0 || !self.context.is_current_generation() {
            return Ok(());
        }
        let _current = self.context.current()?;
        // SAFETY: a context is current, and `_current` keeps it so.
        Ok(unsafe { self.context.driver().cuProfilerStop() }?)
    }
}

impl Drop for ProfilerRange {
    fn drop(&mut self) {
        let stopped = self.stop();
        report(|| Subject::ProfilerRange { device: self.context.device().ordinal() }, stopped);
    }
}

impl fmt::Debug for ProfilerRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProfilerRange").field("device", self.context.device()).finish_non_exhaustive()
    }
}
