//! What is ordered before what, as vector clocks over queues.

use crate::check::Known;

/// For each queue, how many of its ops are ordered before the point this clock describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    counts: Vec<u64>,
    own: usize,
    /// What a program may rely on to be over, for the checks.
    pub(crate) known: Known,
}

impl Clock {
    /// The clock of a new queue that continues the count of the retired one whose place it takes.
    pub(crate) fn of_queue(own: usize, count: u64, known: Known) -> Self {
        let mut counts = vec![0; own + 1];
        counts[own] = count;
        Self { counts, own, known }
    }

    /// One more op of the own queue.
    pub(crate) fn advance(&mut self) {
        self.counts[self.own] += 1;
        self.known.advance();
    }

    /// Ops of the own queue so far: the stamp of the newest.
    pub(crate) fn stamp(&self) -> u64 {
        self.counts[self.own]
    }

    /// Everything before `other` is now before this, too.
    pub(crate) fn join(&mut self, other: &Clock) {
        self.join_order(other);
        self.known.join(&other.known);
    }

    /// As a join, for the engine alone: nothing has been enqueued or waited for that a program could rely on.
    pub(crate) fn join_order(&mut self, other: &Clock) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The op with this stamp in that queue, and those before it there, are now before this, too.
    pub(crate) fn include(&mut self, queue: usize, stamp: u64) {
        if self.counts.len() <= queue {
            self.counts.resize(queue + 1, 0);
        }
        self.counts[queue] = self.counts[queue].max(stamp);
    }

    /// Takes over another clock's counts without giving its memory up.
    pub(crate) fn copy_from(&mut self, other: &Clock) {
        self.counts.clone_from(&other.counts);
        self.own = other.own;
        self.known.copy_from(&other.known);
    }

    /// Whether the op with this stamp in that queue is ordered before.
    pub(crate) fn includes(&self, queue: usize, stamp: u64) -> bool {
        self.counts.get(queue).is_some_and(|count| *count >= stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_orders_what_the_other_had_seen_and_nothing_later() {
        let mut first = Clock::of_queue(0, 0, Known::default());
        let mut second = Clock::of_queue(3, 0, Known::default());
        first.advance();
        second.join(&first);
        first.advance();
        assert!(second.includes(0, 1));
        assert!(!second.includes(0, 2));
        assert!(!first.includes(3, 1));
    }
}
