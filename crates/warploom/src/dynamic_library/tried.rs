//! What was tried, for people.

use std::fmt;

use warploom_driver::Attempt;

/// What was tried, one after the other, with the reasons.
pub(crate) struct Tried<'a>(pub(crate) &'a [Attempt]);

impl fmt::Display for Tried<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Attempt { path, why }) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(formatter, "{comma}{} ({why})", path.display())?;
        }
        Ok(())
    }
}
