//! Vector clocks: for each timeline, how many of its steps come before a point.

/// One step of a timeline, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// The number of the timeline.
    pub timeline: u32,
    /// The number of the step; 0 comes before the first.
    pub count: u64,
}

/// For each timeline, how many of its steps come before the point that this clock describes. A clock belongs
/// to one timeline, its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock {
    counts: Vec<u64>,
    own: u32,
    /// A mark of the clock's user, which fits here without making the clock larger.
    pub(crate) marked: bool,
}

impl VectorClock {
    /// The clock of a timeline that goes on from `last`.
    #[must_use]
    pub fn of(last: Epoch) -> Self {
        let mut clock = Self { counts: Vec::new(), own: last.timeline, marked: false };
        clock.include(last);
        clock
    }

    /// `true` if it has never been part of a timeline. Such a clock stays empty until it joins another.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The newest step of the own timeline.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        Epoch { timeline: self.own, count: self.counts.get(self.own as usize).copied().unwrap_or(0) }
    }

    /// The step that the own timeline takes next.
    #[must_use]
    pub fn next(&self) -> Epoch {
        let Epoch { timeline, count } = self.newest();
        Epoch { timeline, count: count + 1 }
    }

    /// The own timeline takes a step; an empty clock stays empty.
    pub fn advance(&mut self) {
        if let Some(count) = self.counts.get_mut(self.own as usize) {
            *count += 1;
        }
    }

    /// A step, and those before it on its timeline, come before this point, too.
    pub fn include(&mut self, epoch: Epoch) {
        let index = epoch.timeline as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].max(epoch.count);
    }

    /// Everything before `other` comes before this point, too.
    #[inline]
    pub fn join(&mut self, other: &VectorClock) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Takes over another clock and keeps the own heap memory.
    #[inline]
    pub fn copy_from(&mut self, other: &VectorClock) {
        self.counts.clone_from(&other.counts);
        self.own = other.own;
        self.marked = other.marked;
    }

    /// The newest step of each timeline that comes before this point.
    pub fn steps(&self) -> impl Iterator<Item = Epoch> {
        let counts = self.counts.iter().zip(0..).filter(|(count, _)| **count > 0);
        counts.map(|(count, timeline)| Epoch { timeline, count: *count })
    }

    /// `true` if a step comes before this point.
    #[must_use]
    pub fn includes(&self, epoch: Epoch) -> bool {
        self.counts.get(epoch.timeline as usize).is_some_and(|count| *count >= epoch.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_orders_what_the_other_had_seen_and_nothing_later() {
        let mut first = VectorClock::of(Epoch { timeline: 0, count: 0 });
        let mut second = VectorClock::of(Epoch { timeline: 3, count: 0 });
        first.advance();
        let early = first.newest();
        second.join(&first);
        first.advance();
        assert!(second.includes(early));
        assert!(!second.includes(first.newest()));
        assert!(!first.includes(second.next()));
    }

    #[test]
    fn an_empty_clock_takes_no_steps() {
        let mut empty = VectorClock::default();
        empty.advance();
        assert!(empty.is_empty());
        empty.join(&VectorClock::default());
        assert!(empty.is_empty() && !empty.includes(Epoch { timeline: 0, count: 1 }));
    }
}
