//! The time between two events.
#![expect(unsafe_code, reason = "asks the driver about raw events")]

use std::time::Duration;

use warploom_driver::ResultExt as _;

use super::{Event, Timed};
use crate::device::same_driver;
use crate::{Error, EventError, Result};

impl Event<Timed> {
    /// The time from `start` to this event, on the device's clock. Resolution is about half a microsecond.
    ///
    /// ```
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let stream = driver.device(0)?.context()?.stream()?;
    /// let start = stream.record_timed()?;
    /// let end = stream.record_timed()?;
    /// end.synchronize()?;
    /// println!("{:?}", end.elapsed(&start)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Events without a time have none between them:
    ///
    /// ```compile_fail,E0599
    /// # use warploom::Driver;
    /// # fn time(stream: &warploom::Stream) -> warploom::Result<()> {
    /// let (start, end) = (stream.record()?, stream.record()?);
    /// end.elapsed(&start)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`EventError::DifferentContexts`] and
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the two have no clock in
    /// common, [`EventError::NotComplete`] unless both are done, [`EventError::Reversed`] if `start` was
    /// reached later, and the driver's error.
    #[doc(alias = "cuEventElapsedTime")]
    pub fn elapsed(&self, start: &Event<Timed>) -> Result<Duration> {
        let seconds = f64::from(self.elapsed_ms(start)?) / 1e3;
        let reversed = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Duration::try_from_secs_f64(seconds).map_err(|_| Error::Event(EventError::Reversed { by: reversed(-seconds) }))
    }

    /// As [`Event::elapsed`], in milliseconds, which are negative if `start` was reached later.
    ///
    /// # Errors
    ///
    /// As [`Event::elapsed`], without [`EventError::Reversed`].
    pub fn elapsed_ms(&self, start: &Event<Timed>) -> Result<f32> {
        same_driver(self.driver(), start.driver())?;
        if self.context != start.context {
            let (start, end) = (start.device().ordinal(), self.device().ordinal());
            return Err(EventError::DifferentContexts { start, end }.into());
        }
        self.context.check_generation()?;
        let mut milliseconds = 0.0;
        // SAFETY: `milliseconds` is writable, and both events are alive.
        let answer = unsafe { self.driver().cuEventElapsedTime(&raw mut milliseconds, start.as_raw(), self.as_raw()) };
        if answer.ready()? { Ok(milliseconds) } else { Err(EventError::NotComplete.into()) }
    }
}
