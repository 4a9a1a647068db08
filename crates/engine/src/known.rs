//! Happens-before as a program may rely on it: queues, and observations of host threads.

use crate::clock::{Epoch, VectorClock};

/// The steps that are certain to be over at a point.
///
/// Unlike the order of queues it includes what the host has waited for or seen done. It is empty, and stays
/// so, while it is not tracked (see [`Timelines::new`](crate::Timelines::new)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Marked if a wait for a value in memory comes before, and the write that ended it is not known yet:
    /// then nothing can be said about what is unordered.
    clock: VectorClock,
}

// Every waiting op has room for one.
const _: () = assert!(size_of::<Known>() <= 32, "knowledge is small");

impl Known {
    /// The knowledge of a timeline that goes on from `last`.
    #[must_use]
    pub fn of(last: Epoch) -> Self {
        Self { clock: VectorClock::of(last) }
    }

    /// `true` if it is not tracked.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.clock.is_empty()
    }

    /// `true` if the order of earlier steps is uncertain, because a wait for a value in memory comes before.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.clock.marked
    }

    /// The newest step of the own timeline.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.clock.newest()
    }

    /// The step that the own timeline takes next.
    #[must_use]
    pub fn next(&self) -> Epoch {
        self.clock.next()
    }

    /// The own timeline takes a step.
    pub fn advance(&mut self) {
        self.clock.advance();
    }

    /// A step is over.
    pub fn include(&mut self, epoch: Epoch) {
        self.clock.include(epoch);
    }

    /// From here on the order of what comes before is uncertain.
    pub fn doubt(&mut self) {
        self.clock.marked = true;
    }

    /// The order of what comes before is certain again.
    pub(crate) fn trust(&mut self) {
        self.clock.marked = false;
    }

    /// Everything that `other` knows is known here, too.
    pub fn join(&mut self, other: &Known) {
        self.clock.join(&other.clock);
        self.clock.marked |= other.clock.marked;
    }

    /// Takes over other knowledge and keeps the own heap memory.
    pub fn copy_from(&mut self, other: &Known) {
        self.clock.copy_from(&other.clock);
    }

    /// The newest step of each timeline that is known to be over.
    pub fn steps(&self) -> impl Iterator<Item = Epoch> {
        self.clock.steps()
    }

    /// `true` if a step is known to be over.
    #[must_use]
    pub fn includes(&self, epoch: Epoch) -> bool {
        self.clock.includes(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_is_passed_on_by_a_join() {
        let mut first = Known::of(Epoch { timeline: 0, count: 0 });
        let mut second = Known::of(Epoch { timeline: 1, count: 0 });
        first.doubt();
        second.join(&first);
        assert!(second.is_unsure());
    }
}
