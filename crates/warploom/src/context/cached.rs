//! Events, relays, staging memory and answers that a context caches.

use std::sync::OnceLock;

use warploom_driver::Driver;

use super::PriorityRange;
use crate::completion::Relays;
use crate::event::EventPool;
use crate::memory::StagingPool;

/// Things that are made or asked for once and used many times. Nothing in here holds the context.
#[derive(Default)]
pub(crate) struct Cached {
    /// Idle events.
    pub(crate) events: EventPool,
    /// Streams that wait for events and then call back.
    pub(crate) relays: Relays,
    /// Page-locked memory that copies go through.
    pub(crate) staging: StagingPool,
    /// The driver's answer, once it was asked.
    pub(super) priorities: OnceLock<PriorityRange>,
}

impl Cached {
    /// Destroys everything, before the context goes.
    pub(super) fn end(self, driver: &Driver) {
        self.relays.end(driver);
        self.staging.end(driver);
        self.events.end(driver);
    }
}
