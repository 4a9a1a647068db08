//! What is certain to have happened before a point, as a vector clock over timelines.

/// One step of a timeline: of a stream, or of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Epoch {
    pub(crate) timeline: u32,
    pub(crate) count: u64,
}

/// For each timeline, how many of its steps are known to be over at the point this clock describes.
///
/// Unlike the engine's own clock it also knows what the host has seen, which a program may rely on and a memory pool may
/// not. It is empty, and stays so, on a machine that does not check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    counts: Vec<u64>,
    own: u32,
    /// A wait for a value in memory is among what comes before, and whose write ended it is not known yet: nothing can be
    /// said about what is unordered.
    pub(crate) unsure: bool,
}

impl Known {
    /// The clock of a timeline that goes on from `last`.
    pub(crate) fn of(last: Epoch) -> Self {
        let mut known = Self { counts: Vec::new(), own: last.timeline, unsure: false };
        known.include(last);
        known
    }

    pub(crate) fn is_off(&self) -> bool {
        self.counts.is_empty()
    }

    fn own_count(&self) -> Option<&u64> {
        self.counts.get(self.own as usize)
    }

    /// The newest step of the own timeline.
    pub(crate) fn newest(&self) -> Epoch {
        Epoch { timeline: self.own, count: self.own_count().copied().unwrap_or(0) }
    }

    /// The step that the own timeline takes next.
    pub(crate) fn next(&self) -> Epoch {
        let Epoch { timeline, count } = self.newest();
        Epoch { timeline, count: count + 1 }
    }

    /// The own timeline takes a step.
    pub(crate) fn advance(&mut self) {
        if let Some(count) = self.counts.get_mut(self.own as usize) {
            *count += 1;
        }
    }

    pub(crate) fn include(&mut self, epoch: Epoch) {
        let index = epoch.timeline as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].max(epoch.count);
    }

    /// From here on it cannot be told what comes before.
    pub(crate) fn doubt(&mut self) {
        self.unsure = true;
    }

    /// Everything that `other` knows is known here, too.
    pub(crate) fn join(&mut self, other: &Known) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (*mine).max(*theirs);
        }
        self.unsure |= other.unsure;
    }

    /// Takes another clock over without giving the own memory up.
    pub(crate) fn copy_from(&mut self, other: &Known) {
        self.counts.clone_from(&other.counts);
        self.own = other.own;
        self.unsure = other.unsure;
    }

    /// Whether a step is known to be over.
    pub(crate) fn includes(&self, epoch: Epoch) -> bool {
        self.counts.get(epoch.timeline as usize).is_some_and(|count| *count >= epoch.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(timeline: u32) -> Known {
        Known::of(Epoch { timeline, count: 0 })
    }

    #[test]
    fn a_join_knows_what_the_other_knew_and_nothing_later() {
        let (mut first, mut second) = (start(0), start(3));
        first.advance();
        let early = first.newest();
        second.join(&first);
        first.advance();
        assert!(second.includes(early));
        assert!(!second.includes(first.newest()));
        assert!(!first.includes(second.next()));
    }

    #[test]
    fn a_clock_that_is_off_stays_off() {
        let mut off = Known::default();
        off.advance();
        assert!(off.is_off());
        off.join(&Known::default());
        assert!(off.is_off() && !off.includes(Epoch { timeline: 0, count: 1 }));
    }

    #[test]
    fn doubt_is_passed_on() {
        let (mut first, mut second) = (start(0), start(1));
        first.unsure = true;
        second.join(&first);
        assert!(second.unsure);
    }
}
