//! Clock of a shared event: all steps that come before its newest record, for checks of order.
//!
//! Steps are those of timelines of any machine; a machine is named by a random number. Like a
//! [journal](super::journal), a clock is written and read without a lock, by a sequence number that is odd while it is written.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use warploom_engine::Epoch;

/// The most steps that fit; an event of a program with more says less, and checks are then left out.
const STEPS: usize = 128;

/// Words of a clock: sequence, number of steps, and three for each.
pub(super) const LEN: u64 = 2 + 3 * STEPS as u64;

/// A step of a timeline of a machine, which is named by a random number.
pub(crate) type SharedStep = (u64, Epoch);

/// The clock in the words of a shared event.
#[derive(Clone, Copy)]
pub(crate) struct PublishedClock<'a> {
    words: &'a [AtomicU64],
}

impl<'a> PublishedClock<'a> {
    /// The clock in some words; none if they are too few.
    pub(super) fn new(words: &'a [AtomicU64]) -> Option<Self> {
        words.get(..LEN as usize).map(|words| Self { words })
    }

    /// Replaces the clock. Only one process records an event at a time, or the program has a race; then one of the two is kept.
    pub(crate) fn publish(&self, steps: &[SharedStep]) {
        let before = self.words[0].load(Ordering::Relaxed);
        let next = if before.is_multiple_of(2) { before + 1 } else { before + 2 };
        self.words[0].store(next, Ordering::Relaxed);
        fence(Ordering::Release);
        self.words[1].store(steps.len() as u64, Ordering::Relaxed);
        for ((machine, epoch), words) in steps.iter().zip(self.words[2..].chunks_exact(3)) {
            words[0].store(*machine, Ordering::Relaxed);
            words[1].store(epoch.timeline.into(), Ordering::Relaxed);
            words[2].store(epoch.count, Ordering::Relaxed);
        }
        self.words[0].store(next.wrapping_add(1), Ordering::Release);
    }

    /// The steps before the newest record; empty if no machine that checks has recorded the event. None if they are not known,
    /// because they are too many or being written.
    pub(crate) fn read(&self) -> Option<Vec<SharedStep>> {
        let before = self.words[0].load(Ordering::Acquire);
        if before == 0 {
            return Some(Vec::new());
        }
        let len = usize::try_from(self.words[1].load(Ordering::Relaxed)).ok().filter(|len| *len <= STEPS)?;
        let mut steps = Vec::with_capacity(len);
        for words in self.words[2..].chunks_exact(3).take(len) {
            let [machine, timeline, count] = [0, 1, 2].map(|at: usize| words[at].load(Ordering::Relaxed));
            steps.push((machine, Epoch { timeline: u32::try_from(timeline).ok()?, count }));
        }
        fence(Ordering::Acquire);
        let is_whole = before.is_multiple_of(2) && self.words[0].load(Ordering::Relaxed) == before;
        is_whole.then_some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<AtomicU64> {
        std::iter::repeat_with(AtomicU64::default).take(LEN as usize).collect()
    }

    #[test]
    fn the_newest_clock_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let words = words();
        let clock = PublishedClock::new(&words).ok_or("a clock")?;
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
        let words = words();
        let clock = PublishedClock::new(&words).ok_or("a clock")?;
        let step = (1, Epoch { timeline: 2, count: 3 });
        clock.publish(&vec![step; STEPS + 1]);
        assert_eq!(clock.read(), None);
        clock.publish(&[step]);
        words[0].fetch_add(1, Ordering::Relaxed);
        assert_eq!(clock.read(), None);
        clock.publish(&[step]);
        assert_eq!(clock.read(), Some(vec![step]), "the next record is whole again");
        words[3].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(clock.read(), None, "not a timeline");
        Ok(())
    }
}
