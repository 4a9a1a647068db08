//! Identity of contexts: generations of a primary context, and stale ones.
//!
//! A primary context keeps its handle through all its generations. A reset, by any code, ends the generation
//! that values here belong to, and the objects they name are gone. Each device counts the generations of its
//! primary context: a new one has begun if the context was reset here, was found inactive, or has another
//! [`ContextId`] than before. A value knows its generation and is refused in any other, without a driver
//! call. Resets by other code are found by [`Context::check`] and [`Device::context`], which ask the driver;
//! one that numbers no contexts only shows a reset until the context is retained again.
#![expect(unsafe_code, reason = "asks the driver which context a handle names")]

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use warploom_driver::sys::types::CUcontext;
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::watch::Watcher;
use super::{Context, Origin, Shared};
use crate::{ContextError, Device, Driver, Error, Result};

/// The number of a context, which the driver never gives out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The id of a context; `None` from a driver that numbers none.
///
/// # Safety
///
/// `raw` is a context of the driver.
pub(super) unsafe fn id_of(driver: &Driver, raw: CUcontext) -> Result<Option<ContextId>> {
    let mut id = 0;
    // SAFETY: `id` is writable, and the caller vouches for the context.
    match unsafe { driver.cuCtxGetId(raw, &raw mut id) } {
        Ok(()) => Ok(Some(ContextId(id))),
        Err(warploom_driver::Error::Unsupported { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The number of generations of a device's primary context.
#[derive(Debug, Default)]
pub(crate) struct Generations {
    generation: AtomicU64,
    last: Mutex<Last>,
    watchers: Mutex<Vec<Watcher>>,
}

/// The last observed state of the context.
#[derive(Debug, Default)]
struct Last {
    id: Option<ContextId>,
    is_numbered: Option<bool>,
}

impl Generations {
    /// Keeps others from asking until it is dropped.
    pub(super) fn lock(&self) -> CurrentGeneration<'_> {
        CurrentGeneration { all: self, last: self.last.lock() }
    }

    #[inline]
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds a watcher for the ends of generations, and drops those whose watches are gone.
    pub(super) fn add_watcher(&self, watcher: Watcher) {
        let mut watchers = self.watchers.lock();
        watchers.retain(Watcher::is_watched);
        watchers.push(watcher);
    }
}

/// The present generation of a primary context, locked.
pub(super) struct CurrentGeneration<'a> {
    all: &'a Generations,
    last: MutexGuard<'a, Last>,
}

impl CurrentGeneration<'_> {
    pub(super) fn generation(&self) -> u64 {
        self.all.generation()
    }

    /// `true` if the driver is known to number no contexts, so that only their activity tells generations
    /// apart.
    pub(super) fn needs_activity(&self) -> bool {
        self.last.is_numbered == Some(false)
    }

    /// Records the context that is active now, and returns its generation.
    pub(super) fn saw(&mut self, id: Option<ContextId>, was_active: bool) -> u64 {
        let is_new = match (self.last.is_numbered, id) {
            (None, _) => false,
            (_, Some(_)) => self.last.id.is_some_and(|last| Some(last) != id),
            (_, None) => !was_active,
        };
        if is_new {
            self.ended();
        }
        *self.last = Last { id, is_numbered: Some(id.is_some()) };
        self.generation()
    }

    /// Records the end of the present generation.
    pub(super) fn ended(&mut self) {
        self.last.id = None;
        let next = self.all.generation.fetch_add(1, Ordering::AcqRel) + 1;
        let mut watchers = self.all.watchers.lock();
        watchers.retain(|watcher| watcher.tell(next));
    }
}

impl Shared {
    #[inline]
    pub(super) fn check_generation(&self) -> Result<()> {
        match self.origin {
            Origin::Primary { generation: expected } if self.device.primary_generations().generation() != expected => {
                Err(self.stale(expected))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn stale(&self, expected: u64) -> Error {
        let found = self.device.primary_generations().generation();
        Error::Context(ContextError::Stale { device: self.device.ordinal(), expected, found })
    }
}

impl Context {
    /// The driver's number for it; `None` from a driver without such numbers. Asked when the context was made
    /// or retained.
    #[doc(alias = "cuCtxGetId")]
    #[must_use]
    pub fn id(&self) -> Option<ContextId> {
        self.shared.id
    }

    /// The generation of the device's primary context that it is from; 0 for other contexts, which have only
    /// one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// `true` if it is from the present generation of the device's primary context, as far as is known
    /// without asking the driver.
    #[must_use]
    #[inline]
    pub fn is_current_generation(&self) -> bool {
        self.check_generation().is_ok()
    }

    /// Refuses a context of a past generation. No driver call.
    #[inline]
    pub(crate) fn check_generation(&self) -> Result<()> {
        self.shared.check_generation()
    }

    /// Asks the driver for the context's identity: other code in the process may have reset it.
    ///
    /// At most two driver calls for a primary context; none for others, which only their owner can end.
    ///
    /// # Errors
    ///
    /// [`ContextError::Stale`] if it is not, from here on also from everything else that belongs to it, and
    /// the driver's error.
    pub fn check(&self) -> Result<()> {
        let Origin::Primary { .. } = self.shared.origin else { return Ok(()) };
        let device: &Device = self.device();
        let mut generations = device.primary_generations().lock();
        self.check_generation()?;
        let is_active = device.has_active_context()?;
        // SAFETY: a primary context that is active is one, in any generation.
        if !is_active || self.id().is_some() && unsafe { id_of(self.driver(), self.as_raw()) }? != self.id() {
            generations.ended();
        }
        self.check_generation()
    }
}

// They start a simulated machine, whose memory Miri cannot map.
#[cfg(all(test, not(miri)))]
mod tests {
    use warploom_sim::Machine;

    use crate::Driver;

    #[test]
    fn a_watch_that_is_gone_is_dropped_when_the_next_begins() {
        let machine = Machine::preset("h200").expect("a machine");
        let driver = Driver::open(&machine).expect("a driver");
        let device = driver.device(0).expect("a device");
        for _ in 0..10 {
            drop(driver.watch_generations().expect("a watch"));
        }
        let watchers = device.primary_generations().watchers.lock();
        assert_eq!(watchers.len(), 1);
    }
}
