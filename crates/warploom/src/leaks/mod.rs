//! Leak reports: contexts, pools, streams, events, libraries and memory that are still alive.
//!
//! Every value frees its objects when it is dropped, so a leak is a value that is kept too long: in a cache,
//! in a cycle of `Arc`s, by [`std::mem::forget`], by a thread that never ends. A [`Leaks`] lists the objects
//! of such values, on hardware as on a simulated machine. It asks the driver nothing.
//!
//! ```
//! use warploom::leaks::{Kind, Leaks};
//! use warploom::{DevicePool, Driver};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
//! let leaks = Leaks::track(&driver); // before the program, to see all of it
//! {
//!     let context = driver.device(0)?.context()?;
//!     let stream = context.stream()?;
//!     let kept = DevicePool::new(&context)?.zeroed::<u32>(256, &stream)?;
//!     std::mem::forget(kept);
//! }
//! let report = leaks.report();
//! assert_eq!((report.count(Kind::is_memory), report.bytes()), (1, 1024));
//! assert_eq!(
//!     report.to_string(),
//!     "\
//! 4 things are alive
//! what                  device  count  bytes
//! context                    0      1      -
//! pool                       0      1      -
//! stream                     0      1      -
//! memory of DevicePool       0      1   1024"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! The buffer holds its pool, stream and context, which is why they are listed, too: look at the memory
//! first.
//!
//! A test ends with [`Leaks::assert_none`]. To see where an object was made, use
//! [`Leaks::track_with_backtraces`] and print the report with `{:#}`.
//!
//! # Listed objects
//!
//! Only objects made after the first [`Leaks`] of the driver; objects of other code are not listed. Memory
//! whose free is enqueued is not alive any more. Events that a context keeps for the next record go with the
//! context. An object that the driver failed to destroy reaches the [hook](crate::diagnostics) instead.
//!
//! # Cost
//!
//! Without a tracker, one relaxed load of an atomic when an object is made, and a comparison when it ends.
//! With one, a lock and a heap allocation each; with backtraces, some microseconds more.

mod ledger;
mod report;

pub use report::{Alive, Kind, Report, Total};

pub(crate) use ledger::{Mark, mark, mark_on};

use std::fmt;
use std::sync::Arc;

use self::ledger::Ledger;
use crate::Driver;

/// Tracks the objects made on a driver while it exists; see [the module](self).
///
/// Several may do so at once. Each lists the objects made after itself.
#[must_use = "tracking ends when it is dropped"]
pub struct Leaks {
    ledger: Arc<Ledger>,
    /// The first number that was not taken before.
    since: u64,
    has_backtraces: bool,
}

impl Leaks {
    /// Lists the objects made on the driver from now on, by any thread and through any handle of the driver.
    pub fn track(driver: &Driver) -> Leaks {
        Leaks::start(driver, false)
    }

    /// As [`Leaks::track`], and keeps a backtrace of each: [`Alive::made`].
    ///
    /// Names of functions, files and lines are there as far as the program was built with them.
    pub fn track_with_backtraces(driver: &Driver) -> Leaks {
        Leaks::start(driver, true)
    }

    fn start(driver: &Driver, has_backtraces: bool) -> Leaks {
        let ledger = driver.extension::<Ledger>();
        let since = ledger.begin(has_backtraces);
        Leaks { ledger, since, has_backtraces }
    }

    /// The objects that are alive now.
    #[must_use]
    pub fn report(&self) -> Report {
        Report::new(self.ledger.alive(self.since))
    }

    /// Asserts that nothing is alive.
    ///
    /// ```
    /// use warploom::leaks::Leaks;
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let leaks = Leaks::track(&driver);
    /// driver.device(0)?.context()?.stream()?.synchronize()?;
    /// leaks.assert_none();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If an object is alive, with the report, and with backtraces if they are tracked. It is meant for
    /// tests.
    #[track_caller]
    pub fn assert_none(&self) {
        let report = self.report();
        assert!(report.is_empty(), "{report:#}");
    }
}

impl Drop for Leaks {
    fn drop(&mut self) {
        self.ledger.end(self.has_backtraces);
    }
}

impl fmt::Debug for Leaks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Leaks").field("alive", &self.report().len()).finish_non_exhaustive()
    }
}
