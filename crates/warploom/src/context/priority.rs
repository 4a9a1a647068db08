//! The range of stream priorities of a context.
#![expect(unsafe_code, reason = "asks the driver about the current context")]

use std::fmt;

use crate::{Context, Result};

/// The priorities that streams of a context can have. A smaller number goes first.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let range = driver.device(0)?.context()?.priority_range()?;
/// assert!(range.greatest <= range.least && range.contains(0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriorityRange {
    /// The number of those that yield to all others, usually 0.
    pub least: i32,
    /// The number of those that go before all others: no larger than `least`, and equal to it where there is
    /// no choice.
    pub greatest: i32,
}

impl PriorityRange {
    /// `true` if a stream can have this priority.
    #[must_use]
    pub fn contains(self, priority: i32) -> bool {
        (self.greatest..=self.least).contains(&priority)
    }
}

impl fmt::Display for PriorityRange {
    /// `-5 (first) to 0 (last)`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (first) to {} (last)", self.greatest, self.least)
    }
}

impl Context {
    /// The priorities that its streams can have.
    ///
    /// # Errors
    ///
    /// The driver's error. It is asked once.
    #[doc(alias = "cuCtxGetStreamPriorityRange")]
    pub fn priority_range(&self) -> Result<PriorityRange> {
        if let Some(known) = self.cached().priorities.get() {
            return Ok(*known);
        }
        let _current = self.current()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are writable, and `_current` keeps the context current.
        unsafe { self.driver().cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) }?;
        Ok(*self.cached().priorities.get_or_init(|| PriorityRange { least, greatest }))
    }
}
