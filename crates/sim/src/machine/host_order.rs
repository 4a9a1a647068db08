//! Host threads: their time, and the work that they know to be complete.

use warploom_engine::Known;

use crate::machine::world::World;

impl World {
    /// Notes that this thread knows work to be complete.
    pub(crate) fn host_learns(&mut self, known: &Known) {
        self.engine.timelines.host_learns(known);
        self.tell_processes();
    }

    /// Notes that an access by this thread is over.
    pub(crate) fn host_ends(&mut self, step: &Known) {
        self.engine.timelines.host_ends(step);
        self.tell_processes();
    }

    /// Tells processes that share memory which accesses this thread now knows to be over.
    pub(super) fn tell_processes(&mut self) {
        if self.processes.has_open() {
            self.processes.host_knows(self.engine.timelines.host());
        }
    }

    /// The knowledge of this thread so far, for another thread.
    pub(crate) fn host_hands_over(&mut self) -> Known {
        let known = self.engine.timelines.host().clone();
        self.engine.timelines.host_steps();
        known
    }

    /// Notes that a host thread was busy for a while.
    pub(crate) fn host_spends(&mut self, nanoseconds: u64) {
        self.clock.host_spends(nanoseconds);
    }
}
