//! Events, relays, staging memory, words and answers that a context caches.

use std::sync::OnceLock;

use super::PriorityRange;
use super::profiler::ProfilerRanges;
use super::words::Words;
use crate::Driver;
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
    /// Words that streams write and wait for.
    pub(crate) words: Words,
    pub(super) profiler_ranges: ProfilerRanges,
    /// The driver's answer, once it was asked.
    pub(super) priorities: OnceLock<PriorityRange>,
}

impl Cached {
    /// Destroys everything, before the context goes.
    pub(super) fn end(self, driver: &Driver) {
        self.relays.end(driver);
        self.staging.end(driver, &self.events);
        self.events.end(driver);
        self.words.end(driver);
    }
}
