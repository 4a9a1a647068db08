//! Clock of a shared event: all steps that come before its newest record, for checks of order.
//!
//! Steps are those of timelines of any machine; a machine is named by a random number. Like a
//! [`Journal`](super::Journal), a clock is written and read without a lock, by a sequence number that is odd
//! while it is written.

use std::sync::atomic::{Ordering, fence};

use warploom_engine::Epoch;

use crate::memory::shared_object::{ORDER_WORDS, OrderWords, SharedKind, SharedObject};

/// The most steps that fit; an event of a program with more says less, and checks are then left out.
const STEPS: usize = 128;

/// Words of a clock: sequence, number of steps, and three for each.
const LEN: u64 = 2 + 3 * STEPS as u64;
const _: () = assert!(LEN <= ORDER_WORDS, "a clock fits");

/// A step of a timeline of a machine, which is named by a random number.
pub(crate) type SharedStep = (u64, Epoch);

/// The clock in the words of a shared event.
pub(crate) struct PublishedClock {
    words: OrderWords,
}

impl PublishedClock {
    /// The clock of a shared event; none for memory.
    pub(crate) fn of(object: &SharedObject) -> Option<Self> {
        (object.header().kind == SharedKind::Event).then(|| Self { words: object.order() })
    }

    /// Replaces the clock. Only one process records an event at a time, or the program has a race; then one
    /// of the two is kept.
    pub(crate) fn publish(&self, steps: &[SharedStep]) {
        let all = self.words.words();
        let before = all[0].load(Ordering::Relaxed);
        let next = if before.is_multiple_of(2) { before + 1 } else { before + 2 };
        all[0].store(next, Ordering::Relaxed);
        fence(Ordering::Release);
        all[1].store(steps.len() as u64, Ordering::Relaxed);
        for ((machine, epoch), words) in steps.iter().zip(all[2..].chunks_exact(3)) {
            words[0].store(*machine, Ordering::Relaxed);
            words[1].store(epoch.timeline.into(), Ordering::Relaxed);
            words[2].store(epoch.count, Ordering::Relaxed);
        }
        all[0].store(next.wrapping_add(1), Ordering::Release);
    }

    /// The steps before the newest record; empty if no machine that checks has recorded the event. None if
    /// they are not known, because they are too many or being written.
    pub(crate) fn read(&self) -> Option<Vec<SharedStep>> {
        let all = self.words.words();
        let before = all[0].load(Ordering::Acquire);
        if before == 0 {
            return Some(Vec::new());
        }
        let len = usize::try_from(all[1].load(Ordering::Relaxed)).ok().filter(|len| *len <= STEPS)?;
        let mut steps = Vec::with_capacity(len);
        for words in all[2..].chunks_exact(3).take(len) {
            let [machine, timeline, count] = [0, 1, 2].map(|at: usize| words[at].load(Ordering::Relaxed));
            steps.push((machine, Epoch { timeline: u32::try_from(timeline).ok()?, count }));
        }
        fence(Ordering::Acquire);
        let is_whole = before.is_multiple_of(2) && all[0].load(Ordering::Relaxed) == before;
        is_whole.then_some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_clock_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let clock = PublishedClock { words: OrderWords::detached()? };
        assert_eq!(clock.read(), Some(Vec::new()));
        let step = |machine, count| (machine, Epoch { timeline: 2, count });
        clock.publish(&[step(1, 5), step(2, 6)]);
        assert_eq!(clock.read(), Some(vec![step(1, 5), step(2, 6)]));
        clock.publish(&[step(1, 7)]);
        assert_eq!(clock.read(), Some(vec![step(1, 7)]));
        Ok(())
    }

    #[test]
    fn a_clock_that_is_too_large_or_unfinished_says_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let clock = PublishedClock { words: OrderWords::detached()? };
        let step = (1, Epoch { timeline: 2, count: 3 });
        clock.publish(&vec![step; STEPS + 1]);
        assert_eq!(clock.read(), None);
        clock.publish(&[step]);
        clock.words.words()[0].fetch_add(1, Ordering::Relaxed);
        assert_eq!(clock.read(), None);
        clock.publish(&[step]);
        assert_eq!(clock.read(), Some(vec![step]), "the next record is whole again");
        clock.words.words()[3].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(clock.read(), None, "not a timeline");
        Ok(())
    }
}
